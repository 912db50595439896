"""Backups: a folder with dumps of the database, objects and uploaded checkpoints, and `backup.json`, written last.

Objects are copied before the dump and again after it, so that none that the dump refers to is missed: garbage
collection keeps new objects. Later backups into the same folder copy only new objects.
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
from leaderboard.operations.backups.objects import (
    CHECKPOINTS,
    STORES,
    Copied,
    Loss,
    copy_checkpoints,
    copy_objects,
    described,
    losses,
    site_store,
    still_lost,
)
from leaderboard.planners.checkpoint_stores import CheckpointStore
from leaderboard.planners.checkpoints import checkpoint_store
from leaderboard.platform.hooks import Hook

MANIFEST = "backup.json"
INCOMPLETE_MANIFEST = "incomplete.json"
_WHOLE, _INCOMPLETE = "database-", "incomplete-"
"""Prefixes of dumps, for backups with all objects of the dump and for others."""
_DUMP_NAME = re.compile(r"(database|incomplete)-[0-9TZ]+\.dump")
_VERSION = "backup/1"
backed_up: Hook[Path] = Hook()
"""Called with the folder of each new whole backup."""
_PRIVATE_FILE = 0o600


def back_up(*, folder: Path, keep: int, allow_missing: bool = False) -> dict[str, Any]:
    """Make a backup while the site runs, and return its manifest.

    Before: nothing; the folder may have earlier backups. After: `backup.json` names a complete dump and the folder has
    all of its objects; or the folder's last whole backup is unchanged, and `incomplete.json` names the new dump, which
    `restore` uses only with `incomplete`.

    Args:
        folder: created if it does not exist.
        keep: number of dumps to keep, of whole backups and of incomplete ones.
        allow_missing: whether a backup counts as whole although the stores and the folder lack objects, which its
            manifest then lists.

    Raises:
        BackupError: it failed, or the site has lost objects; all available objects were copied.
    """
    # Private, because backups have password hashes, the secrets of webhooks and hidden data.
    for private in (folder, folder / "hidden"):
        private_folder(private)
    copied = _copied(folder)
    dump = _dump(folder)
    for name, later in _copied(folder).items():
        copied[name].add(later)
    copied[CHECKPOINTS] = copy_checkpoints(source=checkpoint_store(), target=CheckpointStore(folder / CHECKPOINTS))
    damaged = {Loss(store=name, digest=digest) for name, result in copied.items() for digest in result.damaged}
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
        available = len(lost) - len(missing)
        these = f"{available} of them" if missing else "them" if available > 1 else "it"
        sentences.append(f"This backup has {these}: repair the store with `repair_store --from {folder}`.")
    if not missing:
        sentences.append("The backup is whole.")
        return " ".join(sentences)
    try:
        last = f"The last whole backup, of {_read_manifest(folder / MANIFEST)['made']}, is kept."
    except (BackupError, KeyError):
        last = "There is no whole backup in this folder."
    sentences.append(
        f"The backup lacks {described(missing)}; everything else is in it. {last} Repair the store from another "
        "backup, or accept the loss with --allow-missing."
    )
    return " ".join(sentences)


def restore(*, folder: Path, report: Callable[[str], object], incomplete: bool = False) -> "Restored":
    """Restore the database and the stores from a folder's last backup, reporting each step.

    Before: the database is empty; the stores may have objects.
    After: both have the contents of the backup. Objects that were already in the stores remain.

    Args:
        folder: of the backup.
        report: receives a line for the operator after each step.
        incomplete: whether to use the last incomplete backup instead of the last whole one.

    Raises:
        BackupError: there is no such backup, or the database is not empty; the database was not changed.
    """
    manifest = _read_manifest(folder / (INCOMPLETE_MANIFEST if incomplete else MANIFEST))
    dump = folder / manifest["dump"]["name"]
    if not dump.is_file() or _digest(dump) != manifest["dump"]["sha256"]:
        raise BackupError(f"{dump} is not the dump in its manifest: it is missing, truncated or changed.")
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
    known = frozenset((str(loss["store"]), str(loss["digest"])) for loss in manifest.get("missing", ()))
    return Restored(damaged=damaged, missing_before=known)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """Objects that a restore could not bring back."""

    damaged: Sequence[Loss]
    """Corrupt objects of the backup."""
    missing_before: frozenset[tuple[str, str]]
    """Store and digest of objects that were lost before the backup was made."""

    def newly_lost(self) -> list[Loss]:
        """Objects that the restored site lacks although the backup should have them. Needs tables of this release."""
        return [loss for loss in losses() if (loss.store, loss.digest) not in self.missing_before]


def check(folder: Path, *, report: Callable[[str], None]) -> None:
    """Verify a whole backup: its dump, and every object and checkpoint in the folder.

    Raises:
        BackupError: there is no whole backup, or parts of it are damaged or missing, all of which are reported.
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
        # Damaged objects are moved into quarantine, so that the next backup copies them again.
        store = LocalStore(folder / name, durable=True)
        digests = list(store.digests())
        for digest in digests:
            try:
                store.get(digest)
            except (ObjectDamagedError, ObjectMissingError):
                problems.append(f"{name}/{digest} is damaged")
        counted = manifest["objects"][name]
        if len(digests) < (least := counted["new"] + counted["there"]):
            problems.append(f"{name} has {len(digests)} objects, and {MANIFEST} counts {least}")
        report(f"{name}: {len(digests)} objects")
    checkpoints = CheckpointStore(folder / CHECKPOINTS)
    for digest in (digests := list(checkpoints.digests())):
        with checkpoints.local(digest) as path:
            problems += [] if file_digest(path) == digest else [f"{CHECKPOINTS}/{digest} is damaged"]
    report(f"{CHECKPOINTS}: {len(digests)} files")
    for problem in problems:
        report(problem)
    if problems:
        count = f"{len(problems)} problem{'' if len(problems) == 1 else 's'}"
        raise BackupError(f"{count} in the backup in {folder}: do not rely on it; make another one.")


