"""The right outputs of released tasks. Only what scores an answer imports this module."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from evaluator.arc.grids import Grid, numbers_of
from evaluator.arc.source import RELEASE, TASK_FILES
from evaluator.arc.splits import Split, file_names
from evaluator.arc.task_files import read_task_file
from evaluator.core import canonical_json
from evaluator.network.released_files import FetchError, PublicFile, read, verified

_FILES: Mapping[str, PublicFile] = MappingProxyType({PurePosixPath(file.name).stem: file for file in TASK_FILES})


def expected_of(key: str, *, folder: Path | None = None) -> tuple[Grid, ...]:
    """The right output of each test input of a task, in order.

    Args:
        key: ARC's id, of either set.
        folder: a folder in the released layout, which is not verified; None: the fetched files.

    Raises:
        LookupError: there is no such task, or its file was not fetched or was changed.
        TaskFileError: the file in `folder` is no task.
    """
    if key not in _FILES:
        raise LookupError(f"ARC has no task {key!r}")
    if folder is not None:
        return _outputs(key, folder)
    _verify(_FILES[key])
    return _outputs(key, RELEASE.folder)


def expected_digest(split: Split, *, folder: Path | None = None) -> str:
    """SHA-256 over the right outputs of a split, for suites: their digest does not cover what tasks do not hold."""
    keys = (PurePosixPath(name).stem for name in file_names(split))
    return canonical_json.digest({key: [numbers_of(grid) for grid in expected_of(key, folder=folder)] for key in keys})


@cache
def _outputs(key: str, folder: Path) -> tuple[Grid, ...]:
    return read_task_file(folder / _FILES[key].name).expected.outputs


def _verify(file: PublicFile) -> None:
    """Check one file: all 800 would take too long for each task."""
    path = RELEASE.folder / file.name
    try:
        verified(file=file, content=read(path), origin=str(path))
    except FetchError as error:
        raise LookupError(f"{error}; run `planarena suites fetch {RELEASE.name}`") from None
