"""Reading ARC's task files. Test outputs leave this module only as `Expected`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evaluator.arc.grids import Demonstration, Grid, GridError, grid_of
from evaluator.network.released_files import FetchError, read

_PAIR = {"input", "output"}
_TASK = {"train", "test"}
_OPTIONAL = {"name"}
"""An editor added it to eleven of the released files."""


class TaskFileError(ValueError):
    """A file is no ARC task; the message is a sentence that names the file and the place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The right outputs of a task's test inputs, in their order.

    Only what scores an answer may hold one. It is neither part of a task nor JSON, and does not print its grids.
    """

    key: str
    outputs: tuple[Grid, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFile:
    """What is in a file."""

    key: str
    """ARC's id of the task: the file's name without its ending."""
    demonstrations: tuple[Demonstration, ...]
    test_inputs: tuple[Grid, ...]
    expected: Expected


def read_task_file(path: Path) -> TaskFile:
    """A task from its file.

    Raises:
        TaskFileError: the file cannot be read, or is no ARC task.
    """
    try:
        return task_file_of(read(path), key=path.stem)
    except FetchError as error:
        raise TaskFileError(str(error)) from None


def task_file_of(content: bytes, *, key: str) -> TaskFile:
    """A task from the bytes of its file.

    Raises:
        TaskFileError: they are no ARC task.
    """
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise TaskFileError(f"{key} is not JSON: {error}") from None
    if not isinstance(value, dict) or not _TASK <= set(value) <= _TASK | _OPTIONAL:
        raise TaskFileError(f"{key} must be an object with 'train' and 'test'")
    train, test = (_pairs(value[part], name=f"{key}: {part}") for part in ("train", "test"))
    return TaskFile(
        key=key,
        demonstrations=train,
        test_inputs=tuple(pair.input for pair in test),
        expected=Expected(key=key, outputs=tuple(pair.output for pair in test)),
    )


def _pairs(value: object, *, name: str) -> tuple[Demonstration, ...]:
    if not isinstance(value, list) or not value:
        raise TaskFileError(f"{name} must be a list of at least one pair")
    return tuple(_pair(pair, name=f"{name} {number}") for number, pair in enumerate(value))


def _pair(value: object, *, name: str) -> Demonstration:
    if not isinstance(value, dict) or set(value) != _PAIR:
        raise TaskFileError(f"{name} must be an object with 'input' and 'output'")
    pair: Mapping[str, Any] = value
    try:
        return Demonstration(
            input=grid_of(pair["input"], name=f"{name}: input"), output=grid_of(pair["output"], name=f"{name}: output")
        )
    except GridError as error:
        raise TaskFileError(str(error)) from None
