"""A whole evaluation as one file: a BagIt bag (RFC 8493) in a tar archive, made while it is sent.

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

import hashlib
import json
import re
import tarfile
import tempfile
from collections.abc import Iterator
from typing import NamedTuple

from pydantic import ValidationError

from evaluator.core.records import ResultRecord
from evaluator.execution.engine.store import ENDINGS, ObjectDamagedError, ObjectMissingError, Store
from leaderboard.evaluations.gold import Withheld, withheld_from
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.evaluations.results.objects import server_store
from leaderboard.evaluations.results.shown_records import shown_record
from leaderboard.evaluations.visibility import Reader
from leaderboard.evaluations.web.sharing.files import facts_of, name_of, results_csv, results_of

CONTENT_TYPE = "application/x-tar"
_PAGE = 100
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
            )[:_PAGE]
        ]
        yield from page
        if len(page) < _PAGE:
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
