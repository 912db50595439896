"""Reading every object of the site's stores, and putting back from a backup what is damaged or gone."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from evaluator.execution.engine.quarantine import Quarantined
from evaluator.execution.engine.store import DurableStore, LocalStore, ObjectDamagedError, ObjectMissingError
from leaderboard.operations.backups.database import BackupError
from leaderboard.operations.backups.losses import CHECKPOINTS, STORES, site_store
from leaderboard.operations.backups.objects import copy_checkpoints, copy_objects
from leaderboard.planners.checkpoint_stores import CheckpointStore
from leaderboard.planners.checkpoints import checkpoint_store
from leaderboard.planners.models import CheckpointUpload

Report = Callable[[str], object]
"""Takes a line for the operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InQuarantine:
    """A damaged file of one of the site's stores."""

    store: str
    file: Quarantined
    is_repaired: bool
    """Whether the store has a good copy again."""


def check_stores(*, report: Report) -> None:
    """Read all that the site's stores hold, and move what is damaged into their quarantine.

    Takes as long as reading every byte does. The site may go on meanwhile.
    """
    for name in STORES:
        read, damaged = _check(site_store(name))
        report(f"Store {name}: {read} objects read, {damaged} damaged.")
    checkpoints = checkpoint_store()
    digests = checkpoints.digests()
    broken = [digest for digest in digests if not checkpoints.is_whole(digest)]
    for digest in broken:
        checkpoints.set_aside(digest=digest, reason="has another digest, or cannot be read")
    report(f"Uploaded checkpoints: {len(digests)} read, {len(broken)} damaged.")


def repair_stores(*, folder: Path, report: Report) -> None:
    """Put back what the site's stores lack and a backup has. Each object is checked against its digest on the way.

    Before: the folder holds a backup; what is damaged is in quarantine (`check_stores`).
    After: the stores hold all good objects of the backup. Nothing in them was replaced, and the damaged files stay in
    quarantine.

    Raises:
        BackupError: the folder holds no backup.
    """
    if not any((folder / name).is_dir() for name in (*STORES, CHECKPOINTS)):
        raise BackupError(f"{folder} holds no backup: it has none of the folders {', '.join((*STORES, CHECKPOINTS))}.")
    for name in STORES:
        store = site_store(name)
        readable = store.recover()
        copied = copy_objects(source=LocalStore(folder / name, durable=True), target=store)
        report(f"Store {name}: {copied.new + readable} objects put back.{_damage(copied.damaged)}")
    # What was removed because nobody submitted it is not brought back.
    wanted = set(CheckpointUpload.objects.values_list("digest", flat=True))
    copied = copy_checkpoints(source=CheckpointStore(folder / CHECKPOINTS), target=checkpoint_store(), only=wanted)
    report(f"Uploaded checkpoints: {copied.new} put back.{_damage(copied.damaged)}")


def quarantined() -> list[InQuarantine]:
    """Damaged files of all stores, the newest first."""
    found = [
        InQuarantine(store=name, file=file, is_repaired=store.has(file.digest))
        for name, store in ((name, site_store(name)) for name in STORES)
        for file in store.quarantine.entries()
    ]
    checkpoints = checkpoint_store()
    found += [
        InQuarantine(store=CHECKPOINTS, file=file, is_repaired=bool(checkpoints.size(file.digest)))
        for file in checkpoints.quarantined()
    ]
    return sorted(found, key=lambda one: one.file.at, reverse=True)


def _check(store: DurableStore) -> tuple[int, int]:
    read = damaged = 0
    for digest in store.digests():
        try:
            store.get(digest)
        except ObjectDamagedError:
            damaged += 1
        except ObjectMissingError:
            continue
        read += 1
    return read, damaged


def _damage(digests: list[str]) -> str:
    return f" Damaged in the backup: {', '.join(digests[:10])}." if digests else ""
