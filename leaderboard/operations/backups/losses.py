"""What the site has lost: rows of the database name it, or the quarantine does, and no store has it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from django.db.models import QuerySet

from evaluator.core.suites.hidden import HIDDEN
from evaluator.execution.engine.store import DurableStore, LocalStore, ObjectDamagedError, ObjectMissingError
from leaderboard.evaluations.models import TaskResult
from leaderboard.evaluations.results.objects import server_store
from leaderboard.planners.checkpoint_stores import CheckpointStore
from leaderboard.planners.checkpoints import checkpoint_store
from leaderboard.planners.models import CheckpointUpload

STORES = ("public", "hidden")
CHECKPOINTS = "checkpoints"
_SHOWN = 10
_PAGE = 500
"""Records that are looked for together, since a bucket is asked several things at a time."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Loss:
    """Something that no store has."""

    store: str
    """`public`, `hidden` or `checkpoints`: where it should be."""
    digest: str
    is_record: bool = False
    """Whether a result names it as its record."""


def site_store(name: str) -> DurableStore:
    """The site's store with this name of `STORES`."""
    return server_store(split=HIDDEN if name == "hidden" else "")


def losses() -> list[Loss]:
    """Missing records, damaged objects without a good copy, and missing checkpoints, in order.

    Files are looked for and not read: what is damaged and was not read since is found by `check.check_store`.
    """
    records = set(_missing_records())
    known = {(loss.store, loss.digest) for loss in records}
    objects = {loss for loss in _quarantined() if (loss.store, loss.digest) not in known}
    return sorted(records | objects | set(_missing_checkpoints()))


def still_lost(found: Sequence[Loss], *, folder: Path) -> list[Loss]:
    """Those of the losses that the backup in a folder does not have either. What it has is read and checked."""
    return [loss for loss in found if not _is_in_backup(loss, folder=folder)]


def described(found: Sequence[Loss]) -> str:
    """Losses as a phrase: how many, and the first of them by name."""
    records = sum(loss.is_record for loss in found)
    others = len(found) - records
    counts = [_count(records, "record") if records else "", _count(others, "other object") if others else ""]
    named = ", ".join(f"{loss.store}/{loss.digest}" for loss in found[:_SHOWN])
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"{' and '.join(filter(None, counts))} ({named}{more})"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _missing_records() -> Iterator[Loss]:
    results: QuerySet[TaskResult] = TaskResult.objects.exclude(record_digest="")
    hidden = site_store("hidden")
    public = site_store("public")
    rows = results.values_list("record_digest", "evaluation__split").distinct().iterator()
    while page := list(islice(rows, _PAGE)):
        for name, store in (("public", public), ("hidden", hidden)):
            of_store = [digest for digest, split in page if (split == HIDDEN) == (name == "hidden")]
            yield from (Loss(store=name, digest=digest, is_record=True) for digest in store.lacking(of_store))


def _quarantined() -> Iterator[Loss]:
    for name in STORES:
        store = site_store(name)
        yield from (Loss(store=name, digest=digest) for digest in store.lacking(sorted(store.quarantine.digests())))


def _missing_checkpoints() -> Iterator[Loss]:
    store = checkpoint_store()
    for digest in CheckpointUpload.objects.values_list("digest", flat=True).distinct():
        if not store.size(digest):
            yield Loss(store=CHECKPOINTS, digest=digest)


def _is_in_backup(loss: Loss, *, folder: Path) -> bool:
    if loss.store == CHECKPOINTS:
        return CheckpointStore(folder / CHECKPOINTS).is_whole(loss.digest)
    try:
        LocalStore(folder / loss.store, durable=True).get(loss.digest)
    except (ObjectMissingError, ObjectDamagedError):
        return False
    return True
