"""Files and folders that nobody else on the machine may read: stores, uploads, logs, secrets, backups."""

import os
import stat
from contextlib import suppress
from pathlib import Path

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_PASS = stat.S_IXGRP | stat.S_IXOTH


def private_folder(folder: Path) -> Path:
    """Create a folder that only its owner may enter, or close an existing one if this user owns it (a Kubernetes volume
    may belong to another user).

    Raises:
        OSError: it cannot be created.
    """
    folder.mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
    _close(folder)
    return folder


def keep_private(data: Path) -> None:
    """Make this process create files and folders for its own user only, and close the contents of the data folder.

    Root's data folder stays passable, since PostgreSQL then runs as another user; its contents are closed.

    Args:
        data: the data folder, which need not exist.
    """
    os.umask(_OTHERS)
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        for path in data.iterdir():
            _close(path)
        _close(data, spared=_PASS if os.geteuid() == 0 else 0)


def _close(path: Path, *, spared: int = 0) -> None:
    # Another process may remove it meanwhile; and a link has no permissions of its own.
    with suppress(FileNotFoundError, PermissionError):
        status = path.lstat()
        if status.st_uid == os.geteuid() and not stat.S_ISLNK(status.st_mode) and status.st_mode & _OTHERS & ~spared:
            path.chmod(stat.S_IMODE(status.st_mode) & ~(_OTHERS & ~spared))
