"""Gold plans as lessons: the model's expected answer to each call of `openagi/nonlinear`."""

from collections.abc import Sequence
from itertools import pairwise

from evaluator.core.plans.checks import execution_order
from evaluator.core.plans.model import Plan, Step
from evaluator.core.suites.base import Suite, Task
from evaluator.openagi.strategies.prompts import Demonstration
from evaluator.openagi.training.corpus import tree_lessons
from evaluator.training.lessons import Lesson


class NoTreeError(ValueError):
    """The plan is not a tree of one branch per resource, so no search can find it."""


def as_tree(*, resources: Sequence[str], plan: Plan) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """A plan as one branch per resource and the names after them. Raises NoTreeError if it is not a tree."""
    branches = [_chain(plan=plan, value=f"${name}") for name in resources]
    rest = [step for step in execution_order(plan) if not any(step in branch for branch in branches)]
    for before, after in pairwise(rest):
        if set(before.outputs.values()).isdisjoint(after.inputs.values()):
            raise NoTreeError(f"step {after.id!r} takes nothing of step {before.id!r}, behind the branches")
    names = tuple(step.tool for step in rest)
    if (len(branches) > 1) is not bool(names):
        raise NoTreeError("nothing joins the branches" if len(branches) > 1 else f"{names[0]} takes another input")
    return tuple(tuple(step.tool for step in branch) for branch in branches), names


def _chain(*, plan: Plan, value: str) -> list[Step]:
    """The consecutive steps from a value on that have one input, one output and no rival for their input."""
    chain: list[Step] = []
    while True:
        takers = [step for step in plan.steps if value in step.inputs.values()]
        if len(takers) != 1 or len(takers[0].inputs) != 1 or len(takers[0].outputs) != 1:
            return chain
        chain.append(takers[0])
        value = next(iter(takers[0].outputs.values()))


class NoLessonsError(ValueError):
    """A task has no usable gold plan."""


def gold_lessons(*, suite: Suite, tasks: Sequence[str]) -> tuple[Lesson, ...]:
    """The lessons of each task, in order.

    Raises:
        NoLessonsError: a task has no gold plan, or one that no search can find.
    """
    lessons: list[Lesson] = []
    for task in map(suite.task, tasks):
        branches, names = _gold_tree(task, verb="taught")
        lessons += tree_lessons(request=task.text, resources=list(task.resources), branches=branches, names=names)
    return tuple(lessons)


def gold_demonstrations(*, suite: Suite, tasks: Sequence[str]) -> tuple[Demonstration, ...]:
    """The gold plans of tasks for few-shot prompts. If several inputs have the same type, repairs name their input.

    Raises:
        NoLessonsError: as above.
    """
    demonstrations = []
    for task in map(suite.task, tasks):
        branches, names = _gold_tree(task, verb="shown")
        several = len(set(task.resources.values())) < len(task.resources)
        repairs = [
            f"{name} on the {resource}" if several else name
            for resource, branch in zip(task.resources, branches, strict=True)
            for name in branch
        ]
        demonstrations.append(Demonstration(request=task.text, steps=(*repairs, *names)))
    return tuple(demonstrations)


def _gold_tree(task: Task, *, verb: str) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    if task.gold is None:
        raise NoLessonsError(f"task {task.key} has no gold plan, so there is nothing to learn from it")
    try:
        return as_tree(resources=list(task.resources), plan=task.gold)
    except NoTreeError as error:
        raise NoLessonsError(f"the gold plan of task {task.key} cannot be {verb}: {error}") from None
