"""The files of Tool100's and Tool2K's requests, from a folder that the operator names.

No file of them was ever released. A file is looked up by the name that the request has for it: at that path in the
folder, or by its last part at the folder's top, with any ending that can be read; a video also as a folder of frames or
as an animated picture of that name. `index.json` in the folder may say more: an object from names in requests to paths
in the folder, or to numbers, which stand for a picture of COCO (139 for `000000000139.jpg`).
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path, PurePosixPath
from typing import cast

import numpy as np

from evaluator.controlllm.toolbench.released.executed import REFERENCES_VERSION, ExecutedTask
from evaluator.controlllm.toolbench.released.media import MOVING, PICTURES, MediaError, read_media
from evaluator.core import canonical_json
from evaluator.core.suites.base import Task
from evaluator.core.tools.types import ResourceType
from evaluator.core.values import Clip, Image, Value

VARIABLE = "PLANARENA_TOOL_INPUTS"
"""Names the folder for commands without the option, for workers and for web servers."""
INDEX = "index.json"
_MOST_INDEX_BYTES = 2**24
_SHOWN = 10
_KEPT = 16384
_COCO_DIGITS = 12


class ReleasedInputs:
    """The files of a suite's requests. Every request has one sample; at other indices it is the same."""

    def __init__(self, folder: Path, *, tasks: Sequence[Task]) -> None:
        """Find the files.

        Args:
            folder: the operator's.
            tasks: of the suite.

        Raises:
            LookupError: there is no such folder, its index cannot be read, or it has no file of any request.
        """
        if not folder.is_dir():
            raise LookupError(f"there is no folder {folder} with the files of the requests")
        self._folder = folder
        self._index = _index(folder)
        self._files = {
            name: min(kinds) for task in tasks for name, kinds in task.types_given.items() if task.gold is not None
        }
        self._paths = {name: self._find(name, kind=kind) for name, kind in self._files.items()}
        if self._files and not any(self._paths.values()):
            raise LookupError(
                f"{folder} has none of the {len(self._files)} files of the requests: {self._named(self._files)}"
            )

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the names and bytes of the files that were found; reads each once."""
        found = {name: digest_of(path) for name, path in self._paths.items() if path is not None}
        return canonical_json.digest({"data": f"controlllm-files/{REFERENCES_VERSION}", "files": found})

    @cached_property
    def problems(self) -> Mapping[str, str]:
        """Why a file of the requests cannot be used, by its name; those that can are left out. Reads all files once."""
        found = {name: self._problem(name) for name in self._files}
        return {name: problem for name, problem in found.items() if problem}

    @property
    def gaps(self) -> str:
        """See `WithGaps`."""
        if not self.problems:
            return ""
        return (
            f"{len(self.problems)} of the {len(self._files)} files of the requests cannot be used in {self._folder}: "
            f"{self._named(self.problems)}"
        )

    def missing(self, *, task: Task) -> str | None:
        """See `SampleSource`."""
        lacking = [f"{name} {self.problems[name]}" for name in task.types_given if name in self.problems]
        if not lacking:
            return None
        return (
            f"{len(lacking)} of the {len(task.types_given)} files of this request cannot be used: {'; '.join(lacking)}."
        )

    def inputs(self, *, task: Task, index: int) -> Mapping[str, Value]:  # noqa: ARG002 - one sample
        """See `SampleSource`.

        Raises:
            LookupError: a file cannot be read.
        """
        return {name: self._value(name) for name in task.types_given}

    def reference(self, *, task: Task, index: int) -> Value:
        """There is none before the gold plan was executed (`compared`).

        Raises:
            LookupError: always.
        """
        raise LookupError(f"no right result of {task.key} was released (sample {index})")

    def compared(self, *, task: Task, result: Value, given: Callable[[str], Value]) -> Value:
        """See `GoldComparedSource`: the gold plan's result; for an edit, the picture before and after it."""
        (wanted,) = cast(ExecutedTask, task).results
        if not wanted.before:
            return result
        before = given(wanted.before)
        if not isinstance(before, Image) or not isinstance(result, Image) or before.size != result.size:
            raise LookupError(f"the gold plan of {task.key} gave no picture of the size of {wanted.before}")
        return Clip(np.stack([np.asarray(one.convert("RGB"), dtype=np.uint8) for one in (before, result)]))

    def listed(self) -> Iterator[tuple[str, ResourceType, str]]:
        """The name of each file, its type, and what is wrong with it (empty if nothing)."""
        for name, kind in sorted(self._files.items()):
            yield name, kind, self.problems.get(name, "")

    def _value(self, name: str) -> Value:
        path = self._paths.get(name)
        if path is None:
            raise LookupError(f"{name} is not in {self._folder}")
        try:
            return read_media(path, kind=self._files[name])
        except MediaError as error:
            raise LookupError(f"{path} {error}") from None

    def _problem(self, name: str) -> str:
        path, kind = self._paths[name], self._files[name]
        if kind is ResourceType.AUDIO:
            return "is sound, which no expert hears"
        if path is None:
            stored = self._stored(name)
            if kind is ResourceType.VIDEO and stored is not None:
                return (
                    f"is there as {stored.suffix.lower()}, which is not read: give its frames as a folder "
                    f"{stored.stem} of pictures, or as {stored.stem}.apng"
                )
            return "is not there"
        return checked(path, kind=kind)

    def _stored(self, name: str) -> Path | None:
        """A file of exactly this name, whatever is in it."""
        return next((path for path in self._places(name) if path.is_file()), None)

    def _find(self, name: str, *, kind: ResourceType) -> Path | None:
        for place in self._places(name):
            for path in _forms(place, kind=kind):
                if path.is_file() or (kind is ResourceType.VIDEO and path.is_dir()):
                    return path
        return None

    @cached_property
    def _folders(self) -> list[Path]:
        """The folder and those in it. Listed once: there may be a hundred thousand pictures beside them."""
        return [self._folder, *sorted(one for one in self._folder.iterdir() if one.is_dir())]

    def _places(self, name: str) -> list[Path]:
        """Where a file may lie, endings aside."""
        entry = self._index.get(name, name)
        if isinstance(entry, int):
            picture = f"{entry:0{_COCO_DIGITS}d}.jpg"
            return [folder / picture for folder in self._folders]
        path = PurePosixPath(entry.lstrip("/"))
        if ".." in path.parts or not path.name:
            return []
        return [self._folder / path, self._folder / path.name]

    @staticmethod
    def _named(names: Mapping[str, object]) -> str:
        shown = ", ".join(sorted(names)[:_SHOWN])
        return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown


