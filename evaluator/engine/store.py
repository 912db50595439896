"""The content-addressed store: artefacts by the digest of their bytes, executed steps by their store key.

Writes are atomic (a temporary file beside the target, then a rename), so that a process killed at any instruction
leaves either the whole object or none. Reads verify the digest.
"""

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from evaluator.records import ArtefactReference
from evaluator.values import Artefact, MediaType

_DIGEST = re.compile(r"[0-9a-f]{64}")


class ObjectMissingError(LookupError):
    """The store has no object with this digest."""


class ObjectDamagedError(Exception):
    """An object's bytes do not match its digest."""


class Store(Protocol):
    """What the engine, the worker and the site need of a store."""

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


class LocalStore:
    """A store in a local folder: `objects/ab/cdef....png`, `steps/ab/cdef....json`. Safe for several processes."""

    _ENDINGS = {MediaType.PNG: ".png", MediaType.TEXT: ".txt"}

    def __init__(self, path: Path) -> None:
        self.path = path

    def has(self, digest: str) -> bool:
        return self._find(digest) is not None

    def get(self, digest: str) -> Artefact:
        found = self._find(digest)
        if found is None:
            raise ObjectMissingError(f"the store has no object {digest}")
        path, media_type = found
        artefact = Artefact(data=path.read_bytes(), media_type=media_type)
        if artefact.digest != digest:
            path.unlink(missing_ok=True)
            raise ObjectDamagedError(f"object {digest} had the digest {artefact.digest} on disk; it was removed")
        return artefact

    def put(self, artefact: Artefact) -> str:
        digest = artefact.digest
        if self._find(digest) is None:
            _write_atomically(path=self._object_path(digest, artefact.media_type), data=artefact.data)
        return digest

    def get_step(self, key: str) -> dict[str, ArtefactReference] | None:
        try:
            raw = json.loads(self._step_path(key).read_text(encoding="utf-8"))
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        outputs = {name: ArtefactReference.model_validate(value) for name, value in raw.items()}
        if all(self.has(output.digest) for output in outputs.values()):
            return outputs
        return None

    def put_step(self, *, key: str, outputs: Mapping[str, ArtefactReference]) -> None:
        raw = {name: output.model_dump() for name, output in outputs.items()}
        _write_atomically(path=self._step_path(key), data=json.dumps(raw, sort_keys=True).encode("utf-8"))

    def _find(self, digest: str) -> tuple[Path, MediaType] | None:
        if not _DIGEST.fullmatch(digest):
            return None
        for media_type in self._ENDINGS:
            path = self._object_path(digest, media_type)
            if path.exists():
                return path, media_type
        return None

    def _object_path(self, digest: str, media_type: MediaType) -> Path:
        return self.path / "objects" / digest[:2] / f"{digest[2:]}{self._ENDINGS[media_type]}"

    def _step_path(self, key: str) -> Path:
        return self.path / "steps" / key[:2] / f"{key[2:]}.json"


class MemoryStore:
    """A store in memory, for a single run that keeps nothing."""

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


def digest_of(data: bytes) -> str:
    """Lower-case hexadecimal SHA-256."""
    return hashlib.sha256(data).hexdigest()


def _write_atomically(*, path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
