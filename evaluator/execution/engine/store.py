"""The content-addressed store: artefacts by the digest of their bytes, executed steps by their store key.

Writes are atomic (a temporary file in the target's folder, then a rename): a process killed at any instruction leaves
either the whole object or none. Reads verify the digest, so that damage by a failing disk or a power cut is detected.

A store is either a cache, like a worker's, or durable, like the site's, with the only copy of its objects. A cache
removes a damaged object, which is then recomputed, and does not flush its writes. A durable store flushes every write
before the rename, and moves damaged objects to its quarantine.
"""

import errno
import hashlib
import json
import os
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from evaluator.core.records import ArtefactReference
from evaluator.core.values import Artefact, MediaType
from evaluator.execution.engine.files import KEEP_SECONDS, Evictor, Garbage, collect_files, write_atomically
from evaluator.execution.engine.quarantine import FOLDER, DamagedObjects, Quarantine, has_digest

_EMPTY = hashlib.sha256(b"").hexdigest()
_DIGEST = re.compile(r"[0-9a-f]{64}")


class ObjectMissingError(LookupError):
    """The store has no object with this digest."""


class ObjectDamagedError(Exception):
    """An object's bytes do not match its digest."""


class StoreUnavailableError(OSError):
    """A store does not respond, or refuses a valid operation: a retry may succeed. Nothing was changed.

    The message is a phrase for the operator, without addresses.
    """

    def __init__(self, message: str, *, status: int = 0) -> None:
        """Args:
        message: the problem.
        status: HTTP status of the response; 0 if there was none.
        """
        self.status = status
        super().__init__(message)


class Store(Protocol):
    """The store as engine, worker and site use it. Thread-safe."""

    @property
    def parallel_writes(self) -> int:
        """Useful number of concurrent background writes: 0 if writes are instant, 1 for a disk, more for a network."""
        ...

    def has(self, digest: str) -> bool:
        """Whether the store has an object with this digest."""
        ...

    def lacking(self, digests: Sequence[str]) -> list[str]:
        """The digests without an object, in order."""
        ...

    def get(self, digest: str) -> Artefact:
        """The object with this digest.

        Raises:
            ObjectMissingError: there is none.
            ObjectDamagedError: its bytes have another digest.
        """
        ...

    def put(self, artefact: Artefact) -> str:
        """Store an object and return its digest. Idempotent."""
        ...

    def put_all(self, artefacts: Sequence[Artefact]) -> list[str]:
        """`put` for several objects, cheaper than one by one. Returns their digests, in order."""
        ...

    def get_step(self, key: str) -> dict[str, ArtefactReference] | None:
        """Outputs of the step with this store key; None if it was not executed."""
        ...

    def put_step(self, *, key: str, outputs: Mapping[str, ArtefactReference]) -> None:
        """Store the outputs of an executed step. The objects must be in the store."""
        ...

    def held(self) -> AbstractContextManager[None]:
        """A context during which objects that this process uses are not evicted."""
        ...


class DurableStore(Store, Protocol):
    """A store with the only copy of its objects, like a site's."""

    @property
    def quarantine(self) -> DamagedObjects:
        """Its damaged objects."""
        ...

    def digests(self) -> Iterator[str]:
        """The digests of all complete objects, in order."""
        ...

    def recover(self) -> int:
        """Restore objects in quarantine that are intact after all, for example after a disk error. Returns their
        number."""
        ...

    def collect(self, *, keep: Container[str], before: float, dry_run: bool) -> Garbage:
        """Delete unreferenced objects and the remains of killed writes.

        Before: nothing. Completes a killed collection; concurrent reads and writes are safe.
        After: the store still has its objects of `keep`, and all objects used since `before`.

        Args:
            keep: digests of referenced objects.
            before: seconds since the epoch; objects used later are kept.
            dry_run: whether to count only.
        """
        ...


ENDINGS = MappingProxyType(
    {
        MediaType.PNG: ".png",
        MediaType.TEXT: ".txt",
        MediaType.CLIP: ".apng",
        MediaType.SOUNDING_CLIP: ".sound.apng",
        MediaType.SOUND: ".wav",
        MediaType.FINDINGS: ".json",
    }
)
"""Suffixes of the files of objects in a folder."""


