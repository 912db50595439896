"""Models of a hub on a worker's disk: shared by the workers of a machine, and bounded.

The folder is laid out by the hub's client, which knows no bound. What is added here: each repository has a lock, which
workers share while they fetch and load it, and who removes repositories passes over those that are locked.
"""

import fcntl
import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

logger = logging.getLogger(__name__)


class HubCache:
    """A folder of repositories. Safe for several processes of one machine."""

    def __init__(self, *, folder: Path, most_bytes: int | None = None) -> None:
        """Args:
        folder: of these workers' own: what lies in it may be removed.
        most_bytes: of all repositories together, and of a repository that is fetched; None: no limit.
        """
        self.folder = folder
        self.most_bytes = most_bytes

    @contextmanager
    def held(self, repo: str) -> Iterator[Path]:
        """A context in which nobody removes a repository (`ORG/NAME`), with the folder to fetch it into. At its end
        those used longest ago are removed, if there are more bytes than wanted."""
        lock = self._lock(_folder_name(repo))
        try:
            fcntl.flock(lock, fcntl.LOCK_SH)
            os.utime(lock)
            yield self.folder
            self._remove_old()
        finally:
            os.close(lock)

    def _remove_old(self) -> None:
        if self.most_bytes is None:
            return
        sizes = {path: _bytes(path) for path in self.folder.glob("models--*") if path.is_dir()}
        too_many = sum(sizes.values()) - self.most_bytes
        for path in sorted(sizes, key=self._used):
            if too_many <= 0:
                return
            if self._removed(path):
                logger.info("removed %s, which was used longest ago", path.name)
                too_many -= sizes[path]

    def _removed(self, path: Path) -> bool:
        """Remove a repository, unless a worker has it in use."""
        lock = self._lock(path.name)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        else:
            shutil.rmtree(path, ignore_errors=True)
            return True
        finally:
            os.close(lock)

    def _used(self, path: Path) -> float:
        with suppress(FileNotFoundError):
            return (self.folder / "in-use" / path.name).stat().st_mtime
        return 0.0

    def _lock(self, name: str) -> int:
        """The lock of a repository as an open file. It stays when the repository goes: others may wait for it."""
        path = self.folder / "in-use" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o644)


def _folder_name(repo: str) -> str:
    """What the hub's client calls a repository's folder."""
    return f"models--{repo.replace('/', '--')}"


def _bytes(folder: Path) -> int:
    """What the files take; links between them take nothing."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
