"""The planner protocol `planner/1`: requests and responses."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, Protocol, runtime_checkable

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.abstaining import MAX_REASON, abstention
from evaluator.core.plans.model import PlanContext
from evaluator.core.records import PlannerCall, Reason
from evaluator.core.suites.base import Suite, Task
from evaluator.core.tools.types import Catalogue

MAX_RESPONSE_BYTES = 1024 * 1024
"""Maximum size of an endpoint's response, and of a plan in a file."""
MAX_ALTERNATIVES = 4
"""Maximum number of plans in a response besides the first."""
_MOST_TOKENS = 2**31
_FORMATS = {
    "alternatives": f"a list of at most {MAX_ALTERNATIVES} plans",
    "usage": 'an object with whole numbers "prompt_tokens" and "completion_tokens"',
    "confidence": "a number from 0 to 1",
    "reason": "a text",
    "responds": "true or false",
}
"""The format of each optional field."""


class Message(BaseModel):
    """Base class of the protocol's messages."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class RequestedTask(Message):
    """The request as the planner sees it, without gold plan, references and the task's attributes."""

    id: str
    request: str
    """The request in English."""
    resources: dict[str, str]
    """Types of the resources by name. A plan refers to a resource as `$name`."""
    given: dict[str, JsonValue] = Field(default_factory=dict)
    """Values that are part of the request, in the suite's format; absent if there are none."""

    @model_serializer(mode="wrap")
    def _without_empty_given(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        # Keeps the requests of other suites unchanged, and with them the keys of journals.
        fields: dict[str, object] = handler(self)
        return fields if self.given else {name: value for name, value in fields.items() if name != "given"}


class Expected(Message):
    """The expected answer."""

    type: str | None
    """None if the request may ask for several results, or if only the request itself tells what it asks for."""
    types: list[str] = Field(default_factory=list)
    """The type of each answer, in order, if planners may know that the request asks for several; otherwise empty."""


class OfferedTool(Message):
    """A tool that a plan may call."""

    name: str
    description: str
    inputs: dict[str, str]
    outputs: dict[str, str]


class PlannerRequest(Message):
    """One turn. Stateless: it contains everything that the planner needs."""

    version: Literal["planner/1"] = "planner/1"
    suite: str
    task: RequestedTask
    expects: Expected
    tools: list[OfferedTool]
    history: list[dict[str, JsonValue]] = Field(default_factory=list)
    """Earlier turns with the results of their actions; empty for suites that ask for a whole plan."""


class Ran(Message):
    """The outcome of a plan on the first sample."""

    calls: list[str]
    """The calls that ran, as `tool(name=value, ...)`, in the plan's order."""
    results: dict[str, str]
    """Each answer in words, by the name of its file."""


class RespondRequest(PlannerRequest):
    """Asks what a planner says to the user about the results of its plan. Sent to those that want it (`responds`)."""

    ran: Ran


def _bounded(value: object) -> str:
    # Other values are no fault: responses could contain anything here before the protocol had reasons.
    return value[:MAX_REASON] if isinstance(value, str) else ""


def _probability(value: object) -> float | None:
    # No score depends on it, so an invalid value is no fault.
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= 1 else None


_COUNTS = ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens")


def _usage(value: object) -> dict[str, int] | None:
    # Further details and invalid values are no fault.
    if not isinstance(value, Mapping):
        return None
    counts = {name: value.get(name) for name in _COUNTS}
    valid = {name: count for name, count in counts.items() if type(count) is int and 0 <= count < _MOST_TOKENS}
    return valid or None


def _alternatives(value: object) -> Sequence[object]:
    if not isinstance(value, list):
        return []
    return [plan for plan in value if isinstance(plan, dict | list | str)][:MAX_ALTERNATIVES]


Usage = Annotated[dict[str, int] | None, BeforeValidator(_usage)]
Alternatives = Annotated[list[dict[str, JsonValue] | list[JsonValue] | str], BeforeValidator(_alternatives)]


class PlannerResponse(Message):
    """The answer to one turn. Optional fields with invalid values are ignored and never invalidate the plan."""

    model_config = ConfigDict(extra="ignore")
    OPTIONS: ClassVar[frozenset[str]] = frozenset({"reason", "alternatives", "usage", "confidence", "responds"})

    plan: dict[str, JsonValue] | list[JsonValue] | str | None
    """`plan/1` as an object, or any other accepted form; null: no plan can satisfy the request."""
    reason: Annotated[str, BeforeValidator(_bounded), Field(max_length=MAX_REASON)] = ""
    """With a null plan: why. Long texts are truncated; values other than texts are ignored."""
    alternatives: Alternatives = Field(default_factory=list, max_length=MAX_ALTERNATIVES)
    """Up to four further plans, best first. Only `plan` is scored; suites that judge plans also report the best."""
    usage: Usage = None
    """Optional token counts: `prompt_tokens` and `completion_tokens`, and parts of them, `cached_tokens` and
    `reasoning_tokens`."""
    confidence: Annotated[float | None, BeforeValidator(_probability)] = None
    """Optional: the planner's confidence that the plan is right, from 0 to 1. Other values are ignored."""
    responds: Annotated[bool, BeforeValidator(lambda value: value is True)] = False
    """Optional: whether it wants to tell the user about the results once the plan has run, where that is scored."""

    @classmethod
    def is_answered_in(cls, value: JsonValue) -> bool:
        """Whether a JSON value has a plan, valid or not."""
        return isinstance(value, Mapping) and value.get("plan") is not None

    def answer(self) -> JsonValue:
        """The plan, or for a null plan the abstention with its reason."""
        return abstention(self.reason) if self.plan is None else self.plan


class ResponseToUser(Message):
    """The answer to a `RespondRequest`."""

    model_config = ConfigDict(extra="ignore")
    OPTIONS: ClassVar[frozenset[str]] = frozenset({"usage"})

    response: str
    """Sentences for the user. The first 4,000 characters are scored."""
    usage: Usage = None
    """As of a plan."""

    @classmethod
    def is_answered_in(cls, value: JsonValue) -> bool:
        """Whether a JSON value has a response, valid or not."""
        return isinstance(value, Mapping) and value.get("response") is not None


def ignored_options(*, value: object, response: Message) -> tuple[str, ...]:
    """The optional fields of a response that were ignored, wholly or in part, as one clause each.

    Args:
        value: the response as JSON.
        response: the parsed response.
    """
    if not isinstance(value, Mapping):
        return ()
    ignored = []
    for name, expected in _FORMATS.items():
        raw, parsed = value.get(name), getattr(response, name, None)
        # A truncated reason and omitted details of a usage are no errors.
        is_valid = bool(parsed) if name in ("usage", "reason") else parsed == raw
        if raw not in (None, "", [], {}) and not is_valid and name in type(response).model_fields:
            ignored.append(f"{name}: ignored, at least in part; it is {expected}")
    return tuple(ignored)


@dataclass(frozen=True, slots=True)
class PlannerReply:
    """A plan as received, with the facts of the call."""

    plan: object
    call: PlannerCall
    alternatives: tuple[object, ...] = ()
    """Up to four further plans, best first."""
    tolerated: tuple[str, ...] = ()
    """Ignored parts of the response, as one clause each."""
    notes: Mapping[str, JsonValue] = field(default_factory=dict)
    """How a bundled strategy derived the plan; empty for others."""
    unreadable: str = ""
    """Why a bundled strategy cannot parse the output of its model, as part of a sentence. `plan` is then that output,
    and no other parser is tried."""
    responds: bool = False
    """Whether an endpoint wants to be asked about the results of the plan."""


class PlannerError(Exception):
    """The planner returned no plan. `reason` says whether that is its fault."""

    def __init__(self, *, reason: Reason, message: str, received: str | None = None, call: PlannerCall) -> None:
        super().__init__(message)
        self.reason = reason
        self.received = received
        """The beginning of the response, if there was one."""
        self.call = call


class Planner(Protocol):
    """Answers requests with plans. Must be thread-safe."""

    name: str

    def plan(self, request: PlannerRequest) -> PlannerReply:
        """Answer one request.

        Raises:
            PlannerError: there is no plan; the reason distinguishes planner faults from infrastructure faults.
        """
        ...


@runtime_checkable
class BatchPlanner(Planner, Protocol):
    """A planner that is more efficient with batches of requests."""

    def plan_all(self, requests: Iterable[PlannerRequest]) -> Iterator[tuple[int, PlannerReply | PlannerError]]:
        """Answer many requests. Called from one thread at a time.

        Args:
            requests: consumed lazily.

        Yields:
            The position of a request with its reply or error, once for each request, in any order.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RanPlan:
    """The outcome of a planner's plan on the first sample, in words."""

    request: PlannerRequest
    calls: tuple[str, ...]
    """See `Ran`."""
    results: Mapping[str, str]
    """See `Ran`."""


@runtime_checkable
class RespondingPlanner(Planner, Protocol):
    """A planner that may answer in sentences once its plan has run."""

    @property
    def is_outside(self) -> bool:
        """Whether any of its answers comes from a server that is not the worker's, which sees what it is asked."""
        ...

    def responds_to(self, reply: PlannerReply) -> bool:
        """Whether it answers to the results of the plan of this reply."""
        ...

    def respond(self, ran: RanPlan) -> PlannerReply | PlannerError:
        """The response, a text in the place of the plan, or why there is none."""
        ...


@runtime_checkable
class ReseedablePlanner(Planner, Protocol):
    """A planner that samples from seeded generators, and repeats its plans unless reseeded."""

    def reseeded(self, run: int) -> Planner:
        """The same planner with different seeds for each run. It need not be closed."""
        ...


def reseeded(planner: Planner, *, run: int) -> Planner:
    """The planner for one of several runs.

    Args:
        planner: returned unchanged if it has no seeds.
        run: number of the run, from 0. Run 0 uses the original seeds.
    """
    return planner.reseeded(run) if run and isinstance(planner, ReseedablePlanner) else planner


def offered_tools(catalogue: Catalogue) -> tuple[OfferedTool, ...]:
    """The tools of a catalogue in the format of requests."""
    return tuple(
        OfferedTool(
            name=tool.name,
            description=tool.description,
            inputs={name: str(kind) for name, kind in tool.inputs.items()},
            outputs={name: str(kind) for name, kind in tool.outputs.items()},
        )
        for tool in catalogue.tools.values()
    )


def request_for(*, suite: Suite, task: Task, context: PlanContext) -> PlannerRequest:
    """The request of a task, offering the tools of the context's catalogue."""
    return PlannerRequest(
        suite=suite.slug,
        task=RequestedTask(
            id=task.asked_as or task.key,
            request=task.text,
            resources={name: str(kind) for name, kind in task.resources.items()},
            given=dict(task.values_given),
        ),
        expects=Expected(
            type=None if context.expects is None else str(context.expects),
            types=list(map(str, context.several)) if task.tells_answers else [],
        ),
        tools=list(offered_tools(context.catalogue)),
    )
