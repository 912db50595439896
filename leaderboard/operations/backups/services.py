"""Backups: a folder with dumps of the database, objects and uploaded checkpoints, and `backup.json`, written last.

Objects are copied before the dump and again after it: what the dump names was there at first or is too new for garbage
collection. A backup into the same folder copies only what is new.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from evaluator.core.private_files import private_folder
from evaluator.core.provenance import code_version
from evaluator.execution.engine.files import flush, write_atomically
from evaluator.execution.engine.store import LocalStore, ObjectDamagedError, ObjectMissingError
from evaluator.execution.experts.weights import file_digest
from leaderboard.operations.backups import database
from leaderboard.operations.backups.database import BackupError
from leaderboard.operations.backups.losses import CHECKPOINTS, STORES, Loss, described, losses, site_store, still_lost
from leaderboard.operations.backups.objects import Copied, copy_checkpoints, copy_objects
from leaderboard.planners.checkpoint_stores import CheckpointStore
from leaderboard.planners.checkpoints import checkpoint_store
from leaderboard.platform.hooks import Hook

MANIFEST = "backup.json"
INCOMPLETE_MANIFEST = "incomplete.json"
_WHOLE, _INCOMPLETE = "database-", "incomplete-"
"""How names of dumps begin: of backups that hold all that the dump names, and of others."""
_DUMP_NAME = re.compile(r"(database|incomplete)-[0-9TZ]+\.dump")
_VERSION = "backup/1"
backed_up: Hook[Path] = Hook()
"""Called with the folder of a whole backup that has been made."""
_CHUNK = 1 << 20
_PRIVATE_FILE = 0o600


def back_up(*, folder: Path, keep: int, allow_missing: bool = False) -> dict[str, Any]:
    """Make a backup and return its manifest. The site may go on meanwhile.

    Before: nothing; the folder may hold earlier backups.
    After: `backup.json` names a complete dump and the folder holds every object that it needs; or the folder's last
    whole backup is untouched, and `incomplete.json` names the new dump, which `restore` takes only on demand.

    Args:
        folder: made if it is not there.
        keep: how many dumps stay, of whole backups and of incomplete ones.
        allow_missing: whether a backup counts as whole although objects are in no store and not in the folder. They
            are listed in its manifest.

    Raises:
        BackupError: it could not be made, or the site has lost objects; what could be copied was.
    """
    # Password hashes, the secrets of webhooks and hidden data: for nobody else on this machine.
    for private in (folder, folder / "hidden"):
        private_folder(private)
    copied = _copied(folder)
    dump = _dump(folder)
    for name, later in _copied(folder).items():
        copied[name].add(later)
    copied[CHECKPOINTS] = copy_checkpoints(source=checkpoint_store(), target=CheckpointStore(folder / CHECKPOINTS))
    damaged = {Loss(store=name, digest=digest) for name, one in copied.items() for digest in one.damaged}
    lost = losses()
    named = {(loss.store, loss.digest) for loss in lost}
    lost = sorted([*lost, *(loss for loss in damaged if (loss.store, loss.digest) not in named)])
    missing = still_lost(lost, folder=folder)
    whole = not missing or allow_missing
    if whole:
        dump = dump.rename(dump.with_name(dump.name.replace(_INCOMPLETE, _WHOLE, 1)))
    manifest = _manifest(dump=dump, copied=copied, missing=missing)
    target = folder / (MANIFEST if whole else INCOMPLETE_MANIFEST)
    write_atomically([(target, (json.dumps(manifest, indent=1) + "\n").encode())], durable=True)
    _forget_old_dumps(folder=folder, keep=keep, whole=whole)
    if whole:
        backed_up.call(folder)
    if lost and not allow_missing:
        raise BackupError(_losses_sentence(lost=lost, missing=missing, folder=folder))
    return manifest


def _copied(folder: Path) -> dict[str, Copied]:
    return {
        name: copy_objects(source=site_store(name), target=LocalStore(folder / name, durable=True)) for name in STORES
    }


def _losses_sentence(*, lost: Sequence[Loss], missing: Sequence[Loss], folder: Path) -> str:
    sentences = [f"The site's stores have lost {described(lost)}."]
    if len(missing) < len(lost):
        found = len(lost) - len(missing)
        these = f"{found} of them" if missing else "them" if found > 1 else "it"
        sentences.append(f"This backup has {these}: repair the store with `repair_store --from {folder}`.")
    if not missing:
        sentences.append("The backup is whole.")
        return " ".join(sentences)
    last = _made(folder)
    sentences.append(
        f"The backup lacks {described(missing)}; everything else is in it. "
        f"{f'The last whole backup, of {last}, is kept.' if last else 'There is no whole backup in this folder.'} "
        "Repair the store from another backup, or accept the loss with --allow-missing."
    )
    return " ".join(sentences)


def _made(folder: Path) -> str:
    try:
        return str(_read_manifest(folder / MANIFEST)["made"])
    except (BackupError, KeyError):
        return ""


def restore(*, folder: Path, report: Callable[[str], object], incomplete: bool = False) -> "Restored":
    """Make the database and the stores again from a folder's last backup, telling of each step.

    Before: the database is empty; the stores may hold anything.
    After: both hold what the backup does. Objects that were in the stores already stay.

    Args:
        folder: of the backup.
        report: takes a line for the operator after each step.
        incomplete: whether to take the last backup that lacks objects, instead of the last whole one.

    Raises:
        BackupError: there is no such backup, or the database is not empty; the database was not changed.
    """
    manifest = _read_manifest(folder / (INCOMPLETE_MANIFEST if incomplete else MANIFEST))
    dump = folder / manifest["dump"]["name"]
    if not dump.is_file() or _digest(dump) != manifest["dump"]["sha256"]:
        raise BackupError(f"{dump} is not the dump that its manifest names: it is missing, cut off or changed.")
    database.restore(source=dump)
    report(f"The database is that of {manifest['made']}.")
    damaged: list[Loss] = []
    for name in STORES:
        copied = copy_objects(source=LocalStore(folder / name, durable=True), target=site_store(name))
        report(f"Store {name}: {copied.new} objects copied, {copied.there} were there.")
        damaged += (Loss(store=name, digest=digest) for digest in copied.damaged)
    copied = copy_checkpoints(source=CheckpointStore(folder / CHECKPOINTS), target=checkpoint_store())
    report(f"Uploaded checkpoints: {copied.new} copied, {copied.there} were there.")
    damaged += (Loss(store=CHECKPOINTS, digest=digest) for digest in copied.damaged)
    known = frozenset((str(one["store"]), str(one["digest"])) for one in manifest.get("missing", ()))
    return Restored(damaged=damaged, missing_before=known)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What a restore could not bring back."""

    damaged: Sequence[Loss]
    """Objects of the backup whose bytes have another digest."""
    missing_before: frozenset[tuple[str, str]]
    """Store and digest of what was lost already when the backup was made."""

    def newly_lost(self) -> list[Loss]:
        """What the restored site lacks although the backup should have it. Needs tables of this release."""
        return [loss for loss in losses() if (loss.store, loss.digest) not in self.missing_before]


