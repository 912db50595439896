"""Detection of full disks, by failed writes and by the free space of the volumes that this process writes to.

Failed requests store nothing and are answered with 503 and the code `disk_full`, upon which clients retry and workers
keep their results (`gpu_jobs/client.py`).
"""

import errno
import logging
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import psycopg
from django.conf import settings

from leaderboard.platform.problems import ProblemError

logger = logging.getLogger(__name__)

RETRY_SECONDS = 15
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_NOTED_SECONDS = 60.0
"""How long a failed write counts if the disk seems to have room: quotas, and the disk of a database server, cannot be
detected otherwise."""
_OTHER = "disk"
_failed: dict[str, float] = {}
"""Monotonic time of this process's last failed write, by volume."""


class DiskFullError(ProblemError):
    """A write failed because the disk is full; nothing was changed."""

    status = 503
    code = "disk_full"

    def __init__(self) -> None:
        super().__init__("The site's disk is full: nothing was stored. Try again later; the operator must free space.")

    def headers(self) -> Mapping[str, str]:
        return {"Retry-After": str(RETRY_SECONDS)}


def is_disk_full(error: BaseException) -> bool:
    """Whether an exception or one of its causes is a write to a full disk."""
    return any(
        (isinstance(cause, OSError) and cause.errno in _FULL) or isinstance(cause, psycopg.errors.DiskFull)
        for cause in chain(error)
    )


def note_failure(error: BaseException) -> None:
    """Record and log a write that failed because the disk is full."""
    volume = next((name for cause in chain(error) if (name := _volume_of(cause))), _OTHER)
    _failed[volume] = time.monotonic()
    logger.error("disk full (%s): %s", volume, error)


def full_volumes() -> list[str]:
    """The full volumes in alphabetical order: `store`, `uploads`, `database`, or `disk` if it is unknown which.

    A volume is full if less than `DISK_RESERVE_BYTES` are free, or if a write of this process failed within the last
    minute.
    """
    since = time.monotonic() - _NOTED_SECONDS
    full = {volume for volume, at in _failed.items() if at > since}
    for name, folder in volumes().items():
        with suppress(OSError):
            if free_bytes(folder) < settings.DISK_RESERVE_BYTES:
                full.add(name)
    return sorted(full)


def volumes() -> Mapping[str, Path]:
    """Folders that the site writes to, by name; includes the database if the site runs it."""
    folders = {"store": Path(settings.STORE_DIR), "uploads": Path(settings.UPLOADS_DIR)}
    database = Path(settings.DATA_DIR) / "postgres"
    return folders | {"database": database} if database.is_dir() else folders


def free_bytes(folder: Path) -> int:
    """Free bytes on a folder's volume; 0 without a free inode. The folder need not exist yet.

    Raises:
        OSError: the volume does not answer.
    """
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    volume = os.statvfs(existing)
    # Some file systems do not count inodes.
    return 0 if volume.f_files and not volume.f_favail else volume.f_bavail * volume.f_frsize


def _volume_of(error: BaseException) -> str:
    if isinstance(error, psycopg.errors.DiskFull):
        return "database"
    name = getattr(error, "filename", None)
    if not isinstance(error, OSError) or not isinstance(name, str):
        return ""
    return next((volume for volume, folder in volumes().items() if Path(name).is_relative_to(folder)), "")


def chain(error: BaseException) -> Iterator[BaseException]:
    """An exception and its causes."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__
