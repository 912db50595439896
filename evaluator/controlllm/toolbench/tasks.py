"""Tasks of ControlLLM's suites, with goals derived from their requests.

In a suite with a tool outage each task lacks a tool of its gold plan. If every part of the goal can still be met, the
task gets another gold plan. Otherwise no plan can meet the request, and abstaining is right.
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

    The arguments of the decomposition give the role of a file, and name files from the context of the dialogue. Other
    files in the text have the type that their name implies.
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
    """A request with its derived goal."""

    group: str
    level: str
    """`easy`, `medium` or `hard`; empty if unknown."""
    flags: tuple[str, ...]
    """Names of the defects of the released entry."""
    active: bool
    """Whether it is in the split without defective entries."""
    goal: Goal | None
    uncovered: str
    """Why there is no goal; empty if a goal was derived."""
    files: Mapping[str, frozenset[ResourceType]]
    """The request's files with the types in which it gives them."""
    decomposition: Decomposition | None
    plain: str = ""
    """The request in words that the rules for goals know; empty: the request is."""
    other_words: str = ""
    """A paraphrase of the request by its generator; empty if there is none."""
    withheld: frozenset[str] = frozenset()
    """Tools that planners are not offered."""

    @cached_property
    def gold_profile(self) -> PlanProfile:
        """The profile with which plans are compared."""
        return PlanProfile(self.gold or Plan(steps=(), answers=()))

    @cached_property
    def shortest(self) -> int:
        """Calls of the shortest sufficient plan; 0 if there is no goal or it has no parts."""
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
    """The task of a request."""
    problem = "no gold decomposition is known"
    decomposition: Decomposition | None = None
    goal: Goal | None = None
    gold: Plan | None = None
    if raw.output is not None:
        try:
            decomposition = parse_decomposition(raw.output)
            goal = derive_goal(
                instruction=raw.plain or raw.instruction, decomposition=decomposition, said=raw.instruction
            )
            gold = gold_plan(goal=goal, catalogue=CONTROLLLM)
            problem = ""
        except PlanSyntaxError as error:
            problem = f"the gold decomposition cannot be read: {error}"
        except UncoveredError as error:
            problem = str(error)
    files = files_of(instruction=raw.instruction, decomposition=decomposition)
    if raw.plain:
        # Their order in the decomposition would tell more than the request.
        files = dict(sorted(files.items()))
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
        plain=raw.plain,
        other_words=raw.other_words,
    )


@dataclass(frozen=True)
class GoalWithout(Goal):
    """A goal that must be met without some tools."""

    withheld: frozenset[str] = frozenset()

    @cached_property
    def alternatives(self) -> tuple[tuple[Pattern, ...], ...]:
        """See `Goal`; a part that can no longer be met has none."""
        return tuple(_without(patterns, tools=self.withheld) for patterns in super().alternatives)

    @cached_property
    def roundabouts(self) -> tuple[tuple[Pattern, ...], ...]:
        """See `Goal`."""
        return tuple(_without(patterns, tools=self.withheld) for patterns in super().roundabouts)


def with_outage(suite: Suite, offered: frozenset[str]) -> Suite:
    """The suite in which each task lacks a tool of its gold plan, preferably one that another plan does without.

    The tool depends only on the task. Tasks without a gold plan are unchanged.

    Args:
        suite: the suite without an outage.
        offered: names of the tools that plans may call.
    """
    return replace(suite, tasks=tuple(_with_outage(task, suite=suite, offered=offered) for task in suite.tasks))


def _with_outage(task: Task, *, suite: Suite, offered: frozenset[str]) -> Task:
    if not isinstance(task, ToolTask) or task.goal is None or not task.goal.parts or task.gold is None:
        return task
    tools = tuple(dict.fromkeys(task.gold.tools()))
    missing = frozenset(suite.catalogue.tools) - offered
    goals = {
        tool: GoalWithout(parts=task.goal.parts, request=task.goal.request, withheld=missing | {tool}) for tool in tools
    }
    replaceable = [tool for tool, goal in goals.items() if all(goal.alternatives)]
    # Not a secret: the same tool in each run.
    rng = random.Random(f"tool outage/{suite.slug}/{task.asked_as or task.key}")  # noqa: S311
    tool = rng.choice(replaceable or tools)
    withheld = frozenset({tool})
    if tool not in replaceable:
        empty = Plan(steps=(), answers=())
        return replace(task, withheld=withheld, goal=Goal(parts=()), gold=empty, metric=ABSTENTION)
    gold = gold_plan(goal=goals[tool], catalogue=suite.catalogue)
    return replace(task, withheld=withheld, goal=goals[tool], gold=gold)


def _without(patterns: Sequence[Pattern], *, tools: frozenset[str]) -> tuple[Pattern, ...]:
    pruned = (_pruned(pattern, tools=tools) for pattern in patterns)
    return tuple(pattern for pattern in pruned if pattern is not None)


def _pruned(pattern: Pattern, *, tools: frozenset[str]) -> Pattern | None:
    """The pattern without alternatives that use one of the tools; None if no alternative is left."""
    if isinstance(pattern, OneOf):
        choices = _without(pattern.patterns, tools=tools)
        return OneOf(choices) if choices else None
    if not isinstance(pattern, Using):
        return pattern
    if pattern.tool in tools:
        return None
    arguments = [(name, _pruned(argument, tools=tools)) for name, argument in pattern.args]
    left = tuple((name, argument) for name, argument in arguments if argument is not None)
    return Using(pattern.tool, left) if len(left) == len(arguments) else None
