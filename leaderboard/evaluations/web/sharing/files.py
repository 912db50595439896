"""The results of an evaluation as CSV, JSON and Parquet with the API's fields, and the whole evaluation as a BagIt bag
(RFC 8493) in a tar archive, generated while it is sent.

    planarena-SUITE-6d0c1f2a/
      bagit.txt  bag-info.txt
      data/evaluation.json             conditions, summary and provenance
      data/results.csv                 a line for each task
      data/records/0014_14.json        `result/1` of each task, named by position in the suite and key
      data/artefacts/3f/3fa4....png    artefacts of records, named by SHA-256
      manifest-sha256.txt              SHA-256 of every file in data
      missing.txt                      digests of lost objects, if any

`sha256sum --check manifest-sha256.txt` verifies it. Archives are reproducible: readers with the same access get the
same bytes, because members have no times and no owners, and nothing is compressed. Memory holds one object and 32 bytes
for each artefact.
"""

import csv
import hashlib
import io
import json
import re
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from django.db.models import F, Func, QuerySet
from django.http import HttpRequest, StreamingHttpResponse
from pydantic import ValidationError

from evaluator.core.records import ResultRecord
from evaluator.execution.engine.store import ENDINGS, ObjectDamagedError, ObjectMissingError
from evaluator.scoring.board_table import safe_cell
from leaderboard.catalog.library import RunConditions
from leaderboard.evaluations.causes import why
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.evaluations.results.objects import server_store, shown_record
from leaderboard.evaluations.visibility import Reader, withheld_from
from leaderboard.evaluations.web.api.evaluations import ResultOutput
from leaderboard.evaluations.withheld import Withheld
from leaderboard.platform.http.downloads import PARQUET, parquet, streamed

if TYPE_CHECKING:
    import pyarrow as pa


def results_parquet(
    *, rows: Iterable[Mapping[str, Any]], indicators: Sequence[str], facts: Mapping[str, Any]
) -> Iterator[bytes]:
    """A row for each task with the API's fields and a column for each indicator.

    Args:
        rows: rows of the API, with evaluation and suite.
        indicators: names of the indicators.
        facts: for the schema's metadata.
    """
    flat = ({**row, **{f"indicator_{name}": row["indicators"].get(name) for name in indicators}} for row in rows)
    return parquet(schema=_schema(indicators), rows=flat, facts=facts)


def _schema(indicators: Sequence[str]) -> "pa.Schema":
    # Imported lazily, see `leaderboard.platform.http.downloads`.
    import pyarrow as pa

    text, number, count = pa.string(), pa.float64(), pa.int32()
    finding = pa.struct([(name, text) for name in ("cause", "step", "tool", "input", "wanted", "given", "where")])
    end = pa.struct([("stop", text), ("turns", count), ("score", number)])
    problem = pa.struct([("tool", text), ("problem", text), ("count", count)])
    return pa.schema(
        [
            *((name, text) for name in ("task", "metric", "outcome", "reason", "reason_text")),
            ("score", number),
            ("seconds", number),
            ("plan_summary", text),
            ("accepted", pa.bool_()),
            ("record_digest", text),
            *((f"indicator_{name}", number) for name in indicators),
            ("causes", pa.list_(finding)),
            ("episodes", pa.struct([("ends", pa.list_(end)), ("problems", pa.list_(problem))])),
            *((name, text) for name in ("evaluation", "suite", "suite_version")),
            ("finished", pa.timestamp("us", tz="UTC")),
        ]
    )


JSON_FORMAT = "planarena-results/1"
_COLUMNS = (
    "task", "metric", "outcome", "reason", "reason_text", "score", "seconds", "plan_summary", "accepted",
    "record_digest",
)  # fmt: skip
_PAGE = 500
Row = Mapping[str, Any]


class Results(NamedTuple):
    """The results in a file."""

    evaluation: Evaluation
    address: str
    """Absolute URL of the evaluation's page."""
    rows: Iterator[Row]
    """Rows of the API for a reader, in the suite's order; read while the file is written."""
    indicators: Sequence[str]
    """Names of their indicators."""


class FileKind(NamedTuple):
    """A format of a file of results."""

    content_type: str
    write: Callable[[Results], Iterator[bytes]]


class _Request:
    """The part of a request that `ResultOutput` uses."""

    def __init__(self, reader: Reader) -> None:
        self.user = reader


