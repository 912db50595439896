"""The file that the suite is built from: one line of JSON for each task, with the ranked elements of each step.

`planarena lumos mind2web` makes it from the released files, which have whole pages and are larger than a site can hold.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evaluator.lumos.mounted import Mounted

POOL = 50
"""Elements of a step that a planner chooses from: the best by rank."""
OPERATIONS = ("CLICK", "TYPE", "SELECT")
STEPS = Mounted(
    suite="mind2web",
    files=("steps.jsonl",),
    origin="the file that `planarena lumos mind2web` makes from Mind2Web's test files",
)


class StepFileError(ValueError):
    """A file does not have its form; the message names file and entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a recorded walk."""

    operation: str
    """One of `OPERATIONS`."""
    value: str
    """The text that was typed or selected."""
    recorded: str
    """The action in words."""
    elements: tuple[str, ...]
    """The best-ranked elements in words, at most `POOL`."""
    right: tuple[int, ...]
    """Places of the right elements among them; none where the recording names none, or its rank is too low. Such a step
    counts as failed for everyone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """One task."""

    key: str
    text: str
    website: str
    domain: str
    steps: tuple[Step, ...]


def write_walk(walk: Walk) -> str:
    """The line of a task."""
    return json.dumps(asdict(walk), ensure_ascii=False, sort_keys=True) + "\n"


def read_walks(path: Path) -> list[Walk]:
    """All tasks.

    Raises:
        StepFileError: a line does not have the form.
    """
    found = []
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                found.append(_walk(line, where=f"{path}, line {number}"))
    except (OSError, UnicodeDecodeError) as error:
        raise StepFileError(f"{path} cannot be read: {error}") from error
    if not found:
        raise StepFileError(f"{path} has no task")
    return found


def _walk(line: str, *, where: str) -> Walk:
    try:
        value = json.loads(line)
        steps = tuple(map(_step, value.pop("steps")))
        walk = Walk(**value, steps=steps)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise StepFileError(f"{where} is no task: {type(error).__name__}: {error}") from None
    if not walk.steps or not all(isinstance(one, str) for one in (walk.key, walk.text, walk.website, walk.domain)):
        raise StepFileError(f"{where} is no task: it lacks steps, or a text is none")
    return walk


def _step(value: dict[str, Any]) -> Step:
    step = Step(**{**value, "elements": tuple(value["elements"]), "right": tuple(value["right"])})
    if step.operation not in OPERATIONS:
        raise ValueError(f"there is no operation {step.operation!r}; there are {', '.join(OPERATIONS)}")
    if len(step.elements) > POOL or not all(place in range(len(step.elements)) for place in step.right):
        raise ValueError(f"a step has at most {POOL} elements, and its right ones are among them")
    return step
