"""The planner protocol `planner/1`: what a planner is asked, and what it may answer."""

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
"""Of an answer of an endpoint, and of a plan in a file."""
MAX_ALTERNATIVES = 4
"""Further plans that an answer may have besides the first."""
_MOST_TOKENS = 2**31
_EXPECTED = {
    "alternatives": f"a list of at most {MAX_ALTERNATIVES} plans",
    "usage": 'an object with whole numbers "prompt_tokens" and "completion_tokens"',
    "confidence": "a number from 0 to 1",
    "reason": "a text",
}
"""What optional fields are, by their names."""


class Message(BaseModel):
    """A part of the protocol."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class RequestedTask(Message):
    """The request as the planner sees it. It never holds the gold plan, references or the task's attributes."""

    id: str
    request: str
    """The request in English."""
    resources: dict[str, str]
    """What is given: name to type. A plan refers to it as `$name`."""
    given: dict[str, JsonValue] = Field(default_factory=dict)
    """What is given by value, in the form of the suite; absent where a request is its text and its resources."""

    @model_serializer(mode="wrap")
    def _without_nothing_given(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        # Requests of other suites stay what they were, and with them the keys of journals.
        found: dict[str, object] = handler(self)
        return found if self.given else {name: value for name, value in found.items() if name != "given"}


class Expected(Message):
    """What the answer must be."""

    type: str | None
    """None where a request may want several results."""
    types: list[str] = Field(default_factory=list)
    """The type of each answer, in order, of a request that is known to want several; otherwise empty."""


class OfferedTool(Message):
    """A tool that a plan may call."""

    name: str
    description: str
    inputs: dict[str, str]
    outputs: dict[str, str]


class PlannerRequest(Message):
    """One turn. Stateless: everything that the planner needs is in it."""

    version: Literal["planner/1"] = "planner/1"
    suite: str
    task: RequestedTask
    expects: Expected
    tools: list[OfferedTool]
    history: list[dict[str, JsonValue]] = Field(default_factory=list)
    """Earlier turns with the results of their actions; empty for suites that ask for a whole plan."""


def _bounded(value: object) -> str:
    """What answers had here before the protocol knew reasons is no fault."""
    return value[:MAX_REASON] if isinstance(value, str) else ""


def _probability(value: object) -> float | None:
    """No score depends on it, so a wrong one is no fault."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= 1 else None


def _usage(value: object) -> dict[str, int] | None:
    """The two counts that are read; details beside them, and anything else, are no fault."""
    if not isinstance(value, Mapping):
        return None
    counts = {name: value.get(name) for name in ("prompt_tokens", "completion_tokens")}
    read = {name: count for name, count in counts.items() if type(count) is int and 0 <= count < _MOST_TOKENS}
    return read or None


def _alternatives(value: object) -> Sequence[object]:
    if not isinstance(value, list):
        return []
    return [plan for plan in value if isinstance(plan, dict | list | str)][:MAX_ALTERNATIVES]


Usage = Annotated[dict[str, int] | None, BeforeValidator(_usage)]
Alternatives = Annotated[list[dict[str, JsonValue] | list[JsonValue] | str], BeforeValidator(_alternatives)]


class PlannerResponse(Message):
    """The answer to one turn. Optional fields with wrong values are ignored: they never cost the plan."""

    model_config = ConfigDict(extra="ignore")
    OPTIONS: ClassVar[frozenset[str]] = frozenset({"reason", "alternatives", "usage", "confidence"})

    plan: dict[str, JsonValue] | list[JsonValue] | str | None
    """`plan/1` as an object, or any other accepted form; null: no plan can meet the request."""
    reason: Annotated[str, BeforeValidator(_bounded), Field(max_length=MAX_REASON)] = ""
    """With a null plan: why. Longer texts are cut, and anything else is ignored."""
    alternatives: Alternatives = Field(default_factory=list, max_length=MAX_ALTERNATIVES)
    """Up to four further plans, best first. Only `plan` is scored; suites that judge plans also show the best of
    all."""
    usage: Usage = None
    """Optional token counts: `prompt_tokens`, `completion_tokens`."""
    confidence: Annotated[float | None, BeforeValidator(_probability)] = None
    """Optional: how sure the planner is that the plan is right, from 0 to 1. Anything else is ignored."""

    @classmethod
    def is_answered_in(cls, value: JsonValue) -> bool:
        """Whether a JSON value has a plan, whatever it is worth."""
        return isinstance(value, Mapping) and value.get("plan") is not None

    def answer(self) -> JsonValue:
        """The plan as it is read and kept; of an abstention with its reason."""
        return abstention(self.reason) if self.plan is None else self.plan


def ignored_options(*, value: object, response: Message) -> tuple[str, ...]:
    """Which optional fields of an answer were ignored, wholly or in part, a clause each.

    Args:
        value: the answer as JSON.
        response: the same as it was read.
    """
    if not isinstance(value, Mapping):
        return ()
    ignored = []
    for name, expected in _EXPECTED.items():
        given, read = value.get(name), getattr(response, name, None)
        # A long reason is cut, and details of a usage are left out: neither is wrong.
        is_read = bool(read) if name in ("usage", "reason") else read == given
        if given not in (None, "", [], {}) and not is_read and name in type(response).model_fields:
            ignored.append(f"{name}: ignored, at least in part; it is {expected}")
    return tuple(ignored)


@dataclass(frozen=True, slots=True)
class PlannerReply:
    """A plan as received, with how it was obtained."""

    plan: object
    call: PlannerCall
    alternatives: tuple[object, ...] = ()
    """Up to four further plans, best first."""
    tolerated: tuple[str, ...] = ()
    """What the answer had beside the plan and was ignored, a clause each."""
    notes: Mapping[str, JsonValue] = field(default_factory=dict)
    """How a bundled strategy came to the plan; empty for others."""
    unreadable: str = ""
    """Why a bundled strategy cannot read what was written, as part of a sentence; `plan` is then that text, and no
    other parser tries its luck with it."""


class PlannerError(Exception):
    """The planner gave no plan. `reason` says whose fault that is."""

    def __init__(self, *, reason: Reason, message: str, received: str | None = None, call: PlannerCall) -> None:
        super().__init__(message)
        self.reason = reason
        self.received = received
        """The beginning of what was received, if anything was."""
        self.call = call


class Planner(Protocol):
    """Something that answers requests with plans. Called from several threads at once."""

    name: str

    def plan(self, request: PlannerRequest) -> PlannerReply:
        """Answer one request.

        Raises:
            PlannerError: there is no plan; the reason tells a planner's fault from the infrastructure's.
        """
        ...


@runtime_checkable
class BatchPlanner(Planner, Protocol):
    """A planner that does better when it knows of many requests at once."""

    def plan_all(self, requests: Iterable[PlannerRequest]) -> Iterator[tuple[int, PlannerReply | PlannerError]]:
        """Answer many requests; called from one thread at a time.

        Args:
            requests: taken one by one, not all before the first answer.

        Yields:
            The position of a request and its reply, or why there is none, each once, as they come, in any order.
        """
        ...


@runtime_checkable
class ReseedablePlanner(Planner, Protocol):
    """A planner that draws from seeds, and would repeat itself without other ones."""

    def reseeded(self, run: int) -> Planner:
        """The same planner with other random numbers for each run. It need not be closed."""
        ...


def reseeded(planner: Planner, *, run: int) -> Planner:
    """The planner in one of several runs.

    Args:
        planner: one without seeds is returned as it is.
        run: from 0, which is the planner as it is.
    """
    return planner.reseeded(run) if run and isinstance(planner, ReseedablePlanner) else planner


def offered_tools(catalogue: Catalogue) -> tuple[OfferedTool, ...]:
    """The tools of a catalogue, as requests offer them."""
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
            type=None if task.expects is None else str(task.expects), types=list(map(str, context.several))
        ),
        tools=list(offered_tools(context.catalogue)),
    )