def _dump(folder: Path) -> Path:
    stamp = timezone.now().strftime("%Y%m%dT%H%M%S%fZ")
    # Renamed once all objects are copied.
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
    applied = MigrationRecorder.Migration.objects.order_by("app", "id").values_list("app", "name")
    return {
        "version": _VERSION,
        "made": timezone.now().isoformat(timespec="seconds"),
        "release": {"commit": commit, "dirty": dirty},
        # The last migration of each app.
        "migrations": dict(applied),
        "dump": {"name": dump.name, "bytes": dump.stat().st_size, "sha256": _digest(dump)},
        "objects": {
            name: {"new": result.new, "new_bytes": result.new_bytes, "there": result.there}
            for name, result in copied.items()
        },
        "missing": [{"store": loss.store, "digest": loss.digest} for loss in missing],
    }


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        other = path.with_name(INCOMPLETE_MANIFEST)
        hint = f" There is {other.name}: restore it with --incomplete." if other.exists() else ""
        raise BackupError(f"{path.parent} has no whole backup: there is no {path.name}.{hint}") from None
    except ValueError as error:
        raise BackupError(f"{path} is not JSON: {error}.") from error
    version = manifest.get("version") if isinstance(manifest, dict) else None
    if version != _VERSION:
        raise BackupError(f"{path} has the version {version!r}; this release reads {_VERSION!r}.")
    dump = manifest.get("dump")
    if not isinstance(dump, dict) or not _DUMP_NAME.fullmatch(str(dump.get("name"))) or "sha256" not in dump:
        raise BackupError(f"{path} names no dump of this folder under `dump`: it was truncated or changed.")
    return manifest


def _forget_old_dumps(*, folder: Path, keep: int, whole: bool) -> None:
    """A whole backup replaces the oldest whole ones and all incomplete ones; an incomplete one only incomplete ones."""
    # Names sort by time. Objects stay, because other dumps may need them.
    incomplete = sorted(folder.glob(f"{_INCOMPLETE}*.dump"))
    old = [*sorted(folder.glob(f"{_WHOLE}*.dump"))[:-keep], *incomplete] if whole else incomplete[:-keep]
    if whole:
        old.append(folder / INCOMPLETE_MANIFEST)
    for path in [*old, *folder.glob(f"{_WHOLE}*.partial"), *folder.glob(f"{_INCOMPLETE}*.partial")]:
        path.unlink(missing_ok=True)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
