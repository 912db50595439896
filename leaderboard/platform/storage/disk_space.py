"""Full disks: recognised where a write fails, and looked for on the volumes that this process writes to.

A write that fails leaves nothing behind and is answered with 503 and the code `disk_full`, for which clients try again
and workers keep their results (`gpu_jobs/client.py`).
"""

import errno
import logging
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import psycopg
from django.conf import settings

from leaderboard.platform.problems import ProblemError

logger = logging.getLogger(__name__)

RETRY_SECONDS = 15
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_NOTED_SECONDS = 60.0
"""For so long a failed write counts, on a disk that seems to have room: a quota shows in no other way, and neither does
the disk of a database server."""
_OTHER = "disk"
_failed: dict[str, float] = {}
"""When a write of this process last failed, by volume, on the monotonic clock."""


class DiskFullError(ProblemError):
    """A write failed for want of room; nothing was changed."""

    status = 503
    code = "disk_full"

    def __init__(self) -> None:
        super().__init__("The site's disk is full: nothing was stored. Try again later; the operator must make room.")

    def headers(self) -> Mapping[str, str]:
        return {"Retry-After": str(RETRY_SECONDS)}


def is_disk_full(error: BaseException) -> bool:
    """Whether an exception, or what caused it, is a write for which there was no room."""
    return any(
        (isinstance(one, OSError) and one.errno in _FULL) or isinstance(one, psycopg.errors.DiskFull)
        for one in chain(error)
    )


def note_failure(error: BaseException) -> None:
    """Remember and log a write that failed for want of room."""
    volume = next((found for one in chain(error) if (found := _volume_of(one))), _OTHER)
    _failed[volume] = time.monotonic()
    logger.error("disk full (%s): %s", volume, error)


def full_volumes() -> list[str]:
    """The volumes without room, in order: `store`, `uploads`, `database`, or `disk` where it is not known which.

    A volume has no room if less than `DISK_RESERVE_BYTES` are free, or if a write of this process failed within the
    last minute.
    """
    since = time.monotonic() - _NOTED_SECONDS
    failed = {volume for volume, at in _failed.items() if at > since}
    return sorted(failed | {name for name, folder in volumes().items() if not _has_room(folder)})


def volumes() -> Mapping[str, Path]:
    """Folders that the site writes to, by name. The database is among them if the site runs it itself."""
    found = {"store": Path(settings.STORE_DIR), "uploads": Path(settings.UPLOADS_DIR)}
    database = Path(settings.DATA_DIR) / "postgres"
    return found | {"database": database} if database.is_dir() else found


def free_bytes(folder: Path) -> int:
    """Bytes that may still be written to a folder's volume; 0 without a free inode. The folder need not exist yet.

    Raises:
        OSError: the volume does not answer.
    """
    there = next(path for path in (folder, *folder.parents) if path.exists())
    found = os.statvfs(there)
    # Some file systems do not count inodes.
    return 0 if found.f_files and not found.f_favail else found.f_bavail * found.f_frsize


def _has_room(folder: Path) -> bool:
    try:
        return free_bytes(folder) >= settings.DISK_RESERVE_BYTES
    except OSError:
        return True


def _volume_of(error: BaseException) -> str:
    if isinstance(error, psycopg.errors.DiskFull):
        return "database"
    name = getattr(error, "filename", None)
    if not isinstance(error, OSError) or not isinstance(name, str):
        return ""
    return next((volume for volume, folder in volumes().items() if Path(name).is_relative_to(folder)), "")


def chain(error: BaseException) -> Iterator[BaseException]:
    """An exception and what caused it."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or one.__context__
