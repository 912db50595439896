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
"""Added by an editor to eleven of the released files."""


class TaskFileError(ValueError):
    """A file is not an ARC task; the message names the file and the place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The expected outputs of a task's test inputs, in order.

    Only for scoring. Not part of a task, not serializable to JSON, and its repr hides the grids.
    """

    key: str
    outputs: tuple[Grid, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFile:
    """A parsed task file."""

    key: str
    """ARC's id of the task: the file's name without suffix."""
    demonstrations: tuple[Demonstration, ...]
    test_inputs: tuple[Grid, ...]
    expected: Expected


def read_task_file(path: Path) -> TaskFile:
    """Read a task.

    Raises:
        TaskFileError: the file cannot be read, or is not an ARC task.
    """
    try:
        return task_file_of(read(path), key=path.stem)
    except FetchError as error:
        raise TaskFileError(str(error)) from None


def task_file_of(content: bytes, *, key: str) -> TaskFile:
    """Parse the content of a task file.

    Raises:
        TaskFileError: the content is not an ARC task.
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
