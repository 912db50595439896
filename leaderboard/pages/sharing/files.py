"""The results of an evaluation as CSV and JSON, with the fields that the API has."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from typing import Any

from leaderboard.boards.exports import safe_cell
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.evaluations.visibility import Reader
from leaderboard.pages.api.results import ResultOutput

JSON_FORMAT = "planarena-results/1"
_COLUMNS = (
    "task", "metric", "outcome", "reason", "reason_text", "score", "seconds", "plan_summary", "accepted",
    "record_digest",
)  # fmt: skip
Row = Mapping[str, Any]


class _Request:
    """What `ResultOutput` asks of a request: who reads."""

    def __init__(self, reader: Reader) -> None:
        self.user = reader


def result_rows(*, evaluation: Evaluation, reader: Reader) -> Iterator[Row]:
    """The results in the suite's order as this reader may have them, as the API lists them."""
    found = TaskResult.objects.filter(evaluation=evaluation).select_related("task").order_by("task__position")
    for result in found.iterator(chunk_size=500):
        result.evaluation = evaluation
        yield ResultOutput(result, context={"request": _Request(reader)}).data


def results_csv(*, evaluation: Evaluation, rows: list[Row]) -> str:
    """One line for each task, RFC 4180, with a column for each indicator. Every line names evaluation and suite.

    Texts that a spreadsheet would take for a formula begin with an apostrophe.
    """
    indicators = sorted({name for row in rows for name in row["indicators"]})
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow([*_COLUMNS, *(f"indicator_{name}" for name in indicators), "evaluation", "suite", "suite_version"])
    suite = evaluation.suite
    for row in rows:
        values = [*(row[name] for name in _COLUMNS), *(row["indicators"].get(name) for name in indicators)]
        writer.writerow([safe_cell(value) for value in (*values, str(evaluation.pk), suite.slug, suite.version)])
    return file.getvalue()


def results_json(*, evaluation: Evaluation, rows: list[Row], address: str) -> str:
    """The results with what they were measured under."""
    document = {"format": JSON_FORMAT, **facts_of(evaluation, address=address), "results": rows}
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


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
