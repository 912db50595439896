"""Files and folders that nobody else on the machine may read: stores, uploads, logs, secrets, backups."""

import os
import stat
from contextlib import suppress
from pathlib import Path

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_PASS = stat.S_IXGRP | stat.S_IXOTH


def private_folder(folder: Path) -> Path:
    """Make a folder that only its owner may enter, or close one of this user's that others may. One of another user
    stays as it is, such as a volume of Kubernetes.

    Raises:
        OSError: it cannot be made.
    """
    folder.mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
    _close(folder)
    return folder


def keep_private(data: Path) -> None:
    """Have this process make all its files and folders for its own user only, and close what is in the data folder.

    Root's data folder stays passable, since PostgreSQL runs as another user then; what is in it is closed.

    Args:
        data: the data folder; one that is not there is not made.
    """
    os.umask(_OTHERS)
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        for path in data.iterdir():
            _close(path)
        _close(data, spared=_PASS if os.geteuid() == 0 else 0)


def _close(path: Path, *, spared: int = 0) -> None:
    # Another process may remove it meanwhile; and a link has no rights of its own.
    with suppress(FileNotFoundError, PermissionError):
        found = path.lstat()
        if found.st_uid == os.geteuid() and not stat.S_ISLNK(found.st_mode) and found.st_mode & _OTHERS & ~spared:
            path.chmod(stat.S_IMODE(found.st_mode) & ~(_OTHERS & ~spared))