def results_of(
    *, evaluation: Evaluation, reader: Reader, address: str, chosen: QuerySet[TaskResult] | None = None
) -> Results:
    """The results of an evaluation for a reader who sees it.

    Args:
        evaluation: with its suite and planner.
        reader: who downloads the file.
        address: absolute URL of the evaluation's page.
        chosen: a selection of its results; None: all.
    """
    results = TaskResult.objects.filter(evaluation=evaluation) if chosen is None else chosen
    names = Func(F("indicators"), function="jsonb_object_keys", set_returning=True)
    indicators = results.order_by().annotate(name=names).values_list("name", flat=True).distinct()
    rows = _rows(results, evaluation=evaluation, reader=reader)
    return Results(evaluation=evaluation, address=address, rows=rows, indicators=sorted(indicators))


def _rows(results: QuerySet[TaskResult], *, evaluation: Evaluation, reader: Reader) -> Iterator[Row]:
    """One page per query, because a download releases its connection between pieces."""
    serializer = ResultOutput(context={"request": _Request(reader)})
    ordered, last = results.select_related("task").order_by("task__position"), -1
    while True:
        page = list(ordered.filter(task__position__gt=last)[:_PAGE])
        for result in page:
            result.evaluation = evaluation
            yield serializer.to_representation(result)
        if len(page) < _PAGE:
            return
        last = page[-1].task.position


def _of_evaluation(evaluation: Evaluation) -> dict[str, Any]:
    """Columns that identify the evaluation in every row, so that single rows remain traceable."""
    suite = evaluation.suite
    return {
        "evaluation": str(evaluation.pk),
        "suite": suite.slug,
        "suite_version": suite.version,
        "finished": evaluation.finished,
    }


def results_csv(results: Results) -> Iterator[bytes]:
    """One line for each task (RFC 4180), with a column for each indicator, and evaluation and suite in every line.

    `causes` has the causes separated by semicolons, or `not_found_yet` if they are not known. Texts that a spreadsheet
    would interpret as a formula get an apostrophe as prefix.
    """
    names, same = results.indicators, _of_evaluation(results.evaluation)
    yield _csv_line([*_COLUMNS, *(f"indicator_{name}" for name in names), "causes", *same])
    for row in results.rows:
        values = [*(row[name] for name in _COLUMNS), *(row["indicators"].get(name) for name in names)]
        causes = ";".join(why(stored=row["causes"], outcome=row["outcome"]))
        yield _csv_line([*values, causes, *same.values()])


def _csv_line(values: Iterable[Any]) -> bytes:
    file = io.StringIO()
    csv.writer(file).writerow([safe_cell(value) for value in values])
    return file.getvalue().encode()


def results_json(results: Results) -> Iterator[bytes]:
    """The rows of the API with the conditions of the evaluation."""
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
        "parquet": FileKind(PARQUET, _as_parquet),
    }
)
"""Formats by file name extension."""


def result_file(*, request: HttpRequest, results: Results, ending: str) -> StreamingHttpResponse:
    """A download with this file name extension, one of `FILES`."""
    kind, name = FILES[ending], f"{name_of(results.evaluation)}.{ending}"
    return streamed(request=request, parts=kind.write(results), content_type=kind.content_type, filename=name)


def _described(results: Results) -> dict[str, Any]:
    return {"format": JSON_FORMAT, **facts_of(results.evaluation, address=results.address)}


def name_of(evaluation: Evaluation) -> str:
    """Base name of an evaluation's files."""
    return f"planarena-{evaluation.suite.slug}-{str(evaluation.pk)[:8]}"


def facts_of(evaluation: Evaluation, *, address: str) -> dict[str, Any]:
    """The facts about an ended evaluation for all its readers, as JSON values that never change."""
    submission, suite = evaluation.submission, evaluation.suite
    planner, finished = submission.planner, evaluation.finished
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
        "conditions": RunConditions.to_json(evaluation),
        "state": evaluation.state,
        "created": evaluation.created.isoformat(),
        "finished": finished.isoformat() if finished else None,
        "summary": evaluation.summary,
        "provenance": evaluation.provenance,
    }


CONTENT_TYPE = "application/x-tar"
_RECORDS_PER_PAGE = 100
_IN_MEMORY = 2**20
"""Size of a manifest in bytes above which it is stored in an anonymous file."""
_CHUNK = 64 * 1024
_BAGIT = b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
_END = bytes(2 * tarfile.BLOCKSIZE)


