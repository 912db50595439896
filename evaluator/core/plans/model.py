"""The plan: a directed acyclic graph of calls to tools."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from evaluator.core.canonical_json import JsonValue
from evaluator.core.tools.types import Catalogue, ResourceType


@dataclass(frozen=True, slots=True)
class Step:
    """One tool call with named inputs and outputs."""

    id: str
    tool: str
    inputs: Mapping[str, str]
    """Argument name to a reference (`$resource` or an output of another step) or, for texts, a literal."""
    outputs: Mapping[str, str]
    """Output name of the tool to the reference under which other steps name it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps, in any order, and the references that are the answer."""

    steps: tuple[Step, ...]
    answers: tuple[str, ...]
    subgoals: tuple[str, ...] | None = None

    def tools(self) -> tuple[str, ...]:
        """Tool names in the order of the steps."""
        return tuple(step.tool for step in self.steps)


@dataclass(frozen=True, slots=True)
class PlanContext:
    """The facts that a plan is read and checked against, which are those that the planner was given."""

    catalogue: Catalogue
    """The tools that were offered."""
    resources: Mapping[str, ResourceType]
    """The request's resources by name, without the `$`."""
    expects: ResourceType | None
    """Type of the answer; None if a request may have several answers of any type."""
    known: Catalogue | None = None
    """The whole catalogue, to distinguish a tool without an expert from an invented one."""
    several: tuple[ResourceType, ...] = ()
    """Types of the answers, in order, if a request expects several of known types; else empty."""
    may_abstain: bool = False
    """Whether a plan may have neither steps nor answers, to say that no tool can meet the request."""


@dataclass(frozen=True, slots=True)
class ParsedPlan:
    """A plan as a parser read it, with everything that it tolerated."""

    plan: Plan
    form: str
    tolerated: tuple[str, ...] = ()
    reason: str = ""
    """Of an abstention: why no plan can meet the request, in the planner's words."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault of a plan, described so that its author can fix it."""

    code: str
    message: str
    step: str | None = None
    """Id of the step that it concerns, if any."""


# Not frozen: `contextlib` sets `__traceback__` on an exception that crosses a context manager.
@dataclass(eq=False)
class PlanSyntaxError(Exception):
    """A text or JSON value that cannot be read as a plan."""

    message: str
    where: str = ""
    """A JSON path such as `steps[2].inputs`, or a position such as `character 17`."""
    tolerated: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


def plan_to_json(plan: Plan) -> dict[str, JsonValue]:
    """The canonical form `plan/1`; `parse_canonical` is its inverse."""
    return {
        "steps": [
            {"id": step.id, "tool": step.tool, "inputs": dict(step.inputs), "outputs": dict(step.outputs)}
            for step in plan.steps
        ],
        "answers": list(plan.answers),
        "subgoals": None if plan.subgoals is None else list(plan.subgoals),
    }
