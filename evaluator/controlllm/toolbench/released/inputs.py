"""The files of Tool100's and Tool2K's requests, from an operator's folder.

The files were never released. A file is looked up by its name in the request: at that path in the folder, or by its
last component at the top of the folder, with any readable extension; a video also as a folder of frames or an animated
picture. `index.json` in the folder may map names in requests to paths in the folder, or to ids of COCO pictures (139
for `000000000139.jpg`).
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path, PurePosixPath
from typing import cast

from evaluator.controlllm.toolbench.released.compared import compared_value
from evaluator.controlllm.toolbench.released.executed import REFERENCES_VERSION, ExecutedTask
from evaluator.controlllm.toolbench.released.media import MOVING, PICTURES, MediaError, read_media
from evaluator.controlllm.toolbench.released.pack import PROFILE, PackInputs
from evaluator.core import canonical_json
from evaluator.core.suites.base import Task
from evaluator.core.tools.types import ResourceType
from evaluator.core.values import Value

VARIABLE = "PLANARENA_TOOL_INPUTS"
"""Environment variable with the folder, for commands without the option, workers and web servers."""
INDEX = "index.json"
_MOST_INDEX_BYTES = 2**24
_MOST_NAMES = 10
_CACHE_SIZE = 16384
_COCO_DIGITS = 12


class ReleasedInputs:
    """The files of a suite's requests. Every request has one sample, which is the same for all indices."""

    def __init__(self, folder: Path, *, tasks: Sequence[Task]) -> None:
        """Find the files.

        Args:
            folder: the operator's folder.
            tasks: the tasks of the suite.

        Raises:
            LookupError: the folder does not exist, its index is invalid, or it has no file of any request.
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
        """SHA-256 over the names and bytes of the existing files; reads each once."""
        digests = {name: digest_of(path) for name, path in self._paths.items() if path is not None}
        return canonical_json.digest({"data": f"controlllm-files/{REFERENCES_VERSION}", "files": digests})

    @cached_property
    def problems(self) -> Mapping[str, str]:
        """The unusable files by name, with the reason. Reads all files once."""
        return {name: problem for name in self._files if (problem := self._problem(name))}

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
        """Always raises `LookupError`: references come from executing the gold plan (`compared`)."""
        raise LookupError(f"no right result of {task.key} was released (sample {index})")

    def compared(self, *, task: Task, result: Value, given: Callable[[str], Value]) -> Value:
        """See `GoldComparedSource`."""
        return compared_value(task=cast(ExecutedTask, task), result=result, given=given)

    def listed(self) -> Iterator[tuple[str, ResourceType, str]]:
        """Name, type and problem of each file; the problem is empty if the file is usable."""
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
            return "is sound, which is not read from folders"
        if path is not None:
            return checked(path, kind=kind)
        stored = next((place for place in self._places(name) if place.is_file()), None)
        if kind is ResourceType.VIDEO and stored is not None:
            return (
                f"is there as {stored.suffix.lower()}, which is not supported: give its frames as a folder "
                f"{stored.stem} of pictures, or as {stored.stem}.apng"
            )
        return "is not there"

    def _find(self, name: str, *, kind: ResourceType) -> Path | None:
        for place in self._places(name):
            for path in _forms(place, kind=kind):
                if path.is_file() or (kind is ResourceType.VIDEO and path.is_dir()):
                    return path
        return None

    @cached_property
    def _folders(self) -> list[Path]:
        """The folder and its subfolders. Cached: the folder may also have a hundred thousand pictures."""
        return [self._folder, *sorted(path for path in self._folder.iterdir() if path.is_dir())]

    def _places(self, name: str) -> list[Path]:
        """Possible paths of a file, regardless of the extension."""
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
        first = ", ".join(sorted(names)[:_MOST_NAMES])
        return f"{first} and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else first


def released_inputs(
    *, folder: str | None, tasks: Sequence[Task], slug: str, profile: str
) -> ReleasedInputs | PackInputs:
    """The files from the folder of an option or of the environment, else the pack's.

    Raises:
        LookupError: the folder has no file of the requests, or there is none and the profile cannot use the pack.
    """
    path = folder or os.environ.get(VARIABLE)
    if not path and profile == PROFILE:
        return PackInputs(tasks=tasks)
    if not path:
        raise LookupError(
            f"{slug} executes plans on pictures and videos that were never released, and profile {profile} does not "
            f"know the things of PlanArena's own pack: name a folder that has files with --inputs DIR or {VARIABLE}, "
            f"or take the profile {PROFILE}"
        )
    return ReleasedInputs(Path(path), tasks=tasks)


def checked(path: Path, *, kind: ResourceType) -> str:
    """Why a file cannot be read, or an empty text. Cached in the process for unchanged files."""
    return _checked(path, kind, _state(path))


def digest_of(path: Path) -> str:
    """SHA-256 of a file, or over the files of a folder of frames. Cached in the process for unchanged files."""
    return _digest(path, _state(path))


@lru_cache(maxsize=_CACHE_SIZE)
def _checked(path: Path, kind: ResourceType, state: tuple[tuple[str, int, int], ...]) -> str:  # noqa: ARG001 - a key
    try:
        read_media(path, kind=kind)
    except MediaError as error:
        return str(error)
    return ""


@lru_cache(maxsize=_CACHE_SIZE)
def _digest(path: Path, state: tuple[tuple[str, int, int], ...]) -> str:
    if path.is_dir():
        return canonical_json.digest({name: _file_digest(path / name) for name, _, _ in state})
    return _file_digest(path)


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _state(path: Path) -> tuple[tuple[str, int, int], ...]:
    """Name, time and size of a file or of each frame in a folder, as a cache key."""
    files = sorted(file for file in path.iterdir() if file.is_file()) if path.is_dir() else [path]
    return tuple((file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in files)


def _forms(place: Path, *, kind: ResourceType) -> list[Path]:
    """The paths of a file with each readable extension, the original one first."""
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
        for name, value in content.items():
            if isinstance(value, bool) or not isinstance(value, str | int):
                raise ValueError(f"{name} has neither a path nor a COCO id")
    except (OSError, ValueError, RecursionError) as error:
        raise LookupError(f"{path} cannot be used: {error}") from None
    return content
