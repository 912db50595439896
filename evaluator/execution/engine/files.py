"""Files of a store: atomic writes, least-recently-used eviction, and garbage collection.

Neither a killed process nor, with `durable`, a power cut leaves half a file. A rename is atomic, but on most file
systems it may reach the disk before the data does: after a power cut the final name then belongs to an empty file. So
durable writes flush the file before the rename and the folder after it.

An object is garbage if nothing names it and it was not used for a while. Writers note a use before they name an object
(`LocalStore.has`, `put`), so what is named later than the collector looked was used lately. To close the gap between
looking and deleting, an object is first moved aside: a use before that shows in its time, and it is put back; a use
after that finds nothing, and the writer sends the object again.
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
                self._bytes = sum(entry.size for entry in self._look())
            else:
                self._bytes += size
            if self._bytes > self._limit:
                self._evict()

    def _evict(self) -> None:
        objects = sorted(self._look())
        total = sum(entry.size for entry in objects)
        # A second of slack: file systems round times.
        newest = min([time.time() - self._keep, *(began - 1.0 for began in self._holds)])
        for entry in objects:
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


_PROCESS = secrets.token_hex(4)
"""Machines may share a folder, so that the number of a process does not tell who writes."""
_NUMBERS = itertools.count()
_FLUSHES_PER_THREAD, _MOST_THREADS = 8, 8
_FOLDERS_CANNOT_BE_FLUSHED = frozenset({errno.EINVAL, errno.ENOTSUP})
"""What some network file systems answer; their servers flush renames by themselves."""


def write_atomically(files: Iterable[tuple[Path, bytes]], *, durable: bool) -> None:
    """Write files, each of which appears under its name whole or not at all.

    All data are written first, then flushed, then renamed: a file system commits files that were written together in
    one go, so that many durable files in one call cost much less than as many calls.

    Args:
        files: paths with their contents; folders are made as needed.
        durable: whether all of it must survive a power cut once this returns.

    Raises:
        OSError: something could not be written; files that were not renamed yet leave nothing behind.
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
    """Make a folder with its parents. A durable one is still there after a power cut."""
    if folder.is_dir():
        return
    make_folder(folder.parent, durable=durable)
    with suppress(FileExistsError):
        folder.mkdir()
    if durable:
        flush(folder.parent)


def _flush_all(paths: Sequence[Path]) -> None:
    # From several threads, since a journal commits at once whatever waits for it: 200 files took 20 ms and not 60.
    threads = min(len(paths) // _FLUSHES_PER_THREAD, _MOST_THREADS)
    if threads < 2:
        for path in paths:
            flush(path)
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="flush") as pool:
        list(pool.map(flush, paths))


def flush(path: Path) -> None:
    """Wait until a file's bytes, or the names in a folder, are on the disk.

    Raises:
        OSError: they cannot be written.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _FOLDERS_CANNOT_BE_FLUSHED:
            raise
    finally:
        os.close(descriptor)


_ASIDE = "collected"
"""Folder of objects that are about to be deleted."""


@dataclass(frozen=True, slots=True)
class Garbage:
    """What was deleted, or would be."""

    count: int
    size: int
    """Bytes."""


def collect_files(
    *, folder: Path, endings: Collection[str], keep: Container[str], before: float, dry_run: bool
) -> Garbage:
    """`DurableStore.collect` for a folder.

    Args:
        folder: of the store, which has no limit of its own.
        endings: of the names of its objects.
        keep: digests.
        before: seconds since the epoch; what was used later stays.
        dry_run: whether to count only.
    """
    aside = folder / _ASIDE
    if not dry_run:
        _put_back(folder=folder, aside=aside)
    count = size = 0
    for path in _candidates(folder=folder, endings=endings, keep=keep, before=before):
        removed = _size(path, before=before) if dry_run else _removed(path, aside=aside, before=before)
        if removed is not None:
            count += 1
            size += removed
    return Garbage(count, size)


def _candidates(*, folder: Path, endings: Collection[str], keep: Container[str], before: float) -> Iterator[Path]:
    for part in sorted((folder / "objects").glob("[0-9a-f][0-9a-f]")):
        for entry in sorted(os.scandir(part), key=lambda entry: entry.name):
            path = Path(entry.path)
            is_object = path.suffix in endings and part.name + path.stem not in keep
            if (is_object or path.name.startswith(WRITING)) and _size(path, before=before) is not None:
                yield path


def _size(path: Path, *, before: float) -> int | None:
    """Bytes of a file that was not used since; None if it was, or is gone."""
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


def _put_back(*, folder: Path, aside: Path) -> None:
    """Put back what a killed collection moved aside: it may have been named since."""
    for path in aside.iterdir() if aside.is_dir() else ():
        path.replace(folder / "objects" / path.name[:2] / path.name[2:])
