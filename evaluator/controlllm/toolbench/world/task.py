"""A request about the miniature world as a task."""

from dataclasses import dataclass, fields, replace
from typing import Any

from evaluator.controlllm.toolbench.goals.goal import Goal
from evaluator.controlllm.toolbench.goals.gold import gold_plan
from evaluator.controlllm.toolbench.tasks import ToolTask, tool_task
from evaluator.controlllm.toolbench.world.given import Given
from evaluator.controlllm.toolbench.world.requests import Request
from evaluator.controlllm.toolbench.world.wanted import Wanted
from evaluator.core.canonical_json import JsonValue
from evaluator.core.suites.base import Task
from evaluator.core.tools.catalogues import CONTROLLLM

SEVERAL = "several"
"""The metric of requests for several results: the mean of their scores."""


@dataclass(frozen=True, kw_only=True)
class WorldTask(ToolTask):
    """A request whose plans are judged and executed."""

    given: tuple[Given, ...]
    wanted: tuple[Wanted, ...]

    @property
    def answers(self) -> tuple[Task, ...]:
        """See `Task`."""
        if len(self.wanted) == 1:
            return (self,)
        return tuple(replace(self, wanted=(one,), metric=one.metric, expects=one.type) for one in self.wanted)

    @property
    def attributes(self) -> dict[str, JsonValue]:
        results: list[JsonValue] = []
        results += list(dict.fromkeys(str(one.kind) for one in self.wanted))
        return {**super().attributes, "results": results}

    def file(self, name: str) -> Given:
        """What the request says of a file."""
        return next(given for given in self.given if given.name == name)


def world_task(request: Request) -> WorldTask:
    """Derive everything about one request.

    Raises:
        ValueError: the goal that follows from its words and decomposition does not have a part for each result.
    """
    task = tool_task(request.raw)
    if task.goal is None or len(task.goal.parts) != len(request.wanted):
        raise ValueError(f"{request.raw.key} wants {len(request.wanted)} results, and its goal has other parts: {task}")
    parts = [replace(part, only=wanted.tool) for part, wanted in zip(task.goal.parts, request.wanted, strict=True)]
    goal = Goal(parts=tuple(parts), request=task.goal.request)
    made: dict[str, Any] = {field.name: getattr(task, field.name) for field in fields(task)}
    first = request.wanted[0]
    is_several = len(request.wanted) > 1
    made |= {
        "goal": goal,
        "gold": gold_plan(goal=goal, catalogue=CONTROLLLM),
        "metric": SEVERAL if is_several else first.metric,
        "expects": None if is_several else first.type,
        "resources": {given.name: given.type for given in request.given},
        "files": {given.name: frozenset({given.type}) for given in request.given},
    }
    return WorldTask(**made, given=request.given, wanted=request.wanted)
