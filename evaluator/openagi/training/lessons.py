"""What a model must write at each call of `openagi/nonlinear` for a given plan to come out, and the gold plans of tasks
as such lessons.

For a request of one input that is one example, the same as for `openagi/constrained`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from evaluator.core.language_model import Message
from evaluator.core.plans.checks import execution_order
from evaluator.core.plans.model import Plan, Step
from evaluator.core.suites.base import Suite, Task
from evaluator.openagi.strategies.constraint import SEPARATOR, tree_text
from evaluator.openagi.strategies.prompts import Demonstration, branch_prompt, sequence_prompt
from evaluator.openagi.training.corpus import Lesson


class NoTreeError(ValueError):
    """A plan that is no tree of one branch per resource, so that no search could find it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A prompt and the names that are to follow."""

    messages: tuple[Message, ...]
    names: tuple[str, ...]

    @property
    def text(self) -> str:
        """The names as a model writes them; empty where nothing is to follow."""
        return SEPARATOR.join(self.names)


def examples(*, request: str, resources: Sequence[str], plan: Plan) -> tuple[Example, ...]:
    """The examples of one request.

    Args:
        request: its text.
        resources: names of what it gives, in its order.
        plan: a right plan for it.

    Raises:
        NoTreeError: no search could find the plan.
    """
    branches, names = as_tree(resources=resources, plan=plan)
    if len(branches) == 1:
        return (Example(messages=sequence_prompt(request=request), names=branches[0]),)
    found = [
        Example(messages=branch_prompt(request=request, resource=resource), names=branch)
        for resource, branch in zip(resources, branches, strict=True)
    ]
    so_far = tree_text(branches=branches)
    found.append(Example(messages=sequence_prompt(request=request, so_far=so_far), names=names))
    so_far = tree_text(branches=branches, names=names)
    found.append(Example(messages=sequence_prompt(request=request, so_far=so_far), names=()))
    return tuple(found)


def as_tree(*, resources: Sequence[str], plan: Plan) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """A plan as one branch per resource and the names behind them.

    Raises:
        NoTreeError: it is none.
    """
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
    """The steps of one input that lead away from a value, until its result is used by none or by another kind."""
    chain: list[Step] = []
    while True:
        takers = [step for step in plan.steps if value in step.inputs.values()]
        if len(takers) != 1 or len(takers[0].inputs) != 1 or len(takers[0].outputs) != 1:
            return chain
        chain.append(takers[0])
        value = next(iter(takers[0].outputs.values()))


class NoLessonsError(ValueError):
    """A suite has no gold plans to learn from; the message says what is missing."""


def gold_lessons(*, suite: Suite, tasks: Sequence[str]) -> tuple[Lesson, ...]:
    """For each task, in order, what a model must write at each call of `openagi/nonlinear` for its gold plan.

    Raises:
        NoLessonsError: a task has no gold plan, or one that no search finds.
    """
    return tuple(lesson for key in tasks for lesson in _lessons(suite.task(key)))


def gold_demonstrations(*, suite: Suite, tasks: Sequence[str]) -> tuple[Demonstration, ...]:
    """The gold plans of tasks as few-shot prompts show them.

    Raises:
        NoLessonsError: as above.
    """
    return tuple(_demonstration(suite.task(key)) for key in tasks)


def _lessons(task: Task) -> tuple[Lesson, ...]:
    try:
        found = examples(request=task.text, resources=list(task.resources), plan=_gold(task))
    except NoTreeError as error:
        raise NoLessonsError(f"the gold plan of task {task.key} cannot be taught: {error}") from None
    return tuple(Lesson(messages=example.messages, answer=example.text) for example in found)


def _demonstration(task: Task) -> Demonstration:
    """Repairs say on which input they work where there are several inputs of one type."""
    try:
        branches, names = as_tree(resources=list(task.resources), plan=_gold(task))
    except NoTreeError as error:
        raise NoLessonsError(f"the gold plan of task {task.key} cannot be shown: {error}") from None
    several = len(set(task.resources.values())) < len(task.resources)
    repairs = [
        f"{name} on the {resource}" if several else name
        for resource, branch in zip(task.resources, branches, strict=True)
        for name in branch
    ]
    return Demonstration(request=task.text, steps=(*repairs, *names))


def _gold(task: Task) -> Plan:
    if task.gold is None:
        raise NoLessonsError(f"task {task.key} has no gold plan, so there is nothing to learn from it")
    return task.gold
