"""Turns of `planner/1`: what a planner that acts step by step is asked in each turn, and what it may answer.

A turn is stateless like a request for a whole plan: it carries the task, the tools, everything that happened so far,
and what is left of the limits. A planner that knows only whole plans may answer the first turn with one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Protocol, Self, runtime_checkable

from pydantic import (
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import (
    MAX_ALTERNATIVES,
    Alternatives,
    Message,
    PlannerError,
    PlannerRequest,
    Usage,
    request_for,
)
from evaluator.core.plans.model import PlanContext
from evaluator.core.records import PlannerCall
from evaluator.core.suites.base import Suite, Task

PNG = "image/png"
"""The media type of results that planners may ask to be sent."""


class Formulation(StrEnum):
    """How planning and acting take turns (LUMOS, section 2.1 and its baselines)."""

    ONEPASS = "onepass"
    """All subgoals in one answer, then all actions in another (`LUMOS-OnePass`)."""
    ITERATIVE = "iterative"
    """A subgoal, its actions, their results, the next subgoal, until the planner stops (`LUMOS-Iterative`)."""
    INTEGRATED = "integrated"
    """One module gives the actions of each turn, with or without a subgoal (the paper's integrated training)."""


class Role(StrEnum):
    """What a turn asks for."""

    PLAN = "plan"
    """The next subgoal, or all of them, or to stop."""
    GROUND = "ground"
    """The actions of the given subgoals."""
    JOINT = "joint"
    """Actions, to stop, or an answer."""


class ActionResult(Message):
    """What an action came to."""

    action: str
    """As it was read, such as `R2 = Calculator(R1 / 4)`."""
    outputs: dict[str, str] = Field(default_factory=dict)
    """The values by their references, as texts; cut as the feedback is."""
    pictures: dict[str, str] = Field(default_factory=dict)
    """Results that are pictures, as PNG in base64, for planners that accept `image/png`; absent for others."""
    error: str = ""
    """Why there are none, as a sentence; empty if there are."""

    @model_serializer(mode="wrap")
    def _without_empty_pictures(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        # Requests of suites without pictures stay what they were, and with them the keys of journals.
        found: dict[str, object] = handler(self)
        return found if self.pictures else {name: value for name, value in found.items() if name != "pictures"}


class PastTurn(Message):
    """A turn that is over. The answers of a planning and a grounding module are one turn."""

    index: int
    """From 1."""
    subgoals: list[str]
    """Empty if the planner named none."""
    results: list[ActionResult]
    error: str = ""
    """Why an answer could not be read, as a sentence; empty if it could."""
    feedback: str
    """All of it in words; cut, and then it says so."""


class Limits(Message):
    """What an episode may use. `..._left` counts from this turn on."""

    turns: int
    turns_left: int
    actions: int
    actions_left: int
    seconds: float
    seconds_left: float
    feedback_characters: int
    """Of the feedback of one turn."""


class TurnRequest(PlannerRequest):
    """One turn. `history` contains a `PastTurn` for each turn so far, in order."""

    key: str
    """Names the turn: a request that is repeated, because its answer was lost, has the same key."""
    formulation: Formulation
    role: Role
    subgoals: list[str] = Field(default_factory=list)
    """With the role `ground`: what to find actions for."""
    limits: Limits

    @property
    def past(self) -> list[PastTurn]:
        """The turns of the history."""
        return [PastTurn.model_validate(turn) for turn in self.history]


class TurnResponse(Message):
    """The answer to one turn: exactly one of `stop`, `subgoal`, `subgoals`, `actions`, `steps`, `answer`, `text` and
    `plan`, except that a subgoal may stand beside actions or steps."""

    model_config = ConfigDict(extra="ignore")
    OPTIONS: ClassVar[frozenset[str]] = frozenset({"alternatives", "accepts", "usage"})

    stop: bool = False
    """Nothing is left to do: the last result is the answer."""
    subgoal: str | None = None
    subgoals: list[str] | None = None
    actions: str | None = None
    """In LUMOS's grammar: `R1 = Calculator(3 * 4); R2 = Calculator(R1 - 5)`."""
    steps: list[dict[str, JsonValue]] | None = None
    """The same as steps of `plan/1`; a step's outputs are named `R1`, `R2`, ..."""
    answer: str | None = None
    """The answer to the task in words, or the reference of the result that is the answer."""
    text: str | None = None
    """Whatever a language model wrote, in the form of LUMOS's replies."""
    plan: dict[str, JsonValue] | list[JsonValue] | str | None = None
    """A whole plan in any form that suites without turns accept: it is run, and the episode ends."""
    alternatives: Alternatives = Field(default_factory=list, max_length=MAX_ALTERNATIVES)
    """With a plan: further ones, best first. Only suites whose answer is several candidates try them."""
    accepts: list[str] = Field(default_factory=list)
    """Optional: media types in which later turns of the episode may contain results. `image/png` is known; others are
    ignored."""
    formulation: Formulation | None = None
    """Optional, in the first answer of an episode that began as `integrated`: how planning and acting take turns from
    this answer on, which is then that of the role `plan`. Later ones are ignored."""
    usage: Usage = None
    """Optional token counts: `prompt_tokens`, `completion_tokens`."""

    @classmethod
    def is_answered_in(cls, value: JsonValue) -> bool:
        """Whether a JSON value has one of the answers, whatever it is worth."""
        return isinstance(value, Mapping) and any(value.get(name) for name in _ANSWERS)

    @model_validator(mode="before")
    @classmethod
    def _without_empty_ones(cls, value: object) -> object:
        """Structured outputs fill each field: an empty one beside an answer says nothing."""
        if not isinstance(value, Mapping):
            return value
        empty = [name for name in _ANSWERS if value.get(name) in ("", [], {})]
        full = [name for name in _ANSWERS if name not in empty and value.get(name) not in (None, False)]
        return {name: part for name, part in value.items() if name not in empty} if full else value

    @field_validator("answer", mode="before")
    @classmethod
    def _number_as_text(cls, value: object) -> object:
        return str(value) if type(value) in (int, float) else value

    @field_validator("accepts", mode="before")
    @classmethod
    def _known_types(cls, value: object) -> list[str]:
        given = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
        return [PNG] if any(isinstance(one, str) and one.strip() == PNG for one in given) else []

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        given = [name for name in _ANSWERS if getattr(self, name) not in (None, False)]
        main = [name for name in given if name not in {"subgoal", "subgoals"}] or given
        if len(main) != 1:
            found = f"has {' and '.join(main)}" if main else "has none of them"
            raise ValueError(f"a turn is answered with one of {', '.join(_ANSWERS)}; this answer {found}")
        return self


_ANSWERS = ("stop", "subgoal", "subgoals", "actions", "steps", "answer", "text", "plan")


@dataclass(frozen=True, slots=True)
class TurnReply:
    """The answer to a turn, with how it was obtained."""

    response: TurnResponse
    call: PlannerCall
    notes: Mapping[str, JsonValue] = field(default_factory=dict)
    """How a bundled strategy came to a whole plan; see `Draft`."""


@runtime_checkable
class TurnPlanner(Protocol):
    """Something that acts step by step. Called from several threads at once."""

    @property
    def name(self) -> str:
        """Of the planner."""
        ...

    @property
    def formulation(self) -> Formulation:
        """How planning and acting take turns."""
        ...

    def turn(self, request: TurnRequest) -> TurnReply:
        """Answer one turn.

        Raises:
            PlannerError: there is no answer; the reason tells a planner's fault from the infrastructure's.
        """
        ...


@runtime_checkable
class BatchTurnPlanner(TurnPlanner, Protocol):
    """A planner that does better when it knows of many turns at once."""

    def turn_all(self, requests: Iterable[TurnRequest]) -> list[TurnReply | PlannerError]:
        """Answer a turn of each of many episodes, in their order; called from one thread at a time."""
        ...


@runtime_checkable
class PacedTurnPlanner(TurnPlanner, Protocol):
    """A planner that has few episodes open at once, such as an agent that works on one after the other."""

    @property
    def episodes_at_once(self) -> int:
        """How many; at least 1."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a turn asks for beside the task."""

    key: str
    formulation: Formulation
    role: Role
    turns: tuple[PastTurn, ...]
    subgoals: tuple[str, ...]
    limits: Limits


_TRIAL_LIMITS = Limits(
    turns=1, turns_left=1, actions=1, actions_left=1, seconds=60.0, seconds_left=60.0, feedback_characters=4000
)


def first_turn(*, suite: Suite, task: Task, context: PlanContext) -> TurnRequest:
    """The first turn of an episode that has no other, to test a planner with."""
    asked = Asked(
        key=f"trial/{task.key}", formulation=Formulation.INTEGRATED, role=Role.JOINT, turns=(), subgoals=(),
        limits=_TRIAL_LIMITS,
    )  # fmt: skip
    return turn_request(suite=suite, task=task, context=context, asked=asked)


def turn_request(*, suite: Suite, task: Task, context: PlanContext, asked: Asked) -> TurnRequest:
    """The request of a turn, offering the tools of the context's catalogue."""
    whole = request_for(suite=suite, task=task, context=context)
    return TurnRequest(
        suite=whole.suite, task=whole.task, expects=whole.expects, tools=whole.tools, key=asked.key,
        history=[turn.model_dump() for turn in asked.turns], formulation=asked.formulation, role=asked.role,
        subgoals=list(asked.subgoals), limits=asked.limits,
    )  # fmt: skip
