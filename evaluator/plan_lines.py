"""Files of plans for several tasks: one JSON object a line."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evaluator.planners.protocol import MAX_ALTERNATIVES
from evaluator.suites.base import Suite, Task


class PlanFileError(ValueError):
    """A line of the file is not what it should be; the message names it."""


@dataclass(frozen=True, slots=True)
class PlanLine:
    """One line: a task, its candidate plans (best first), and whatever else the line holds."""

    number: int
    task: str
    plans: tuple[object, ...]
    rest: Mapping[str, Any]


def read_lines(lines: Iterable[str]) -> Iterator[PlanLine]:
    """Read `{"task": ..., "plan": ...}` or `{"task": ..., "plans": [...]}` lines.

    Raises:
        PlanFileError: a line is no such object.
    """
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            raw = json.loads(line)
        except (ValueError, RecursionError):
            raise PlanFileError(f"line {number} is not valid JSON") from None
        if not isinstance(raw, dict) or not isinstance(raw.get("task"), str | int):
            raise PlanFileError(f'line {number} must be an object with "task" and "plan"')
        if "plan" not in raw and not isinstance(raw.get("plans"), list):
            raise PlanFileError(f'line {number} has no "plan"')
        plans = [raw["plan"]] if "plan" in raw else raw["plans"]
        taken = {"task", "plan" if "plan" in raw else "plans"}
        rest = {key: value for key, value in raw.items() if key not in taken}
        yield PlanLine(number=number, task=str(raw["task"]), plans=tuple(plans[: 1 + MAX_ALTERNATIVES]), rest=rest)


def task_at(*, suite: Suite, key: str) -> Task | None:
    """The task with this key or position, as lines of plan files name them; None if there is none."""
    return tasks_by_name(suite).get(key)


def tasks_by_name(suite: Suite) -> dict[str, Task]:
    """The tasks by their keys and positions; a key comes before a position."""
    return {str(index): task for index, task in enumerate(suite.tasks)} | {task.key: task for task in suite.tasks}
