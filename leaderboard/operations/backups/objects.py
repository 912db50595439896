"""Copying stores, finding lost objects, and repairing stores from a backup.

Objects are content-addressed and immutable, so only missing ones are copied. An object is lost if the database or the
quarantine refers to it, and no store has it.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from django.db.models import QuerySet

from evaluator.core.suites.hidden import HIDDEN
from evaluator.core.values import Artefact
from evaluator.execution.engine.quarantine import Quarantined
from evaluator.execution.engine.store import DurableStore, LocalStore, ObjectDamagedError, ObjectMissingError
from evaluator.execution.experts.weights import file_digest
from leaderboard.evaluations.models import TaskResult
from leaderboard.evaluations.results.objects import server_store
from leaderboard.operations.backups.database import BackupError
from leaderboard.planners.checkpoint_stores import Checkpoints, CheckpointStore
from leaderboard.planners.checkpoints import checkpoint_store
from leaderboard.planners.models import CheckpointUpload

_BATCH_OBJECTS, _BATCH_BYTES = 64, 16 * 2**20
"""Limits of a batch; each batch takes a single fsync."""


@dataclass(slots=True)
class Copied:
    """The result of copying a store."""

    new: int = 0
    new_bytes: int = 0
    there: int = 0
    """Number of objects that the target already had."""
    damaged: list[str] = field(default_factory=list)
    """Digests of corrupt objects, which were not copied."""

    def add(self, later: "Copied") -> None:
        """Add the result of a second pass; its `there` includes the objects of the first."""
        self.new += later.new
        self.new_bytes += later.new_bytes
        self.damaged += later.damaged


def copy_objects(*, source: DurableStore, target: DurableStore) -> Copied:
    """Copy the objects that the target lacks, each atomically, and verify each copied object."""
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
            # Removed since it was listed.
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
    """Copy uploaded checkpoints, which are too large for memory, with these digests, or all."""
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
            # Removed since it was listed, because it was not submitted.
            continue
        copied.new += 1
        copied.new_bytes += target.size(digest)
    return copied


STORES = ("public", "hidden")
CHECKPOINTS = "checkpoints"
_SHOWN = 10
_PAGE = 500
"""Number of records per request to a store, since buckets are queried concurrently."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Loss:
    """A lost object."""

    store: str
    """Its store: `public`, `hidden` or `checkpoints`."""
    digest: str
    is_record: bool = False
    """Whether it is the record of a result."""


def site_store(name: str) -> DurableStore:
    """The site's store with this name of `STORES`."""
    return server_store(split=HIDDEN if name == "hidden" else "")


def losses() -> list[Loss]:
    """Missing records, damaged objects without a good copy, and missing checkpoints, in order.

    Files are not read: only `check_stores` finds damage that no read has detected yet.
    """
    lost = set(_missing_records())
    known = {(loss.store, loss.digest) for loss in lost}
    for name in STORES:
        store = site_store(name)
        missing = store.lacking(sorted(store.quarantine.digests()))
        lost |= {Loss(store=name, digest=digest) for digest in missing if (name, digest) not in known}
    checkpoints = checkpoint_store()
    uploads = CheckpointUpload.objects.values_list("digest", flat=True).distinct()
    lost |= {Loss(store=CHECKPOINTS, digest=digest) for digest in uploads if not checkpoints.size(digest)}
    return sorted(lost)


def still_lost(losses: Sequence[Loss], *, folder: Path) -> list[Loss]:
    """The losses that the backup in a folder lacks, too. Its copies are read and verified."""
    return [loss for loss in losses if not _is_in_backup(loss, folder=folder)]


def described(losses: Sequence[Loss]) -> str:
    """Losses as a phrase: their number, and the names of the first ones."""
    records = sum(loss.is_record for loss in losses)
    others = len(losses) - records
    counts = [_count(records, "record") if records else "", _count(others, "other object") if others else ""]
    named = ", ".join(f"{loss.store}/{loss.digest}" for loss in losses[:_SHOWN])
    more = f" and {len(losses) - _SHOWN} more" if len(losses) > _SHOWN else ""
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


def _is_in_backup(loss: Loss, *, folder: Path) -> bool:
    if loss.store == CHECKPOINTS:
        return CheckpointStore(folder / CHECKPOINTS).is_whole(loss.digest)
    try:
        LocalStore(folder / loss.store, durable=True).get(loss.digest)
    except (ObjectMissingError, ObjectDamagedError):
        return False
    return True


Report = Callable[[str], object]
"""Receives a line for the operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InQuarantine:
    """A damaged file of one of the site's stores."""

    store: str
    file: Quarantined
    is_repaired: bool
    """Whether the store has a good copy again."""


def check_stores(*, report: Report) -> None:
    """Read all objects of the site's stores, while the site runs, and move damaged ones into quarantine."""
    for name in STORES:
        store, read, damaged = site_store(name), 0, 0
        for digest in store.digests():
            try:
                store.get(digest)
            except ObjectDamagedError:
                damaged += 1
            except ObjectMissingError:
                continue
            read += 1
        report(f"Store {name}: {read} objects read, {damaged} damaged.")
    checkpoints = checkpoint_store()
    digests = checkpoints.digests()
    broken = [digest for digest in digests if not checkpoints.is_whole(digest)]
    for digest in broken:
        checkpoints.set_aside(digest=digest, reason="has another digest, or cannot be read")
    report(f"Uploaded checkpoints: {len(digests)} read, {len(broken)} damaged.")


def repair_stores(*, folder: Path, report: Report) -> None:
    """Copy missing objects of the site's stores from a backup, and verify each copy against its digest.

    Before: the folder has a backup; damaged objects are in quarantine (`check_stores`).
    After: the stores have all good objects of the backup. No object was replaced, and damaged files stay in quarantine.

    Raises:
        BackupError: the folder has no backup.
    """
    if not any((folder / name).is_dir() for name in (*STORES, CHECKPOINTS)):
        raise BackupError(f"{folder} has no backup: it has none of the folders {', '.join((*STORES, CHECKPOINTS))}.")
    for name in STORES:
        store = site_store(name)
        readable = store.recover()
        copied = copy_objects(source=LocalStore(folder / name, durable=True), target=store)
        report(f"Store {name}: {copied.new + readable} objects put back.{_damage(copied.damaged)}")
    # Checkpoints that were removed because they were not submitted are not restored.
    submitted = set(CheckpointUpload.objects.values_list("digest", flat=True))
    copied = copy_checkpoints(source=CheckpointStore(folder / CHECKPOINTS), target=checkpoint_store(), only=submitted)
    report(f"Uploaded checkpoints: {copied.new} put back.{_damage(copied.damaged)}")


def quarantined() -> list[InQuarantine]:
    """Damaged files of all stores, the newest first."""
    entries = [
        InQuarantine(store=name, file=file, is_repaired=store.has(file.digest))
        for name, store in ((name, site_store(name)) for name in STORES)
        for file in store.quarantine.entries()
    ]
    checkpoints = checkpoint_store()
    entries += [
        InQuarantine(store=CHECKPOINTS, file=file, is_repaired=bool(checkpoints.size(file.digest)))
        for file in checkpoints.quarantined()
    ]
    return sorted(entries, key=lambda entry: entry.file.at, reverse=True)


def _damage(digests: list[str]) -> str:
    return f" Damaged in the backup: {', '.join(digests[:10])}." if digests else ""
