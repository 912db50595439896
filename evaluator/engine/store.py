"""The content-addressed store: artefacts by the digest of their bytes, executed steps by their store key.

Writes are atomic (a temporary file beside the target, then a rename), so that a process killed at any instruction
leaves either the whole object or none. Reads verify the digest, so that also what a dying disk or a power cut leaves
is never taken for an artefact.
"""

import hashlib
import itertools
import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Protocol

from evaluator.engine.eviction import KEEP_SECONDS, WRITING, Evictor
from evaluator.records import ArtefactReference
from evaluator.values import Artefact, MediaType

_PROCESS = secrets.token_hex(4)
"""Machines may share a folder, so that the number of a process does not tell who writes."""
_NUMBERS = itertools.count()
_DIGEST = re.compile(r"[0-9a-f]{64}")


class ObjectMissingError(LookupError):
    """The store has no object with this digest."""


class ObjectDamagedError(Exception):
    """An object's bytes do not match its digest."""


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

    def get_step(self, key: str) -> dict[str, ArtefactReference] | None:
        """Outputs of the executed step with this store key, or None if it was never executed."""
        ...

    def put_step(self, *, key: str, outputs: Mapping[str, ArtefactReference]) -> None:
        """Keep the outputs of an executed step; the objects must be in the store already."""
        ...

    def held(self) -> AbstractContextManager[None]:
        """A context in which nothing that this process puts, gets or asks for is evicted."""
        ...


class LocalStore:
    """A store in a local folder: `objects/ab/cdef....png`, `steps/ab/cdef....json`. Safe for several processes.

    With `max_bytes` the objects that were not used for the longest time are removed when there are more bytes than
    that. A step whose object is gone counts as never executed. Objects used within the last hour, or since the
    beginning of a run of this process, stay, even if that means more bytes than wanted.
    """

    parallel_writes = 1
    _ENDINGS = {MediaType.PNG: ".png", MediaType.TEXT: ".txt"}

    def __init__(self, path: Path, *, max_bytes: int | None = None, keep_seconds: float = KEEP_SECONDS) -> None:
        """Args:
        path: the folder; made when first needed.
        max_bytes: of all objects together; None: no limit.
        keep_seconds: objects used within so many seconds stay: another process may be about to need them.
        """
        self.path = path
        self._root = str(path)
        self._evictor = None if max_bytes is None else Evictor(folder=path, limit=max_bytes, keep_seconds=keep_seconds)

    def has(self, digest: str) -> bool:
        found = self._find(digest)
        if found is None:
            return False
        _touch(found[0])
        return True

    def get(self, digest: str) -> Artefact:
        found = self._find(digest)
        if found is None:
            raise ObjectMissingError(f"the store has no object {digest}")
        path, media_type = found
        try:
            artefact = Artefact(data=path.read_bytes(), media_type=media_type)
        except FileNotFoundError:
            raise ObjectMissingError(f"the store has no object {digest} any more") from None
        if artefact.digest != digest:
            path.unlink(missing_ok=True)
            raise ObjectDamagedError(f"object {digest} had the digest {artefact.digest} on disk; it was removed")
        _touch(path)
        return artefact

    def put(self, artefact: Artefact) -> str:
        digest = artefact.digest
        path = self._object_path(digest, artefact.media_type)
        if not _touch(path):
            _write_atomically(path=path, data=artefact.data)
            if self._evictor is not None:
                self._evictor.added(len(artefact.data))
        return digest

    def get_step(self, key: str) -> dict[str, ArtefactReference] | None:
        outputs = self._read_step(key)
        try:
            for output in (outputs or {}).values():
                # Read and not only found: a damaged object must be made anew, not fail whoever needs it.
                self.get(output.digest)
        except (ObjectMissingError, ObjectDamagedError):
            self._step_path(key).unlink(missing_ok=True)
            return None
        return outputs

    def put_step(self, *, key: str, outputs: Mapping[str, ArtefactReference]) -> None:
        _write_atomically(path=self._step_path(key), data=step_to_bytes(outputs))

    def held(self) -> AbstractContextManager[None]:
        return nullcontext() if self._evictor is None else self._evictor.held()

    def digests(self) -> Iterator[str]:
        """The digests of all objects that are complete, in order."""
        for folder in sorted((self.path / "objects").glob("[0-9a-f][0-9a-f]")):
            found = (
                folder.name + path.stem for path in sorted(folder.iterdir()) if path.suffix in self._ENDINGS.values()
            )
            yield from filter(is_digest, found)

    def _read_step(self, key: str) -> dict[str, ArtefactReference] | None:
        try:
            return step_from_bytes(self._step_path(key).read_bytes())
        except (FileNotFoundError, ValueError):
            return None

    def _find(self, digest: str) -> tuple[Path, MediaType] | None:
        if not is_digest(digest):
            return None
        for media_type in self._ENDINGS:
            path = self._object_path(digest, media_type)
            if path.exists():
                return path, media_type
        return None

    def _object_path(self, digest: str, media_type: MediaType) -> Path:
        return Path(f"{self._root}/objects/{digest[:2]}/{digest[2:]}{self._ENDINGS[media_type]}")

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

    def get(self, digest: str) -> Artefact:
        try:
            return self._objects[digest]
        except KeyError:
            raise ObjectMissingError(f"the store has no object {digest}") from None

    def put(self, artefact: Artefact) -> str:
        digest = artefact.digest
        self._objects.setdefault(digest, artefact)
        return digest

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


def _touch(path: Path) -> bool:
    """Note that an object was used; the time of its last reading is not kept on all file systems. False: not there."""
    try:
        os.utime(path)
    except FileNotFoundError:
        return False
    except OSError:
        # It is there, but not ours.
        return path.exists()
    return True


def _write_atomically(*, path: Path, data: bytes) -> None:
    """Write beside the target, then rename: whoever reads finds all of it or nothing."""
    temporary = path.with_name(f"{WRITING}{os.getpid()}-{_PROCESS}-{next(_NUMBERS)}")
    try:
        try:
            temporary.write_bytes(data)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(data)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
