"""Garbage collection of a folder of objects, while others write to it.

An object is garbage if nothing names it and it was not used for a while. Writers note a use before they name an object
(`LocalStore.has`, `put`), so what is named later than the collector looked was used lately. To close the gap between
looking and deleting, an object is first moved aside: a use before that shows in its time, and it is put back; a use
after that finds nothing, and the writer sends the object again.
"""

import os
from collections.abc import Collection, Container, Iterator
from dataclasses import dataclass
from pathlib import Path

from evaluator.execution.engine.files import WRITING

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
