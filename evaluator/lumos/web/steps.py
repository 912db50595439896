"""The suite's file: a line of JSON per task, with the ranked elements of each step.

`planarena lumos mind2web` builds it from the released files, which contain whole pages and are too large for a site.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evaluator.lumos.mounted import Mounted

POOL = 50
"""Number of candidate elements of a step, the best by rank."""
OPERATIONS = ("CLICK", "TYPE", "SELECT")
STEPS = Mounted(
    suite="mind2web", files=("steps.jsonl",),
    origin="the file that `planarena lumos mind2web` makes from Mind2Web's test files",
)  # fmt: skip


class StepFileError(ValueError):
    """Invalid file; the message names file and entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step of a recorded walk."""

    operation: str
    """One of `OPERATIONS`."""
    value: str
    """The text that was typed or selected."""
    recorded: str
    """Description of the action."""
    elements: tuple[str, ...]
    """Descriptions of the best-ranked elements, at most `POOL`."""
    right: tuple[int, ...]
    """Indices of the right elements; empty if the recording has none, or its rank is too low. Such a step always counts
    as failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """A task."""

    key: str
    text: str
    website: str
    domain: str
    steps: tuple[Step, ...]


def write_walk(walk: Walk) -> str:
    """The line of a task."""
    return json.dumps(asdict(walk), ensure_ascii=False, sort_keys=True) + "\n"


def read_walks(path: Path) -> list[Walk]:
    """Read all tasks.

    Raises:
        StepFileError: a line is invalid.
    """
    try:
        with path.open(encoding="utf-8") as lines:
            walks = [_walk(line, where=f"{path}, line {number}") for number, line in enumerate(lines, start=1)]
    except (OSError, UnicodeDecodeError) as error:
        raise StepFileError(f"{path} cannot be read: {error}") from error
    if not walks:
        raise StepFileError(f"{path} has no task")
    return walks


def _walk(line: str, *, where: str) -> Walk:
    try:
        value = json.loads(line)
        steps = tuple(map(_step, value.pop("steps")))
        walk = Walk(**value, steps=steps)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise StepFileError(f"{where} is no task: {type(error).__name__}: {error}") from None
    if not walk.steps or not all(isinstance(text, str) for text in (walk.key, walk.text, walk.website, walk.domain)):
        raise StepFileError(f"{where} is no task: it lacks steps, or a text is none")
    return walk


def _step(value: dict[str, Any]) -> Step:
    step = Step(**{**value, "elements": tuple(value["elements"]), "right": tuple(value["right"])})
    if step.operation not in OPERATIONS:
        raise ValueError(f"there is no operation {step.operation!r}; there are {', '.join(OPERATIONS)}")
    if len(step.elements) > POOL or not all(place in range(len(step.elements)) for place in step.right):
        raise ValueError(f"a step has at most {POOL} elements, and its right ones are among them")
    return step
