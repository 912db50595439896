"""The quarantine of a durable store: damaged files, with their digests and the kind of damage.

A store may have the only copy of an object, so a damaged file is never deleted: parts of it may still be useful, and
its name tells what to restore from a backup. Only the operator's commands read a quarantine.
"""

import hashlib
import json
import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from evaluator.execution.engine.files import flush, make_folder, write_atomically

logger = logging.getLogger(__name__)

FOLDER = "quarantine"
"""Name of the quarantine in the folder of a store."""
_REASON = ".json"
_DIGEST_LENGTH = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """A damaged object."""

    digest: str
    """SHA-256 that its bytes should have."""
    at: datetime
    """Time of the detection, by the clock of the detecting machine."""
    reason: str
    """The damage, as a phrase; empty if unknown."""
    size: int
    """In bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantinedFile(Quarantined):
    """A damaged file in a folder."""

    path: Path


class DamagedObjects(Protocol):
    """The quarantine of a durable store."""

    def entries(self) -> Sequence[Quarantined]:
        """All damaged objects, newest first."""
        ...

    def digests(self) -> set[str]:
        """The digests that the damaged objects should have."""
        ...


class Quarantine:
    """Damaged files in a folder: `<digest>.<nanoseconds><suffix>`, each with a `.json` with the reason."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def take(self, *, path: Path, digest: str, reason: str) -> bool:
        """Move a damaged file into the quarantine.

        Returns:
            Whether this call moved it. False if another process moved it or replaced it with an intact file, or if the
            folder is not writable.
        """
        target = self._folder / f"{digest}.{time.time_ns()}{path.suffix}"
        try:
            make_folder(self._folder, durable=True)
            # Atomic: a concurrent write of an intact copy comes either before or after it.
            path.replace(target)
            if has_digest(target, digest=digest):
                target.replace(path)
                return False
            note = json.dumps({"digest": digest, "reason": reason}, indent=1).encode()
            write_atomically([(target.with_suffix(_REASON), note)], durable=True)
            flush(path.parent)
        except FileNotFoundError:
            return False
        except OSError as error:
            logger.error("object %s is damaged (it %s) and could not be moved to %s: %s", digest, reason, target, error)
            return False
        logger.error("object %s is damaged (it %s); moved to %s", digest, reason, target)
        return True

    def entries(self) -> list[QuarantinedFile]:
        entries = (_entry(path) for path in self._files())
        return sorted((entry for entry in entries if entry is not None), key=lambda entry: entry.at, reverse=True)

    def digests(self) -> set[str]:
        return {path.name[:_DIGEST_LENGTH] for path in self._files()}

    def _files(self) -> Iterator[Path]:
        return (path for path in self._folder.glob("[0-9a-f]*.*") if path.suffix != _REASON)


def has_digest(path: Path, *, digest: str) -> bool:
    """Whether a file is readable and has this SHA-256."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == digest
    except OSError:
        return False


def _entry(path: Path) -> QuarantinedFile | None:
    digest, _, nanoseconds = path.stem.partition(".")
    if len(digest) != _DIGEST_LENGTH or not nanoseconds.isdecimal():
        return None
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return None
    reason = ""
    with suppress(OSError, ValueError, KeyError, TypeError):
        reason = str(json.loads(path.with_suffix(_REASON).read_bytes())["reason"])
    at = datetime.fromtimestamp(int(nanoseconds) / 1e9, tz=UTC)
    return QuarantinedFile(digest=digest, at=at, reason=reason, path=path, size=size)
