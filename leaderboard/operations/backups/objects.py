"""Copying stores. Objects are named by their bytes and never change, so that only what is missing is copied."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from evaluator.core.values import Artefact
from evaluator.execution.engine.store import DurableStore, ObjectDamagedError, ObjectMissingError
from evaluator.execution.experts.weights import file_digest
from leaderboard.planners.checkpoint_stores import Checkpoints

_BATCH_OBJECTS, _BATCH_BYTES = 64, 16 * 2**20
"""Written together, since each write waits for the disk."""


@dataclass(slots=True)
class Copied:
    """What became of the objects of a store."""

    new: int = 0
    new_bytes: int = 0
    there: int = 0
    """Were in the target already."""
    damaged: list[str] = field(default_factory=list)
    """Digests of objects whose bytes have another digest. They were not copied."""

    def add(self, later: "Copied") -> None:
        """Add what a second pass copied; it found what the first one copied."""
        self.new += later.new
        self.new_bytes += later.new_bytes
        self.damaged += later.damaged


def copy_objects(*, source: DurableStore, target: DurableStore) -> Copied:
    """Copy the objects that the target lacks, each whole or not at all, and check each one that is copied."""
    copied = Copied()
    for batch in _batches(_lacking(source=source, target=target, copied=copied)):
        target.put_all(batch)
        copied.new += len(batch)
        copied.new_bytes += sum(len(artefact.data) for artefact in batch)
    return copied


def _lacking(*, source: DurableStore, target: DurableStore, copied: Copied) -> Iterator[Artefact]:
    for digest in source.digests():
        if target.has(digest):
            copied.there += 1
            continue
        try:
            yield source.get(digest)
        except ObjectDamagedError:
            copied.damaged.append(digest)
        except ObjectMissingError:
            # Removed since the list was made.
            continue


def _batches(artefacts: Iterator[Artefact]) -> Iterator[list[Artefact]]:
    batch: list[Artefact] = []
    size = 0
    for artefact in artefacts:
        batch.append(artefact)
        size += len(artefact.data)
        if len(batch) >= _BATCH_OBJECTS or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def copy_checkpoints(*, source: Checkpoints, target: Checkpoints, only: Collection[str] | None = None) -> Copied:
    """The same for uploaded checkpoints, which are too large to be read into memory; of these digests, or all."""
    copied = Copied()
    for digest in source.digests():
        if only is not None and digest not in only:
            continue
        if target.size(digest):
            copied.there += 1
            continue
        try:
            with source.local(digest) as path:
                if file_digest(path) != digest:
                    copied.damaged.append(digest)
                    continue
                target.copy(path=path, digest=digest)
        except FileNotFoundError:
            # Removed since the list was made, because nobody submitted it.
            continue
        copied.new += 1
        copied.new_bytes += target.size(digest)
    return copied
