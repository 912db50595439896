"""Backups: a folder with dumps of the database, objects and uploaded checkpoints, and `backup.json`, written last.

The dump is made before the objects are copied: objects are only ever added, so that all which the dump names are among
those copied after it. A backup into the same folder copies only what is new.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import QuerySet
from django.utils import timezone

from evaluator.engine.store import LocalStore
from evaluator.provenance import code_version
from leaderboard.backups import database
from leaderboard.backups.database import BackupError
from leaderboard.backups.objects import Copied, copy_checkpoints, copy_objects
from leaderboard.evaluations.conditions import HIDDEN_SPLIT
from leaderboard.evaluations.models import TaskResult
from leaderboard.evaluations.objects import server_store
from leaderboard.planners.checkpoints import CheckpointStore, checkpoint_store

STORES = ("public", "hidden")
CHECKPOINTS = "checkpoints"
MANIFEST = "backup.json"
_DUMP_NAME = re.compile(r"database-[0-9TZ]+\.dump")
_VERSION = "backup/1"
_CHUNK = 1 << 20
_PRIVATE_FOLDER, _PRIVATE_FILE = 0o700, 0o600


def back_up(*, folder: Path, keep: int) -> dict[str, Any]:
    """Make a backup and return its manifest. The site may go on meanwhile.

    Before: nothing; the folder may hold earlier backups.
    After: `backup.json` names a complete dump and the folder holds every object that it needs; or the folder's last
    backup is still whole.

    Raises:
        BackupError: it could not be made, or objects are damaged; what could be copied was.
    """
    # Password hashes, the secrets of webhooks and hidden data: for nobody else on this machine.
    for private in (folder, folder / "hidden"):
        private.mkdir(parents=True, exist_ok=True, mode=_PRIVATE_FOLDER)
    dump = _dump(folder)
    copied = {
        name: copy_objects(source=LocalStore(settings.STORE_DIR / name), target=LocalStore(folder / name))
        for name in STORES
    }
    copied[CHECKPOINTS] = copy_checkpoints(source=checkpoint_store(), target=CheckpointStore(folder / CHECKPOINTS))
    manifest = _manifest(dump=dump, copied=copied)
    _write_manifest(folder=folder, manifest=manifest)
    _forget_old_dumps(folder=folder, keep=keep)
    if damaged := [digest for one in copied.values() for digest in one.damaged]:
        raise BackupError(
            f"{len(damaged)} objects of the store are damaged, and the backup lacks them: {', '.join(damaged[:10])}. "
            "Everything else is in it."
        )
    return manifest


def restore(*, folder: Path) -> Iterator[str]:
    """Make the database and the stores again from a folder's last backup, telling of each step.

    Before: the database is empty; the stores may hold anything.
    After: both hold what the backup does. Objects that were in the stores already stay.

    Raises:
        BackupError: there is no whole backup, or the database is not empty; the database was not changed.
    """
    manifest = _read_manifest(folder)
    dump = folder / manifest["dump"]["name"]
    if not dump.is_file() or _digest(dump) != manifest["dump"]["sha256"]:
        raise BackupError(f"{dump} is not the dump that {MANIFEST} names: it is missing, cut off or changed.")
    database.restore(source=dump)
    yield f"The database is that of {manifest['made']}."
    for name in STORES:
        copied = copy_objects(source=LocalStore(folder / name), target=LocalStore(settings.STORE_DIR / name))
        yield f"Store {name}: {copied.new} objects copied, {copied.there} were there."
        if copied.damaged:
            raise BackupError(f"The backup's objects {', '.join(copied.damaged[:10])} are damaged.")
    copied = copy_checkpoints(source=CheckpointStore(folder / CHECKPOINTS), target=checkpoint_store())
    yield f"Uploaded checkpoints: {copied.new} copied, {copied.there} were there."
    if copied.damaged:
        raise BackupError(f"The backup's checkpoints {', '.join(copied.damaged[:10])} are damaged.")


def missing_records() -> list[str]:
    """Digests of records that results name and no store has. Empty after a whole restore."""
    results: QuerySet[TaskResult] = TaskResult.objects.exclude(record_digest="")
    found = results.values_list("record_digest", "evaluation__split").distinct()
    public, hidden = server_store(split=""), server_store(split=HIDDEN_SPLIT)
    return [
        digest for digest, split in found.iterator() if not (hidden if split == HIDDEN_SPLIT else public).has(digest)
    ]


def _dump(folder: Path) -> Path:
    stamp = timezone.now().strftime("%Y%m%dT%H%M%S%fZ")
    target = folder / f"database-{stamp}.dump"
    partial = target.with_suffix(".partial")
    try:
        partial.touch(mode=_PRIVATE_FILE)
        database.dump(target=partial)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return target


def _manifest(*, dump: Path, copied: Mapping[str, Copied]) -> dict[str, Any]:
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
    }


def _migrations() -> dict[str, str]:
    """The last migration of each app."""
    applied = MigrationRecorder.Migration.objects.order_by("app", "id").values_list("app", "name")
    return dict(applied)


def _write_manifest(*, folder: Path, manifest: Mapping[str, Any]) -> None:
    partial = folder / f"{MANIFEST}.partial"
    partial.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    partial.replace(folder / MANIFEST)


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BackupError(f"{folder} holds no backup: there is no {MANIFEST}.") from None
    except ValueError as error:
        raise BackupError(f"{path} is no JSON: {error}.") from error
    version = manifest.get("version") if isinstance(manifest, dict) else None
    if version != _VERSION:
        raise BackupError(f"{path} has the version {version!r}; this release reads {_VERSION!r}.")
    dump = manifest.get("dump")
    if not isinstance(dump, dict) or not _DUMP_NAME.fullmatch(str(dump.get("name"))) or "sha256" not in dump:
        raise BackupError(f"{path} names no dump of this folder under `dump`: it was cut off or changed.")
    return manifest


def _forget_old_dumps(*, folder: Path, keep: int) -> None:
    # Their names are their times. Objects stay: the dumps that are kept may need them.
    killed = folder.glob("database-*.partial")
    for path in [*sorted(folder.glob("database-*.dump"))[:-keep], *killed]:
        path.unlink(missing_ok=True)


def _digest(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            found.update(chunk)
    return found.hexdigest()