class _Result(NamedTuple):
    key: str
    position: int
    digest: str


def archive(*, evaluation: Evaluation, reader: Reader, address: str) -> Iterator[bytes]:
    """The archive for this reader in pieces.

    Args:
        evaluation: in a final state, with the relations that `citation` needs.
        reader: who sees the evaluation.
        address: absolute URL of its page.
    """
    bag = _Bag(name_of(evaluation))
    try:
        yield from bag.tag("bagit.txt", _BAGIT)
        yield from bag.tag("bag-info.txt", f"External-Identifier: {address}\n".encode())
        facts = json.dumps(facts_of(evaluation, address=address), ensure_ascii=False, indent=1, sort_keys=True)
        yield from bag.payload("evaluation.json", f"{facts}\n".encode())
        results = results_of(evaluation=evaluation, reader=reader, address=address)
        yield from bag.payload("results.csv", b"".join(results_csv(results)))
        withheld = withheld_from(reader=reader, evaluation=evaluation)
        yield from _records(evaluation=evaluation, withheld=withheld, bag=bag)
        yield from bag.end()
    finally:
        bag.close()


def _records(*, evaluation: Evaluation, withheld: Withheld, bag: "_Bag") -> Iterator[bytes]:
    store, seen = server_store(split=evaluation.split), set[bytes]()
    for result in _results(evaluation):
        try:
            data = shown_record(digest=result.digest, store=store, withheld=withheld)
        except (ObjectMissingError, ObjectDamagedError):
            bag.miss(result.digest)
            continue
        # Portable; the position makes it unique.
        name = re.sub(r"[^A-Za-z0-9.-]", "_", result.key)
        yield from bag.payload(f"records/{result.position:04d}_{name}.json", data)
        try:
            digests = [reference.digest for reference in ResultRecord.model_validate_json(data).artefacts()]
        except ValidationError:
            # Another version.
            continue
        for digest in digests:
            if (short := bytes.fromhex(digest)) in seen:
                continue
            seen.add(short)
            try:
                artefact = store.get(digest)
            except (ObjectMissingError, ObjectDamagedError):
                bag.miss(digest)
                continue
            path = f"artefacts/{digest[:2]}/{digest}{ENDINGS[artefact.media_type]}"
            yield from bag.payload(path, artefact.data)


def _results(evaluation: Evaluation) -> Iterator[_Result]:
    """The results with a record in the suite's order, one query per page."""
    results = TaskResult.objects.filter(evaluation=evaluation).exclude(record_digest="").order_by("task__position")
    columns, last = results.values_list("task__key", "task__position", "record_digest"), -1
    while True:
        page = [_Result(*values) for values in columns.filter(task__position__gt=last)[:_RECORDS_PER_PAGE]]
        yield from page
        if len(page) < _RECORDS_PER_PAGE:
            return
        last = page[-1].position


class _Bag:
    """Writes the members of the archive, and collects the manifest."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._manifest = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - `close` closes it
        self._missing: list[str] = []

    def payload(self, name: str, data: bytes) -> Iterator[bytes]:
        """A file in `data`, which is listed in the manifest."""
        self._manifest.write(f"{hashlib.sha256(data).hexdigest()}  data/{name}\n".encode())
        yield from self.tag(f"data/{name}", data)

    def tag(self, name: str, data: bytes) -> Iterator[bytes]:
        """A file that is not in the manifest."""
        yield self._head(name, size=len(data))
        yield data
        yield _padding(len(data))

    def miss(self, digest: str) -> None:
        """Record an object that the store has lost."""
        self._missing.append(digest)

    def end(self) -> Iterator[bytes]:
        """The manifest and the end of the archive."""
        size = self._manifest.tell()
        yield self._head("manifest-sha256.txt", size=size)
        self._manifest.seek(0)
        while chunk := self._manifest.read(_CHUNK):
            yield chunk
        yield _padding(size)
        if self._missing:
            yield from self.tag("missing.txt", "".join(f"{digest}\n" for digest in self._missing).encode())
        yield _END

    def close(self) -> None:
        self._manifest.close()

    def _head(self, name: str, *, size: int) -> bytes:
        # A new TarInfo has the time 0, the mode 0644 and no owner.
        member = tarfile.TarInfo(f"{self._folder}/{name}")
        member.size = size
        return member.tobuf(format=tarfile.PAX_FORMAT)


def _padding(size: int) -> bytes:
    return bytes(-size % tarfile.BLOCKSIZE)
