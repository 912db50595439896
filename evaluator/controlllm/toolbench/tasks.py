"""A request of ControlLLM's kind as a task, with the goal that is derived for it.

In a suite with an outage each task lacks a tool of its gold plan. If every part of the goal can still be met, the task
is to find another plan, and the gold plan becomes one. Otherwise no plan can meet the request, and abstaining is right.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

from evaluator.controlllm.toolbench.goals.derive import GENERATED, UncoveredError, derive_goal
from evaluator.controlllm.toolbench.goals.goal import Goal
from evaluator.controlllm.toolbench.goals.gold import gold_plan, shortest_length
from evaluator.controlllm.toolbench.goals.parts import OneOf, Pattern, Using
from evaluator.controlllm.toolbench.released.defects import flags_of, is_active
from evaluator.controlllm.toolbench.released.files import RawTask, level_of
from evaluator.controlllm.toolbench.terms import file_names, type_of_file
from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.model import Plan, PlanSyntaxError
from evaluator.core.suites.base import ABSTENTION, Suite, Task
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.core.tools.types import ResourceType
from evaluator.replies.decomposition import Decomposition, parse_decomposition
from evaluator.scoring.metrics.planning import PlanProfile


def files_of(*, instruction: str, decomposition: Decomposition | None) -> dict[str, frozenset[ResourceType]]:
    """The files that a request gives, with the types in which it gives them.

    The decomposition's arguments say in which role a file is given, and name files that only the context of the
    dialogue gives. Other files of the text have the type that their name shows.
    """
    roles: dict[str, set[ResourceType]] = {}
    for subtask in decomposition.subtasks if decomposition is not None else ():
        for argument in subtask.args:
            if argument.type != "text" and not GENERATED.fullmatch(argument.value):
                roles.setdefault(argument.value, set()).add(ResourceType(argument.type.removeprefix("image.")))
    for name in file_names(instruction):
        roles.setdefault(name, {type_of_file(name)})
    return {name: frozenset(kinds) for name, kinds in roles.items()}


@dataclass(frozen=True, kw_only=True)
class ToolTask(Task):
    """A request with the goal that was derived for it."""

    group: str
    level: str
    """`easy`, `medium` or `hard`; empty where it is not known."""
    flags: tuple[str, ...]
    """Names of the defects that the released entry has."""
    active: bool
    """Whether it is in the split without defective entries."""
    goal: Goal | None
    uncovered: str
    """Why there is no goal; empty if there is one."""
    files: Mapping[str, frozenset[ResourceType]]
    """The request's files with the types in which it gives them."""
    decomposition: Decomposition | None
    withheld: frozenset[str] = frozenset()
    """Tools that planners are not offered."""

    @cached_property
    def gold_profile(self) -> PlanProfile:
        """What plans are compared with."""
        return PlanProfile(self.gold or Plan(steps=(), answers=()))

    @cached_property
    def shortest(self) -> int:
        """Calls of the shortest sufficient plan; 0 where nothing is known to be wanted."""
        return shortest_length(self.goal) if self.goal is not None else 0

    @property
    def attributes(self) -> dict[str, JsonValue]:
        return {
            "group": self.group,
            "level": self.level,
            "flags": list(self.flags),
            "active": self.active,
            "uncovered": self.uncovered,
            "parts": [part.sentence() for part in self.goal.parts] if self.goal is not None else [],
        }

    @property
    def relevant_tools(self) -> frozenset[str] | None:
        return self.goal.relevant if self.goal is not None else None

    @property
    def offers(self) -> frozenset[str] | None:
        return frozenset(CONTROLLLM.tools) - self.withheld if self.withheld else None

    @property
    def types_given(self) -> Mapping[str, frozenset[ResourceType]]:
        return self.files


def tool_task(raw: RawTask) -> ToolTask:
    """Derive everything about one request."""
    decomposition, problem = _decomposition(raw)
    goal: Goal | None = None
    gold: Plan | None = None
    if decomposition is not None:
        try:
            goal = derive_goal(instruction=raw.instruction, decomposition=decomposition)
            gold = gold_plan(goal=goal, catalogue=CONTROLLLM)
        except UncoveredError as error:
            problem = str(error)
    files = files_of(instruction=raw.instruction, decomposition=decomposition)
    flags = flags_of(raw, decomposition)
    return ToolTask(
        key=raw.key,
        text=raw.instruction,
        structure="linear" if goal is None or len(goal.parts) == 1 else "nonlinear",
        metric="SE",
        resources=MappingProxyType({name: min(kinds) for name, kinds in files.items()}),
        expects=None,
        gold=gold,
        group=raw.group,
        level=level_of(raw=raw, calls=None if gold is None else len(gold.steps)) or "",
        flags=flags,
        active=is_active(flags),
        goal=goal,
        uncovered=problem,
        files=MappingProxyType(files),
        decomposition=decomposition,
    )


def _decomposition(raw: RawTask) -> tuple[Decomposition | None, str]:
    if raw.output is None:
        return None, "no gold decomposition is known"
    try:
        return parse_decomposition(raw.output), ""
    except PlanSyntaxError as error:
        return None, f"the gold decomposition cannot be read: {error}"


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
