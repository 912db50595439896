"""Files of a store: atomic writes, least-recently-used eviction, and garbage collection.

Neither a killed process nor, with `durable`, a power cut leaves a partial file. A rename is atomic, but on most file
systems it may reach the disk before the data: after a power cut, the final name may belong to an empty file. Durable
writes therefore flush the file before the rename and the folder after it.

An object is garbage if it is unreferenced and was not used recently. Writers record a use before they reference an
object (`LocalStore.has`, `put`), so an object that is referenced after the collector's scan was used recently. To close
the race between scan and deletion, an object is first moved aside: an earlier use shows in its time stamp, and the
object is put back; a later use does not find it, and the writer sends it again.
"""

import errno
import itertools
import logging
import os
import secrets
import threading
import time
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

logger = logging.getLogger(__name__)

KEEP_SECONDS = 3600.0
_TARGET = 0.9
"""Share of the limit to which an eviction reduces the store, so that not every new object causes another one."""
WRITING = ".writing-"
"""Prefix of the names of incomplete files."""


class _Object(NamedTuple):
    used: float
    """Time of the last use, in seconds since the epoch."""
    path: Path
    size: int


class Evictor:
    """Evicts files of `objects/` in a folder, least recently used first. The modification time is that of the last
    use."""

    def __init__(self, *, folder: Path, limit: int, keep_seconds: float) -> None:
        self._objects = folder / "objects"
        self._limit = limit
        self._keep = keep_seconds
        self._bytes: int | None = None
        """As of the last scan; files of other processes are counted at the next scan."""
        self._lock = threading.Lock()
        self._holds: list[float] = []
        """Start times of current runs."""

    @contextmanager
    def held(self) -> Iterator[None]:
        """A context during which objects used since its start are not evicted."""
        began = time.time()
        self._holds.append(began)
        try:
            yield
        finally:
            self._holds.remove(began)

    def added(self, size: int) -> None:
        """Record an added object, and evict others if the limit is exceeded."""
        with self._lock:
            if self._bytes is None:
                self._bytes = sum(entry.size for entry in self._look())
            else:
                self._bytes += size
            if self._bytes > self._limit:
                self._evict()

    def _evict(self) -> None:
        objects = sorted(self._look())
        total = sum(entry.size for entry in objects)
        # One second of slack, since file systems round times.
        newest = min([time.time() - self._keep, *(began - 1.0 for began in self._holds)])
        for entry in objects:
            if total <= self._limit * _TARGET or entry.used >= newest:
                break
            entry.path.unlink(missing_ok=True)
            total -= entry.size
        self._bytes = total
        if total > self._limit:
            logger.warning("the store holds %d bytes, more than its limit of %d: all are in use", total, self._limit)
            # Prevents a scan for every further object.
            self._bytes = int(self._limit * _TARGET)

    def _look(self) -> Iterator[_Object]:
        for path in self._objects.glob("*/*"):
            try:
                status = path.stat()
            except FileNotFoundError:
                continue
            if not path.name.startswith(WRITING):
                yield _Object(used=status.st_mtime, path=path, size=status.st_size)


_PROCESS = secrets.token_hex(4)
"""Identifies the writer: a process number is not unique where machines share a folder."""
_NUMBERS = itertools.count()
_FLUSHES_PER_THREAD, _MOST_THREADS = 8, 8
_FOLDERS_CANNOT_BE_FLUSHED = frozenset({errno.EINVAL, errno.ENOTSUP})
"""Errors of some network file systems, whose servers flush renames themselves."""


def write_atomically(files: Iterable[tuple[Path, bytes]], *, durable: bool) -> None:
    """Write files, each of them atomically.

    All data are written first, then flushed, then renamed: a file system commits them together, so that many durable
    files cost much less in one call than in separate calls.

    Args:
        files: paths with their contents; folders are created as needed.
        durable: whether the files must survive a power cut once this returns.

    Raises:
        OSError: a write failed; temporary files are removed.
    """
    written: list[tuple[Path, Path]] = []
    try:
        for path, data in files:
            temporary = path.with_name(f"{WRITING}{os.getpid()}-{_PROCESS}-{next(_NUMBERS)}")
            written.append((temporary, path))
            try:
                temporary.write_bytes(data)
            except FileNotFoundError:
                make_folder(path.parent, durable=durable)
                temporary.write_bytes(data)
        if durable:
            _flush_all([temporary for temporary, _ in written])
        for temporary, path in written:
            temporary.replace(path)
        if durable:
            _flush_all(list({path.parent for _, path in written}))
    except BaseException:
        for temporary, _ in written:
            temporary.unlink(missing_ok=True)
        raise


def make_folder(folder: Path, *, durable: bool) -> None:
    """Create a folder with its parents. A durable one survives a power cut."""
    if folder.is_dir():
        return
    make_folder(folder.parent, durable=durable)
    with suppress(FileExistsError):
        folder.mkdir()
    if durable:
        flush(folder.parent)


def _flush_all(paths: Sequence[Path]) -> None:
    # In several threads, since a journal commits all waiting files at once: 200 files took 20 ms instead of 60.
    threads = min(len(paths) // _FLUSHES_PER_THREAD, _MOST_THREADS)
    if threads < 2:
        for path in paths:
            flush(path)
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="flush") as pool:
        list(pool.map(flush, paths))


def flush(path: Path) -> None:
    """Wait until a file's bytes, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _FOLDERS_CANNOT_BE_FLUSHED:
            raise
    finally:
        os.close(descriptor)


_ASIDE = "collected"
"""Folder of objects before their deletion."""


@dataclass(frozen=True, slots=True)
class Garbage:
    """Number and total size of deleted objects."""

    count: int
    size: int
    """In bytes."""


def collect_files(
    *, folder: Path, endings: Collection[str], keep: Container[str], before: float, dry_run: bool
) -> Garbage:
    """`DurableStore.collect` for a folder.

    Args:
        folder: folder of the store, which has no eviction.
        endings: suffixes of its objects.
        keep: digests of referenced objects.
        before: seconds since the epoch; objects used later are kept.
        dry_run: whether to count only.
    """
    aside = folder / _ASIDE
    if not dry_run:
        # Restore what a killed collection moved aside: it may have been referenced since.
        for path in aside.iterdir() if aside.is_dir() else ():
            path.replace(folder / "objects" / path.name[:2] / path.name[2:])
    count = size = 0
    for part in sorted((folder / "objects").glob("[0-9a-f][0-9a-f]")):
        for entry in sorted(os.scandir(part), key=lambda entry: entry.name):
            path = Path(entry.path)
            is_object = path.suffix in endings and part.name + path.stem not in keep
            if not (is_object or path.name.startswith(WRITING)):
                continue
            removed = _size(path, before=before)
            if removed is not None and not dry_run:
                removed = _removed(path, aside=aside, before=before)
            if removed is not None:
                count += 1
                size += removed
    return Garbage(count, size)


def _size(path: Path, *, before: float) -> int | None:
    """Size of a file that was last used before a time; None if it was used later or is gone."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_size if status.st_mtime < before else None


def _removed(path: Path, *, aside: Path, before: float) -> int | None:
    target = aside / f"{path.parent.name}{path.name}"
    aside.mkdir(exist_ok=True)
    try:
        path.replace(target)
    except FileNotFoundError:
        return None
    size = _size(target, before=before)
    if size is None:
        target.replace(path)
        return None
    target.unlink()
    return size
