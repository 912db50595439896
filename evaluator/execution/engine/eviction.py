"""Least-recently-used eviction from a folder of objects."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

logger = logging.getLogger(__name__)

KEEP_SECONDS = 3600.0
_TARGET = 0.9
"""Share of the limit that an eviction goes down to, so that not every further object needs another one."""
WRITING = ".writing-"
"""How names of files begin that are not complete."""


class _Object(NamedTuple):
    used: float
    """When it was used last, in seconds since the epoch."""
    path: Path
    size: int


class Evictor:
    """Removes files of `objects/` in a folder. When an object was used last is the time of its last change."""

    def __init__(self, *, folder: Path, limit: int, keep_seconds: float) -> None:
        self._objects = folder / "objects"
        self._limit = limit
        self._keep = keep_seconds
        self._bytes: int | None = None
        """As of the last look; what other processes added since is seen at the next."""
        self._lock = threading.Lock()
        self._holds: list[float] = []
        """When the runs began that are not over."""

    @contextmanager
    def held(self) -> Iterator[None]:
        """A context in which nothing that is used inside is removed."""
        began = time.time()
        self._holds.append(began)
        try:
            yield
        finally:
            self._holds.remove(began)

    def added(self, size: int) -> None:
        """An object was added; remove others if there are too many bytes now."""
        with self._lock:
            if self._bytes is None:
                self._bytes = sum(found.size for found in self._look())
            else:
                self._bytes += size
            if self._bytes > self._limit:
                self._evict()

    def _evict(self) -> None:
        found = sorted(self._look())
        total = sum(entry.size for entry in found)
        # A second of slack: file systems round times.
        newest = min([time.time() - self._keep, *(began - 1.0 for began in self._holds)])
        for entry in found:
            if total <= self._limit * _TARGET or entry.used >= newest:
                break
            entry.path.unlink(missing_ok=True)
            total -= entry.size
        self._bytes = total
        if total > self._limit:
            logger.warning("the store holds %d bytes, more than its limit of %d: all are in use", total, self._limit)
            # Looking again at every further object would cost more than it finds.
            self._bytes = int(self._limit * _TARGET)

    def _look(self) -> Iterator[_Object]:
        for path in self._objects.glob("*/*"):
            try:
                status = path.stat()
            except FileNotFoundError:
                continue
            if not path.name.startswith(WRITING):
                yield _Object(used=status.st_mtime, path=path, size=status.st_size)
