"""Cache of a hub's models on disk, shared by the workers of a machine, with a size limit.

The folder has the layout of the hub's client, which has no size limit. Each repository has a lock, which workers hold
shared while they download and load it; locked repositories are not removed.
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
        folder: for these workers only: its content may be removed.
        most_bytes: of all repositories together, and of a single download; None: no limit.
        """
        self.folder = folder
        self.most_bytes = most_bytes

    @contextmanager
    def held(self, repo: str) -> Iterator[Path]:
        """A context in which a repository (`ORG/NAME`) is not removed, with the folder for its download. Afterwards the
        least recently used repositories are removed if the size limit is exceeded."""
        lock = self._lock(f"models--{repo.replace('/', '--')}")
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
        # Links between files take no space.
        sizes = {
            path: sum(file.lstat().st_size for file in path.rglob("*") if file.is_file() and not file.is_symlink())
            for path in self.folder.glob("models--*")
            if path.is_dir()
        }
        too_many = sum(sizes.values()) - self.most_bytes
        for path in sorted(sizes, key=self._used):
            if too_many <= 0:
                return
            if self._removed(path):
                logger.info("removed %s, which was least recently used", path.name)
                too_many -= sizes[path]

    def _removed(self, path: Path) -> bool:
        """Remove a repository, unless a worker uses it."""
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
        """The open lock file of a repository. It is never removed: another process may wait for it."""
        path = self.folder / "in-use" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
