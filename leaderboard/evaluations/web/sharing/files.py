"""The results of an evaluation as CSV, JSON and Parquet, with the fields that the API has."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from django.db.models import F, Func, QuerySet
from django.http import HttpRequest, StreamingHttpResponse

from evaluator.scoring.board_table import safe_cell
from leaderboard.evaluations.cause_counts import why
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.evaluations.visibility import Reader
from leaderboard.evaluations.web.api.result_output import ResultOutput
from leaderboard.evaluations.web.sharing.parquet import results_parquet
from leaderboard.platform.http import parquet
from leaderboard.platform.http.streaming import streamed

JSON_FORMAT = "planarena-results/1"
_COLUMNS = (
    "task", "metric", "outcome", "reason", "reason_text", "score", "seconds", "plan_summary", "accepted",
    "record_digest",
)  # fmt: skip
_PAGE = 500
Row = Mapping[str, Any]


class Results(NamedTuple):
    """The results that a file holds."""

    evaluation: Evaluation
    address: str
    """Absolute, of the evaluation's page."""
    rows: Iterator[Row]
    """In the suite's order as a reader may have them, as the API lists them; read while the file is written."""
    indicators: Sequence[str]
    """Names of the indicators that they have."""


class FileKind(NamedTuple):
    """A form of a file of results."""

    content_type: str
    write: Callable[[Results], Iterator[bytes]]


class _Request:
    """What `ResultOutput` asks of a request: who reads."""

    def __init__(self, reader: Reader) -> None:
        self.user = reader


def results_of(
    *, evaluation: Evaluation, reader: Reader, address: str, chosen: QuerySet[TaskResult] | None = None
) -> Results:
    """What a reader who sees the evaluation may have of its results.

    Args:
        evaluation: with its suite and planner.
        reader: who reads.
        address: absolute, of the evaluation's page.
        chosen: some of its results; None: all.
    """
    found = TaskResult.objects.filter(evaluation=evaluation) if chosen is None else chosen
    names = Func(F("indicators"), function="jsonb_object_keys", set_returning=True)
    indicators = found.order_by().annotate(name=names).values_list("name", flat=True).distinct()
    rows = _rows(found, evaluation=evaluation, reader=reader)
    return Results(evaluation=evaluation, address=address, rows=rows, indicators=sorted(indicators))


def _rows(found: QuerySet[TaskResult], *, evaluation: Evaluation, reader: Reader) -> Iterator[Row]:
    """A page at a time: between the pieces of a download its connection is given back."""
    serializer = ResultOutput(context={"request": _Request(reader)})
    ordered_results, last = found.select_related("task").order_by("task__position"), -1
    while True:
        page = list(ordered_results.filter(task__position__gt=last)[:_PAGE])
        for result in page:
            result.evaluation = evaluation
            yield serializer.to_representation(result)
        if len(page) < _PAGE:
            return
        last = page[-1].task.position


def _of_evaluation(evaluation: Evaluation) -> dict[str, Any]:
    """What every row names, so that a row cut out of a file is still evidence."""
    suite = evaluation.suite
    return {
        "evaluation": str(evaluation.pk),
        "suite": suite.slug,
        "suite_version": suite.version,
        "finished": evaluation.finished,
    }


def results_csv(results: Results) -> Iterator[bytes]:
    """One line for each task, RFC 4180, with a column for each indicator. Every line names evaluation and suite.

    `causes` has the causes, each once, separated by semicolons; `not_found_yet` where they are not known. Texts that a
    spreadsheet would take for a formula begin with an apostrophe.
    """
    names, same = results.indicators, _of_evaluation(results.evaluation)
    yield _csv_line([*_COLUMNS, *(f"indicator_{name}" for name in names), "causes", *same])
    for row in results.rows:
        values = [*(row[name] for name in _COLUMNS), *(row["indicators"].get(name) for name in names)]
        causes = ";".join(why(kept=row["causes"], outcome=row["outcome"]))
        yield _csv_line([*values, causes, *same.values()])


def _csv_line(values: Iterable[Any]) -> bytes:
    file = io.StringIO()
    csv.writer(file).writerow([safe_cell(value) for value in values])
    return file.getvalue().encode()


def results_json(results: Results) -> Iterator[bytes]:
    """The results as the API lists them, with what they were measured under."""
    document = {**_described(results), "results": list(results.rows)}
    yield f"{json.dumps(document, ensure_ascii=False, indent=1)}\n".encode()


def _as_parquet(results: Results) -> Iterator[bytes]:
    same = _of_evaluation(results.evaluation)
    rows = ({**row, **same} for row in results.rows)
    return results_parquet(rows=rows, indicators=results.indicators, facts=_described(results))


FILES: Mapping[str, FileKind] = MappingProxyType(
    {
        "csv": FileKind("text/csv; charset=utf-8", results_csv),
        "json": FileKind("application/json", results_json),
        "parquet": FileKind(parquet.MEDIA_TYPE, _as_parquet),
    }
)
"""By the ending of the file's name."""


def result_file(*, request: HttpRequest, results: Results, ending: str) -> StreamingHttpResponse:
    """A download in the form of this ending, one of `FILES`."""
    kind, name = FILES[ending], f"{name_of(results.evaluation)}.{ending}"
    return streamed(request=request, parts=kind.write(results), content_type=kind.content_type, filename=name)


def _described(results: Results) -> dict[str, Any]:
    return {"format": JSON_FORMAT, **facts_of(results.evaluation, address=results.address)}


def name_of(evaluation: Evaluation) -> str:
    """Name of an evaluation's files, without an ending."""
    return f"planarena-{evaluation.suite.slug}-{str(evaluation.pk)[:8]}"


def facts_of(evaluation: Evaluation, *, address: str) -> dict[str, Any]:
    """What everybody who sees an evaluation that has ended may know of it, as JSON values that change no more."""
    submission, suite = evaluation.submission, evaluation.suite
    planner, finished = submission.planner, evaluation.finished
    conditions = ("profile", "profile_digest", "split", "samples", "data_digest")
    return {
        "address": address,
        "evaluation": str(evaluation.pk),
        "planner": {
            "name": planner.name,
            "kind": planner.kind,
            "owner": planner.owner.username,
            "version": submission.version,
        },
        "suite": {"slug": suite.slug, "title": suite.title, "version": suite.version, "digest": suite.digest},
        "conditions": {
            **{name: getattr(evaluation, name) for name in conditions},
            "season": evaluation.season_id,
        },
        "state": evaluation.state,
        "created": evaluation.created.isoformat(),
        "finished": finished.isoformat() if finished else None,
        "summary": evaluation.summary,
        "provenance": evaluation.provenance,
    }
