"""Writing files atomically: neither a killed process nor, with `durable`, a power cut leaves half of one.

A rename is atomic, but on most file systems it may reach the disk before the data does: after a power cut the final
name then belongs to an empty file. So durable writes flush the file before the rename and the folder after it.
"""

import errno
import itertools
import os
import secrets
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from evaluator.execution.engine.eviction import WRITING

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