def check(folder: Path, *, report: Callable[[str], None]) -> None:
    """Read a whole backup: its dump, and every object and checkpoint in the folder.

    Raises:
        BackupError: there is no whole backup, or something in it is damaged or missing; all of that is reported.
    """
    manifest = _read_manifest(folder / MANIFEST)
    dump = folder / manifest["dump"]["name"]
    problems = []
    if not dump.is_file():
        problems.append(f"{dump.name} is missing")
    elif _digest(dump) != manifest["dump"]["sha256"]:
        problems.append(f"{dump.name} is damaged: its SHA-256 is not the one in {MANIFEST}")
    else:
        report(f"{dump.name}: {database.tables_in(dump)} tables with data")
    for name in STORES:
        # Damaged ones are moved into its quarantine, so that the next backup copies them again.
        store = LocalStore(folder / name, durable=True)
        digests = list(store.digests())
        problems += [f"{name}/{digest} is damaged" for digest in digests if not _is_whole(store, digest)]
        counted = manifest["objects"][name]
        if len(digests) < (least := counted["new"] + counted["there"]):
            problems.append(f"{name} has {len(digests)} objects, and {MANIFEST} counts {least}")
        report(f"{name}: {len(digests)} objects")
    checkpoints = CheckpointStore(folder / CHECKPOINTS)
    for digest in (found := list(checkpoints.digests())):
        with checkpoints.local(digest) as path:
            problems += [] if file_digest(path) == digest else [f"{CHECKPOINTS}/{digest} is damaged"]
    report(f"{CHECKPOINTS}: {len(found)} files")
    for problem in problems:
        report(problem)
    if problems:
        count = f"{len(problems)} problem{'' if len(problems) == 1 else 's'}"
        raise BackupError(f"{count} in the backup in {folder}: do not rely on it; make another one.")


