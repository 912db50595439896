"""Lessons of a suite's own tasks: what fine-tuning on gold plans teaches."""

from collections.abc import Sequence

from evaluator.core.plans.model import Plan
from evaluator.core.suites.base import Suite, Task
from evaluator.openagi.strategies.demonstrations import Demonstration
from evaluator.openagi.strategies.teaching import NoTreeError, as_tree, examples
from evaluator.openagi.training.corpus.paraphrases import Lesson


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