def ending_of(media_type: str) -> str:
    """The suffix of a file of this media type, with its full stop; `.txt` for unknown ones."""
    return next((ending for kind, ending in ENDINGS.items() if kind == media_type), ".txt")


class LocalStore:
    """A store in a local folder: `objects/ab/cdef....png`, `steps/ab/cdef....json`. Safe for several processes.

    With `max_bytes`, the least recently used objects are evicted when the store exceeds the limit. A step whose object
    is gone counts as not executed. Objects used within `keep_seconds`, or since the start of a run of this process, are
    not evicted, even if the store exceeds its limit.
    """

    parallel_writes = 1

    def __init__(
        self, path: Path, *, max_bytes: int | None = None, keep_seconds: float = KEEP_SECONDS, durable: bool = False
    ) -> None:
        """Args:
        path: the folder; created on demand.
        max_bytes: limit of all objects; None: no limit.
        keep_seconds: objects used within so many seconds are kept, since another process may need them.
        durable: whether writes are flushed to the disk and damaged objects go into `quarantine`; for stores that are no
            caches.
        """
        self.path = path
        self.quarantine = Quarantine(path / FOLDER)
        self._durable = durable
        self._root = str(path)
        self._evictor = None if max_bytes is None else Evictor(folder=path, limit=max_bytes, keep_seconds=keep_seconds)

    def has(self, digest: str) -> bool:
        file = self._find(digest)
        if file is None:
            return False
        path, _ = file
        size = _touch(path)
        if size == 0 and digest != _EMPTY:
            # A write that was not flushed before a power cut.
            self._set_aside(path=path, digest=digest, reason="is empty")
            return False
        return size is not None

    def lacking(self, digests: Sequence[str]) -> list[str]:
        return [digest for digest in digests if not self.has(digest)]

    def get(self, digest: str) -> Artefact:
        file = self._find(digest)
        if file is None:
            raise ObjectMissingError(f"the store has no object {digest}")
        path, media_type = file
        try:
            artefact = Artefact(data=path.read_bytes(), media_type=media_type)
        except FileNotFoundError:
            raise ObjectMissingError(f"the store has no object {digest} any more") from None
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            raise self._damaged(path=path, digest=digest, reason="cannot be read from the disk") from error
        if artefact.digest != digest:
            raise self._damaged(path=path, digest=digest, reason=f"has the digest {artefact.digest}")
        _touch(path)
        return artefact

    def put(self, artefact: Artefact) -> str:
        return self.put_all([artefact])[0]

    def put_all(self, artefacts: Sequence[Artefact]) -> list[str]:
        digests = [artefact.digest for artefact in artefacts]
        missing: dict[Path, bytes] = {}
        for digest, artefact in zip(digests, artefacts, strict=True):
            path = self._object_path(digest, artefact.media_type)
            size = _touch(path)
            if size == len(artefact.data):
                continue
            if size is not None:
                self._set_aside(path=path, digest=digest, reason=f"has {size} bytes instead of {len(artefact.data)}")
            missing[path] = artefact.data
        write_atomically(missing.items(), durable=self._durable)
        if self._evictor is not None:
            for data in missing.values():
                self._evictor.added(len(data))
        return digests

    def get_step(self, key: str) -> dict[str, ArtefactReference] | None:
        try:
            outputs = step_from_bytes(self._step_path(key).read_bytes())
        except (FileNotFoundError, ValueError):
            return None
        try:
            for output in outputs.values():
                # Verified by reading: a damaged object must be recomputed instead of failing its reader.
                self.get(output.digest)
        except (ObjectMissingError, ObjectDamagedError):
            self._step_path(key).unlink(missing_ok=True)
            return None
        return outputs

    def put_step(self, *, key: str, outputs: Mapping[str, ArtefactReference]) -> None:
        write_atomically([(self._step_path(key), step_to_bytes(outputs))], durable=self._durable)

    def held(self) -> AbstractContextManager[None]:
        return nullcontext() if self._evictor is None else self._evictor.held()

    def digests(self) -> Iterator[str]:
        for folder in sorted((self.path / "objects").glob("[0-9a-f][0-9a-f]")):
            names = (folder.name + path.stem for path in sorted(folder.iterdir()) if path.suffix in ENDINGS.values())
            yield from filter(is_digest, names)

    def recover(self) -> int:
        recovered = 0
        for file in self.quarantine.entries():
            if not self.has(file.digest) and has_digest(file.path, digest=file.digest):
                media_type = next((kind for kind, end in ENDINGS.items() if file.path.suffix == end), MediaType.PNG)
                self.put(Artefact(data=file.path.read_bytes(), media_type=media_type))
                recovered += 1
        return recovered

    def collect(self, *, keep: Container[str], before: float, dry_run: bool) -> Garbage:
        return collect_files(folder=self.path, endings=ENDINGS.values(), keep=keep, before=before, dry_run=dry_run)

    def _damaged(self, *, path: Path, digest: str, reason: str) -> ObjectDamagedError:
        """Set a damaged object aside and return the error to raise."""
        self._set_aside(path=path, digest=digest, reason=reason)
        return ObjectDamagedError(f"object {digest} is damaged: the file {reason}")

    def _set_aside(self, *, path: Path, digest: str, reason: str) -> None:
        if self._durable:
            self.quarantine.take(path=path, digest=digest, reason=reason)
        else:
            path.unlink(missing_ok=True)

    def _find(self, digest: str) -> tuple[Path, MediaType] | None:
        if not is_digest(digest):
            return None
        for media_type in ENDINGS:
            path = self._object_path(digest, media_type)
            if path.exists():
                return path, media_type
        return None

    def _object_path(self, digest: str, media_type: MediaType) -> Path:
        return Path(f"{self._root}/objects/{digest[:2]}/{digest[2:]}{ENDINGS[media_type]}")

    def _step_path(self, key: str) -> Path:
        return Path(f"{self._root}/steps/{key[:2]}/{key[2:]}.json")


