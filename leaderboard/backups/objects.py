"""Copying stores. Objects are named by their bytes and never change, so that only what is missing is copied."""

from dataclasses import dataclass, field

from evaluator.engine.store import LocalStore, ObjectDamagedError, ObjectMissingError
from evaluator.experts.weights import file_digest
from leaderboard.planners.checkpoints import CheckpointStore


@dataclass(slots=True)
class Copied:
    """What became of the objects of a store."""

    new: int = 0
    new_bytes: int = 0
    there: int = 0
    """Were in the target already."""
    damaged: list[str] = field(default_factory=list)
    """Digests of objects whose bytes have another digest. They were not copied."""


def copy_objects(*, source: LocalStore, target: LocalStore) -> Copied:
    """Copy the objects that the target lacks, each whole or not at all, and check each one that is copied."""
    copied = Copied()
    for digest in source.digests():
        if target.has(digest):
            copied.there += 1
            continue
        try:
            artefact = source.get(digest)
        except ObjectDamagedError:
            copied.damaged.append(digest)
            continue
        except ObjectMissingError:
            # Removed since the list was made.
            continue
        target.put(artefact)
        copied.new += 1
        copied.new_bytes += len(artefact.data)
    return copied


def copy_checkpoints(*, source: CheckpointStore, target: CheckpointStore) -> Copied:
    """The same for uploaded checkpoints, which are too large to be read into memory."""
    copied = Copied()
    for digest in source.digests():
        if target.size(digest):
            copied.there += 1
            continue
        try:
            if file_digest(source.path(digest)) != digest:
                copied.damaged.append(digest)
                continue
            target.copy(path=source.path(digest), digest=digest)
        except FileNotFoundError:
            # Removed since the list was made, because nobody submitted it.
            continue
        copied.new += 1
        copied.new_bytes += target.size(digest)
    return copied