def _is_whole(store: LocalStore, digest: str) -> bool:
    try:
        store.get(digest)
    except (ObjectDamagedError, ObjectMissingError):
        return False
    return True


def _dump(folder: Path) -> Path:
    stamp = timezone.now().strftime("%Y%m%dT%H%M%S%fZ")
    # Whole only when the objects are there, too.
    target = folder / f"{_INCOMPLETE}{stamp}.dump"
    partial = target.with_suffix(".partial")
    try:
        partial.touch(mode=_PRIVATE_FILE)
        database.dump(target=partial)
        flush(partial)
        partial.replace(target)
        flush(folder)
    finally:
        partial.unlink(missing_ok=True)
    return target


def _manifest(*, dump: Path, copied: Mapping[str, Copied], missing: Sequence[Loss]) -> dict[str, Any]:
    commit, dirty = code_version()
    return {
        "version": _VERSION,
        "made": timezone.now().isoformat(timespec="seconds"),
        "release": {"commit": commit, "dirty": dirty},
        "migrations": _migrations(),
        "dump": {"name": dump.name, "bytes": dump.stat().st_size, "sha256": _digest(dump)},
        "objects": {
            name: {"new": one.new, "new_bytes": one.new_bytes, "there": one.there} for name, one in copied.items()
        },
        "missing": [{"store": loss.store, "digest": loss.digest} for loss in missing],
    }


def _migrations() -> dict[str, str]:
    """The last migration of each app."""
    applied = MigrationRecorder.Migration.objects.order_by("app", "id").values_list("app", "name")
    return dict(applied)


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        other = path.with_name(INCOMPLETE_MANIFEST)
        hint = f" There is {other.name}: restore it with --incomplete." if other.exists() else ""
        raise BackupError(f"{path.parent} holds no whole backup: there is no {path.name}.{hint}") from None
    except ValueError as error:
        raise BackupError(f"{path} is no JSON: {error}.") from error
    version = manifest.get("version") if isinstance(manifest, dict) else None
    if version != _VERSION:
        raise BackupError(f"{path} has the version {version!r}; this release reads {_VERSION!r}.")
    dump = manifest.get("dump")
    if not isinstance(dump, dict) or not _DUMP_NAME.fullmatch(str(dump.get("name"))) or "sha256" not in dump:
        raise BackupError(f"{path} names no dump of this folder under `dump`: it was cut off or changed.")
    return manifest


def _forget_old_dumps(*, folder: Path, keep: int, whole: bool) -> None:
    """A whole backup replaces the oldest whole one and all incomplete ones; an incomplete one only its like."""
    # Their names are their times. Objects stay: the dumps that are kept may need them.
    incomplete = sorted(folder.glob(f"{_INCOMPLETE}*.dump"))
    old = [*sorted(folder.glob(f"{_WHOLE}*.dump"))[:-keep], *incomplete] if whole else incomplete[:-keep]
    if whole:
        old.append(folder / INCOMPLETE_MANIFEST)
    for path in [*old, *folder.glob(f"{_WHOLE}*.partial"), *folder.glob(f"{_INCOMPLETE}*.partial")]:
        path.unlink(missing_ok=True)


def _digest(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            found.update(chunk)
    return found.hexdigest()
