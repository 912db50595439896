"""Gold plans of public requests, used for other requests."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from evaluator.core.planner import PlannerRequest
from evaluator.core.plans.model import Plan, Step, plan_to_json
from evaluator.core.suites.base import Suite, Task
from evaluator.core.suites.hidden import HIDDEN, suite_on_split
from evaluator.planners.ablations import literals, with_texts
from evaluator.planners.attacks.base import empty_plan

Shape = tuple[tuple[str, ...], str | None, tuple[str, ...]]
"""Types of a request's inputs, and of its answers."""


def shape_of(request: PlannerRequest) -> Shape:
    """What a planner knows of a request without reading its words."""
    return tuple(request.task.resources.values()), request.expects.type, tuple(request.expects.types)


def shape_of_task(task: Task) -> Shape:
    """`shape_of` the request for a task."""
    several = () if task.expects else tuple(str(answer.expects) for answer in task.answers if answer.expects)
    expected = None if task.expects is None else str(task.expects)
    return tuple(map(str, task.resources.values())), expected, several


def renamed(plan: Plan, *, task: Task, request: PlannerRequest) -> Plan:
    """A plan for a public task with the resources of a request in the place of the task's."""
    names = dict(zip(task.resources, request.task.resources, strict=False))
    references = {f"{mark}{name}": f"${other}" for name, other in names.items() for mark in ("$", "")}

    def moved(values: Mapping[str, str]) -> dict[str, str]:
        return {name: references.get(value, value) for name, value in values.items()}

    return Plan(
        steps=tuple(replace(step, inputs=moved(step.inputs)) for step in plan.steps),
        answers=tuple(references.get(answer, answer) for answer in plan.answers),
    )


def plan_from(task: Task | None, *, request: PlannerRequest) -> dict[str, Any]:
    """The gold plan of a public task for a request; an empty plan without one."""
    if task is None or task.gold is None:
        return empty_plan()
    return plan_to_json(renamed(task.gold, task=task, request=request))


_CLOSED_SEED = "c" * 64


def closed_season(suite: Suite) -> tuple[Task, ...]:
    """The requests of a closed season, whose seed is published, in the order in which they were asked."""
    closed = suite_on_split(suite=suite, split=HIDDEN, hidden_seed=_CLOSED_SEED)
    return tuple(closed.asked(task.key for task in suite.tasks))


class MostFrequent:
    """For each shape of requests the most frequent gold plan of public requests, with the request as every text."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = _most_frequent(tasks)

    def __call__(self, request: PlannerRequest) -> dict[str, Any]:
        task = self._tasks.get(shape_of(request))
        if task is None or task.gold is None:
            return empty_plan()
        texts = {(step.id, name): request.task.request for step, name in literals_of(task)}
        return plan_to_json(renamed(with_texts(plan=task.gold, texts=texts), task=task, request=request))


def _most_frequent(tasks: Sequence[Task]) -> dict[Shape, Task]:
    counts: dict[Shape, Counter[tuple[str, ...]]] = {}
    first: dict[tuple[Shape, tuple[str, ...]], Task] = {}
    for task in tasks:
        if task.gold is None:
            continue
        shape, tools = shape_of_task(task), task.gold.tools()
        counts.setdefault(shape, Counter())[tools] += 1
        first.setdefault((shape, tools), task)
    return {shape: first[shape, counted.most_common(1)[0][0]] for shape, counted in counts.items()}


def literals_of(task: Task) -> list[tuple[Step, str]]:
    """The literal arguments of a task's gold plan."""
    return [] if task.gold is None else list(literals(plan=task.gold, resources=task.resources))
