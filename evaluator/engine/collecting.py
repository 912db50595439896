"""Garbage collection of a folder of objects, while others write to it.

An object is garbage if nothing names it and it was not used for a while. Writers note a use before they name an object
(`LocalStore.has`, `put`), so what is named later than the collector looked was used lately. To close the gap between
looking and deleting, an object is first moved aside: a use before that shows in its time, and it is put back; a use
after that finds nothing, and the writer sends the object again.
"""

import os
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path

from evaluator.engine.eviction import WRITING
from evaluator.engine.store import ENDINGS, LocalStore

_ASIDE = "collected"
"""Folder of objects that are about to be deleted."""


@dataclass(frozen=True, slots=True)
class Garbage:
    """What was deleted, or would be."""

    count: int
    size: int
    """Bytes."""


def collect_objects(*, store: LocalStore, keep: Container[str], before: float, dry_run: bool) -> Garbage:
    """Delete the objects of a store that are not to be kept, and what is left of writes that were killed.

    Before: nothing; a collection that was killed is completed. Others may read and write meanwhile.
    After: the store holds every object of `keep` that it held, and all that was used since `before`.

    Args:
        store: without a limit of its own.
        keep: digests.
        before: seconds since the epoch; what was used later stays.
        dry_run: whether to count only.
    """
    aside = store.path / _ASIDE
    if not dry_run:
        _put_back(store=store, aside=aside)
    count = size = 0
    for path in _candidates(store=store, keep=keep, before=before):
        found = _size(path, before=before) if dry_run else _removed(path, aside=aside, before=before)
        if found is not None:
            count += 1
            size += found
    return Garbage(count, size)


def _candidates(*, store: LocalStore, keep: Container[str], before: float) -> Iterator[Path]:
    for folder in sorted((store.path / "objects").glob("[0-9a-f][0-9a-f]")):
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            path = Path(entry.path)
            is_object = path.suffix in ENDINGS.values() and folder.name + path.stem not in keep
            if (is_object or path.name.startswith(WRITING)) and _size(path, before=before) is not None:
                yield path


def _size(path: Path, *, before: float) -> int | None:
    """Bytes of a file that was not used since; None if it was, or is gone."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_size if found.st_mtime < before else None


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


def _put_back(*, store: LocalStore, aside: Path) -> None:
    """What a killed collection moved aside may have been named meanwhile."""
    for path in aside.iterdir() if aside.is_dir() else ():
        path.replace(store.path / "objects" / path.name[:2] / path.name[2:])
