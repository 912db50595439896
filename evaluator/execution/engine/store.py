"""The content-addressed store: artefacts by the digest of their bytes, executed steps by their store key.

Writes are atomic (a temporary file beside the target, then a rename), so that a process killed at any instruction
leaves either the whole object or none. Reads verify the digest, so that also what a dying disk or a power cut leaves
is never taken for an artefact.

A store is a cache, as a worker's is, or holds what exists nowhere else, as the site's does. In a cache a damaged object
is removed and executed again, so that nothing is gained by flushing writes to the disk. In a durable store every write
is flushed before it gets its name, and a damaged object is moved to the store's quarantine.
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
    """A store does not answer, or refuses what it usually does: the same may work later. Nothing was changed.

    The message is a phrase for the operator, without addresses.
    """

    def __init__(self, message: str, *, status: int = 0) -> None:
        """Args:
        message: what is wrong.
        status: HTTP status of the answer; 0 without one.
        """
        self.status = status
        super().__init__(message)


class Store(Protocol):
    """What the engine, the worker and the site need of a store. All of it may be called from several threads."""

    @property
    def parallel_writes(self) -> int:
        """How many writes at a time make sense in the background.

        0 where they cost nothing, 1 where they only take turns, more where each waits for a network.
        """
        ...

    def has(self, digest: str) -> bool:
        """Whether there is an object with this digest."""
        ...

    def lacking(self, digests: Sequence[str]) -> list[str]:
        """Those of the digests without an object, in order."""
        ...

    def get(self, digest: str) -> Artefact:
        """The object with this digest.

        Raises:
            ObjectMissingError: there is none.
            ObjectDamagedError: its bytes have another digest; it is as good as missing.
        """
        ...

    def put(self, artefact: Artefact) -> str:
        """Keep an object and return its digest. Putting it again changes nothing."""
        ...

    def put_all(self, artefacts: Sequence[Artefact]) -> list[str]:
        """`put` for several at once, which costs less than one by one. Returns their digests, in order."""
        ...

    def get_step(self, key: str) -> dict[str, ArtefactReference] | None:
        """Outputs of the executed step with this store key, or None if it was never executed."""
        ...

    def put_step(self, *, key: str, outputs: Mapping[str, ArtefactReference]) -> None:
        """Keep the outputs of an executed step; the objects must be in the store already."""
        ...

    def held(self) -> AbstractContextManager[None]:
        """A context in which nothing that this process puts, gets or asks for is evicted."""
        ...


class DurableStore(Store, Protocol):
    """What holds objects that exist nowhere else: a site's store."""

    @property
    def quarantine(self) -> DamagedObjects:
        """Its damaged objects."""
        ...

    def digests(self) -> Iterator[str]:
        """The digests of all objects that are complete, in order."""
        ...

    def recover(self) -> int:
        """Put back what is in quarantine and good after all, as when a disk answers again. Returns how many objects."""
        ...

    def collect(self, *, keep: Container[str], before: float, dry_run: bool) -> Garbage:
        """Delete the objects that are not to be kept, and what is left of writes that were killed.

        Before: nothing; a collection that was killed is completed. Others may read and write meanwhile.
        After: the store holds every object of `keep` that it held, and all that was used since `before`.

        Args:
            keep: digests.
            before: seconds since the epoch; what was used later stays.
            dry_run: whether to count only.
        """
        ...


ENDINGS = MappingProxyType(
    {MediaType.PNG: ".png", MediaType.TEXT: ".txt", MediaType.CLIP: ".apng", MediaType.FINDINGS: ".json"}
)
"""Of the files of objects in a folder."""


class LocalStore:
    """A store in a local folder: `objects/ab/cdef....png`, `steps/ab/cdef....json`. Safe for several processes.

    With `max_bytes` the objects that were not used for the longest time are removed when there are more bytes than
    that. A step whose object is gone counts as never executed. Objects used within the last hour, or since the
    beginning of a run of this process, stay, even if that means more bytes than wanted.
    """

    parallel_writes = 1

    def __init__(
        self,
        path: Path,
        *,
        max_bytes: int | None = None,
        keep_seconds: float = KEEP_SECONDS,
        durable: bool = False,
    ) -> None:
        """Args:
        path: the folder; made when first needed.
        max_bytes: of all objects together; None: no limit.
        keep_seconds: objects used within so many seconds stay: another process may be about to need them.
        durable: whether this is no cache: writes are flushed to the disk, and damaged objects go into `quarantine`.
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
            # What a power cut leaves of a write that was not flushed.
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
        outputs = self._read_step(key)
        try:
            for output in (outputs or {}).values():
                # Read, not only found: a damaged object must be computed again and not fail its reader.
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
        """The digests of all objects that are complete, in order."""
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
        """Set a damaged object aside, and the error to raise."""
        self._set_aside(path=path, digest=digest, reason=reason)
        return ObjectDamagedError(f"object {digest} is damaged: the file {reason}")

    def _set_aside(self, *, path: Path, digest: str, reason: str) -> None:
        if self._durable:
            self.quarantine.take(path=path, digest=digest, reason=reason)
        else:
            path.unlink(missing_ok=True)

    def _read_step(self, key: str) -> dict[str, ArtefactReference] | None:
        try:
            return step_from_bytes(self._step_path(key).read_bytes())
        except (FileNotFoundError, ValueError):
            return None

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
    """A store in memory, for a single run that keeps nothing."""

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
    """Whether a text is a lower-case hexadecimal SHA-256; nothing else may become part of a path."""
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
    """Note that an object was used, and return its size in bytes; None: not there.

    The time of the last reading is not kept on all file systems.
    """
    try:
        size = path.stat().st_size
        os.utime(path)
    except FileNotFoundError:
        return None
    except PermissionError:
        # It is there, but not ours.
        return path.stat().st_size if path.exists() else None
    return size
