"""A request of ControlLLM's kind as a task, with the goal that is derived for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from evaluator.controlllm.toolbench.goals.derive import UncoveredError, derive_goal
from evaluator.controlllm.toolbench.goals.given_files import files_of
from evaluator.controlllm.toolbench.goals.goal import Goal
from evaluator.controlllm.toolbench.goals.gold import gold_plan
from evaluator.controlllm.toolbench.levels import level_of
from evaluator.controlllm.toolbench.released.defects import flags_of, is_active
from evaluator.controlllm.toolbench.released.raw import RawTask
from evaluator.controlllm.toolbench.shortest import shortest_length
from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.model import Plan, PlanSyntaxError
from evaluator.core.suites.base import Task
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.core.tools.types import ResourceType
from evaluator.replies.decomposition import Decomposition, parse_decomposition
from evaluator.scoring.metrics.planning import PlanProfile


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
