"""The results of an evaluation as CSV, JSON and Parquet, with the fields that the API has, and the whole evaluation as
one file: a BagIt bag (RFC 8493) in a tar archive, made while it is sent.

    planarena-SUITE-6d0c1f2a/
      bagit.txt  bag-info.txt
      data/evaluation.json             conditions, summary and provenance
      data/results.csv                 a line for each task
      data/records/0014_14.json        `result/1` of each task: place in the suite, and key
      data/artefacts/3f/3fa4....png    what records name, by its SHA-256
      manifest-sha256.txt              SHA-256 of every file below data
      missing.txt                      only if the store has lost objects: their digests

`sha256sum --check manifest-sha256.txt` checks it. The same evaluation gives the same bytes, whenever and wherever it is
downloaded by readers who may see as much: members have no times and no owners, and nothing is compressed. In memory are
one object and 32 bytes for each artefact.
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
from evaluator.execution.engine.store import ENDINGS, ObjectDamagedError, ObjectMissingError, Store
from evaluator.scoring.board_table import safe_cell
from leaderboard.catalog.library import RunConditions
from leaderboard.evaluations.causes import why
from leaderboard.evaluations.gold import Withheld, withheld_from
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.evaluations.results.objects import server_store, shown_record
from leaderboard.evaluations.visibility import Reader
from leaderboard.evaluations.web.api.evaluations import ResultOutput
from leaderboard.platform.http.downloads import PARQUET, parquet, streamed

if TYPE_CHECKING:
    import pyarrow as pa


def results_parquet(
    *, rows: Iterable[Mapping[str, Any]], indicators: Sequence[str], facts: Mapping[str, Any]
) -> Iterator[bytes]:
    """A row for each task with the API's fields, each indicator in a column of its own.

    Args:
        rows: as the API lists them, with evaluation and suite.
        indicators: names of the indicators.
        facts: for the schema's metadata.
    """
    flat = ({**row, **{f"indicator_{name}": row["indicators"].get(name) for name in indicators}} for row in rows)
    return parquet(schema=_schema(indicators), rows=flat, facts=facts)


def _schema(indicators: Sequence[str]) -> "pa.Schema":
    # Imported here: see `leaderboard.platform.http.downloads`.
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
        causes = ";".join(why(stored=row["causes"], outcome=row["outcome"]))
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
        "parquet": FileKind(PARQUET, _as_parquet),
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
"""Bytes of a manifest; larger ones are in a file without a name."""
_CHUNK = 64 * 1024
_BAGIT = b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
_END = bytes(2 * tarfile.BLOCKSIZE)


class _Result(NamedTuple):
    key: str
    position: int
    digest: str


def archive(*, evaluation: Evaluation, reader: Reader, address: str) -> Iterator[bytes]:
    """The archive in pieces, as this reader may have it.

    Args:
        evaluation: in a final state, so that its results change no more, with everything that `citation` needs.
        reader: who sees the evaluation.
        address: absolute, of its page.
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
        yield from bag.payload(f"records/{_file_name(result)}", data)
        for digest in _artefacts(data):
            if (short := bytes.fromhex(digest)) not in seen:
                seen.add(short)
                yield from _artefact(digest=digest, store=store, bag=bag)


def _artefact(*, digest: str, store: Store, bag: "_Bag") -> Iterator[bytes]:
    try:
        found = store.get(digest)
    except (ObjectMissingError, ObjectDamagedError):
        bag.miss(digest)
        return
    yield from bag.payload(f"artefacts/{digest[:2]}/{digest}{ENDINGS[found.media_type]}", found.data)


def _artefacts(record: bytes) -> list[str]:
    """Digests of the artefacts that a record names; none of a record of another version."""
    try:
        return [reference.digest for reference in ResultRecord.model_validate_json(record).artefacts()]
    except ValidationError:
        return []


def _results(evaluation: Evaluation) -> Iterator[_Result]:
    """The results with a record in the suite's order, a page at a time."""
    found = TaskResult.objects.filter(evaluation=evaluation).exclude(record_digest="").order_by("task__position")
    last = -1
    while True:
        page = [
            _Result(*values)
            for values in found.filter(task__position__gt=last).values_list(
                "task__key", "task__position", "record_digest"
            )[:_RECORDS_PER_PAGE]
        ]
        yield from page
        if len(page) < _RECORDS_PER_PAGE:
            return
        last = page[-1].position


def _file_name(result: _Result) -> str:
    """A name that is harmless on every system; the place in the suite makes it unique."""
    return f"{result.position:04d}_{re.sub(r'[^A-Za-z0-9.-]', '_', result.key)}.json"


class _Bag:
    """Writes the members of the archive, and keeps the manifest."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._manifest = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - `close` closes it
        self._missing: list[str] = []

    def payload(self, name: str, data: bytes) -> Iterator[bytes]:
        """A file below `data`, which the manifest names."""
        self._manifest.write(f"{hashlib.sha256(data).hexdigest()}  data/{name}\n".encode())
        yield from self.tag(f"data/{name}", data)

    def tag(self, name: str, data: bytes) -> Iterator[bytes]:
        """A file that is not in the manifest."""
        yield self._head(name, size=len(data))
        yield data
        yield _padding(len(data))

    def miss(self, digest: str) -> None:
        """Note an object that the store has lost."""
        self._missing.append(digest)

    def end(self) -> Iterator[bytes]:
        """Manifest and end of the archive."""
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
