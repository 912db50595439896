"""The tasks of a suite with a tool less: what is then right follows from the same rules that judge plans.

A tool of the gold plan is withheld. If every part of the goal can still be met, the task is to find another plan, and
the gold plan becomes one. Otherwise no plan can meet the request, and abstaining is right.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from evaluator.controlllm.toolbench.goals.goal import Goal
from evaluator.controlllm.toolbench.goals.gold import gold_plan
from evaluator.controlllm.toolbench.goals.parts import OneOf, Pattern, Using
from evaluator.controlllm.toolbench.tasks import ToolTask
from evaluator.core.plans.model import Plan
from evaluator.core.suites.base import ABSTENTION, Suite, Task


@dataclass(frozen=True)
class GoalWithout(Goal):
    """A goal for which some tools cannot be used."""

    withheld: frozenset[str] = frozenset()

    @cached_property
    def alternatives(self) -> tuple[tuple[Pattern, ...], ...]:
        """See `Goal`; a part that cannot be met any more has none."""
        return tuple(_without(patterns, tools=self.withheld) for patterns in super().alternatives)

    @cached_property
    def roundabouts(self) -> tuple[tuple[Pattern, ...], ...]:
        """See `Goal`."""
        return tuple(_without(patterns, tools=self.withheld) for patterns in super().roundabouts)

    @property
    def can_be_met(self) -> bool:
        """Whether every part has a sufficient alternative left."""
        return all(self.alternatives)


def with_outage(suite: Suite, offered: frozenset[str]) -> Suite:
    """The suite in which each task with a gold plan lacks one of its tools, if possible one that another plan replaces.

    Which one follows from the task alone. Tasks without a gold plan are left as they are.

    Args:
        suite: as planners are asked.
        offered: names of the tools that plans may call.
    """
    return replace(suite, tasks=tuple(_with_outage(task, suite=suite, offered=offered) for task in suite.tasks))


def _with_outage(task: Task, *, suite: Suite, offered: frozenset[str]) -> Task:
    if not isinstance(task, ToolTask) or task.goal is None or not task.goal.parts or task.gold is None:
        return task
    tools = tuple(dict.fromkeys(task.gold.tools()))
    lacking = frozenset(suite.catalogue.tools) - offered
    left = {tool: goal_without(task.goal, withheld=lacking | {tool}) for tool in tools}
    replaceable = [tool for tool, goal in left.items() if goal.can_be_met]
    # Not a secret: the same tool in each run.
    rng = random.Random(f"tool outage/{suite.slug}/{task.asked_as or task.key}")  # noqa: S311
    tool = rng.choice(replaceable or tools)
    goal = left[tool]
    withheld = frozenset({tool})
    if not goal.can_be_met:
        nothing = Plan(steps=(), answers=())
        return replace(task, withheld=withheld, goal=Goal(parts=()), gold=nothing, metric=ABSTENTION)
    return replace(task, withheld=withheld, goal=goal, gold=gold_plan(goal=goal, catalogue=suite.catalogue))


def goal_without(goal: Goal, *, withheld: frozenset[str]) -> GoalWithout:
    """The goal, for which these tools cannot be used."""
    return GoalWithout(parts=goal.parts, request=goal.request, withheld=withheld)


def _without(patterns: Sequence[Pattern], *, tools: frozenset[str]) -> tuple[Pattern, ...]:
    left = (_pruned(pattern, tools=tools) for pattern in patterns)
    return tuple(pattern for pattern in left if pattern is not None)


def _pruned(pattern: Pattern, *, tools: frozenset[str]) -> Pattern | None:
    """The pattern without ways that use one of the tools; None if no way is left."""
    if isinstance(pattern, OneOf):
        left = _without(pattern.patterns, tools=tools)
        return OneOf(left) if left else None
    if not isinstance(pattern, Using):
        return pattern
    if pattern.tool in tools:
        return None
    arguments = [(name, _pruned(argument, tools=tools)) for name, argument in pattern.args]
    kept = tuple((name, argument) for name, argument in arguments if argument is not None)
    return Using(pattern.tool, kept) if len(kept) == len(arguments) else None