class MemoryStore:
    """An in-memory store for a single run."""

    parallel_writes = 0

    def __init__(self) -> None:
        self._objects: dict[str, Artefact] = {}
        self._steps: dict[str, dict[str, ArtefactReference]] = {}

    def has(self, digest: str) -> bool:
        return digest in self._objects

    def lacking(self, digests: Sequence[str]) -> list[str]:
        return [digest for digest in digests if digest not in self._objects]

    def get(self, digest: str) -> Artefact:
        try:
            return self._objects[digest]
        except KeyError:
            raise ObjectMissingError(f"the store has no object {digest}") from None

    def put(self, artefact: Artefact) -> str:
        digest = artefact.digest
        self._objects.setdefault(digest, artefact)
        return digest

    def put_all(self, artefacts: Sequence[Artefact]) -> list[str]:
        return [self.put(artefact) for artefact in artefacts]

    def get_step(self, key: str) -> dict[str, ArtefactReference] | None:
        return self._steps.get(key)

    def put_step(self, *, key: str, outputs: Mapping[str, ArtefactReference]) -> None:
        self._steps[key] = dict(outputs)

    def held(self) -> AbstractContextManager[None]:
        return nullcontext()


def is_digest(text: str) -> bool:
    """Whether a text is a lower-case hexadecimal SHA-256, and so safe as part of a path."""
    return _DIGEST.fullmatch(text) is not None


def digest_of(data: bytes) -> str:
    """Lower-case hexadecimal SHA-256."""
    return hashlib.sha256(data).hexdigest()


def step_to_bytes(outputs: Mapping[str, ArtefactReference]) -> bytes:
    """The stored form of a step's outputs."""
    raw = {name: {"digest": output.digest, "media_type": output.media_type} for name, output in outputs.items()}
    return json.dumps(raw, sort_keys=True).encode("utf-8")


def step_from_bytes(data: bytes) -> dict[str, ArtefactReference]:
    """The inverse of `step_to_bytes`.

    Raises:
        ValueError: the bytes are not the stored form of a step's outputs.
    """
    raw = json.loads(data)
    if not isinstance(raw, dict):
        raise ValueError("a stored step must be a JSON object")
    return {name: ArtefactReference.model_validate(value) for name, value in raw.items()}


def _touch(path: Path) -> int | None:
    """Record the use of an object and return its size in bytes; None if it does not exist.

    Sets the modification time, since not all file systems record access times.
    """
    try:
        size = path.stat().st_size
        os.utime(path)
    except FileNotFoundError:
        return None
    except PermissionError:
        # The file belongs to another user.
        return path.stat().st_size if path.exists() else None
    return size