def released_inputs(*, folder: str | None, tasks: Sequence[Task], slug: str) -> ReleasedInputs:
    """The files from the folder that an option or the environment names.

    Raises:
        LookupError: neither does, or the folder has no file of the requests.
    """
    chosen = folder or os.environ.get(VARIABLE)
    if not chosen:
        raise LookupError(
            f"{slug} executes plans on pictures and videos that were never released: name a folder that has them with "
            f"--inputs DIR or {VARIABLE}"
        )
    return ReleasedInputs(Path(chosen), tasks=tasks)


def checked(path: Path, *, kind: ResourceType) -> str:
    """Why a file cannot be read, or an empty text. Unchanged files are read once in a process."""
    return _checked(path, kind, _state(path))


def digest_of(path: Path) -> str:
    """SHA-256 of a file, or over those of a folder of frames."""
    return _digest(path, _state(path))


@lru_cache(maxsize=_KEPT)
def _checked(path: Path, kind: ResourceType, state: tuple[tuple[str, int, int], ...]) -> str:  # noqa: ARG001 - a key
    try:
        read_media(path, kind=kind)
    except MediaError as error:
        return str(error)
    return ""


@lru_cache(maxsize=_KEPT)
def _digest(path: Path, state: tuple[tuple[str, int, int], ...]) -> str:
    if path.is_dir():
        return canonical_json.digest({name: _of_file(path / name) for name, _, _ in state})
    return _of_file(path)


def _of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _state(path: Path) -> tuple[tuple[str, int, int], ...]:
    """Names, times and sizes of a file or of the frames in a folder: equal ones mean unchanged content."""
    parts = sorted(one for one in path.iterdir() if one.is_file()) if path.is_dir() else [path]
    return tuple((one.name, one.stat().st_mtime_ns, one.stat().st_size) for one in parts)


def _forms(place: Path, *, kind: ResourceType) -> list[Path]:
    """The paths under which a file may be stored, the released one first if it can be read."""
    readable = MOVING if kind is ResourceType.VIDEO else PICTURES
    endings = (*readable, ".json") if kind is ResourceType.MASK else readable
    named = [place] if place.suffix.lower() in endings else []
    others = [place.with_suffix(ending) for ending in endings]
    return [*named, *([place.with_suffix("")] if kind is ResourceType.VIDEO else []), *others]


def _index(folder: Path) -> Mapping[str, str | int]:
    path = folder / INDEX
    if not path.is_file():
        return {}
    try:
        if path.stat().st_size > _MOST_INDEX_BYTES:
            raise ValueError(f"it has more than {_MOST_INDEX_BYTES} bytes")
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ValueError("it is no object from names to paths")
        strange = [
            name for name, value in content.items() if isinstance(value, bool) or not isinstance(value, str | int)
        ]
        if strange:
            raise ValueError(f"{strange[0]} has neither a path nor a number of COCO")
    except (OSError, ValueError, RecursionError) as error:
        raise LookupError(f"{path} cannot be used: {error}") from None
    return content
