"""Turns of `planner/1`: requests to planners that act step by step, and their answers.

A turn is stateless like a request for a whole plan: it contains the task, the tools, the complete history and the
remaining limits. A planner that supports only whole plans may answer the first turn with one.
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
from evaluator.core.plans.abstaining import MAX_REASON
from evaluator.core.plans.model import PlanContext
from evaluator.core.records import PlannerCall
from evaluator.core.suites.base import Suite, Task

PNG = "image/png"
"""The media type in which planners may request image results."""


class Formulation(StrEnum):
    """How planning and acting alternate (LUMOS, section 2.1 and its baselines)."""

    ONEPASS = "onepass"
    """All subgoals in one answer, then all actions in a second (`LUMOS-OnePass`)."""
    ITERATIVE = "iterative"
    """A subgoal, its actions, their results, the next subgoal, until the planner stops (`LUMOS-Iterative`)."""
    INTEGRATED = "integrated"
    """One module returns the actions of each turn, with or without a subgoal (the paper's integrated training)."""


class Role(StrEnum):
    """The kind of answer that a turn requests."""

    PLAN = "plan"
    """The next subgoal, all subgoals, or a stop."""
    GROUND = "ground"
    """The actions of the given subgoals."""
    JOINT = "joint"
    """Actions, a stop, or an answer."""


class ActionResult(Message):
    """The result of an action."""

    action: str
    """The action as parsed, such as `R2 = Calculator(R1 / 4)`."""
    outputs: dict[str, str] = Field(default_factory=dict)
    """Values as texts, by reference; truncated like the feedback."""
    pictures: dict[str, str] = Field(default_factory=dict)
    """Image results as base64 PNG, for planners that accept `image/png`; absent for others."""
    error: str = ""
    """Why there are no outputs, as a sentence; empty if there are."""

    @model_serializer(mode="wrap")
    def _without_empty_pictures(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        # Keeps the requests of suites without pictures unchanged, and with them the keys of journals.
        fields: dict[str, object] = handler(self)
        return fields if self.pictures else {name: value for name, value in fields.items() if name != "pictures"}


class PastTurn(Message):
    """A completed turn. The answers of a planning and a grounding module form one turn."""

    index: int
    """From 1."""
    subgoals: list[str]
    """Empty if the planner gave none."""
    results: list[ActionResult]
    error: str = ""
    """Why an answer could not be parsed, as a sentence; empty if it could."""
    feedback: str
    """The turn in words. Truncated feedback says so."""


class Limits(Message):
    """Limits of an episode. `..._left` is what remains, this turn included."""

    turns: int
    turns_left: int
    actions: int
    actions_left: int
    seconds: float
    seconds_left: float
    feedback_characters: int
    """Maximum length of the feedback of one turn."""


class TurnRequest(PlannerRequest):
    """One turn. `history` contains a `PastTurn` for each turn so far, in order."""

    key: str
    """Identifies the turn: a request that is retried because its answer was lost has the same key."""
    formulation: Formulation
    role: Role
    subgoals: list[str] = Field(default_factory=list)
    """With the role `ground`: the subgoals to find actions for."""
    limits: Limits

    @property
    def past(self) -> list[PastTurn]:
        """`history`, parsed."""
        return [PastTurn.model_validate(turn) for turn in self.history]


class TurnResponse(Message):
    """The answer to one turn: exactly one of `stop`, `subgoal`, `subgoals`, `actions`, `steps`, `answer`, `text` and
    `plan`, except that a subgoal may accompany actions or steps."""

    model_config = ConfigDict(extra="ignore")
    OPTIONS: ClassVar[frozenset[str]] = frozenset({"alternatives", "accepts", "usage", "reason"})

    stop: bool = False
    """The episode is finished, and the last result is the answer."""
    subgoal: str | None = None
    subgoals: list[str] | None = None
    actions: str | None = None
    """In LUMOS's grammar: `R1 = Calculator(3 * 4); R2 = Calculator(R1 - 5)`."""
    steps: list[dict[str, JsonValue]] | None = None
    """The same actions as steps of `plan/1`, with outputs named `R1`, `R2`, ..."""
    answer: str | None = None
    """The answer to the task in words, or the reference of the result to use as the answer."""
    text: str | None = None
    """The unprocessed output of a language model, in the format of LUMOS's replies."""
    plan: dict[str, JsonValue] | list[JsonValue] | str | None = None
    """A whole plan in any form that suites without turns accept. It is executed, and the episode ends. A null plan as
    the only answer field: the request cannot be met. It is kept as an abstention, with its reason."""
    reason: str = ""
    """With a null plan: why. Long texts are truncated; values other than texts are ignored."""
    alternatives: Alternatives = Field(default_factory=list, max_length=MAX_ALTERNATIVES)
    """With a plan: further plans, best first. Only suites that accept several candidates try them."""
    accepts: list[str] = Field(default_factory=list)
    """Optional: media types in which later turns of the episode may contain results. Only `image/png` is supported;
    others are ignored."""
    formulation: Formulation | None = None
    """Optional, in the first answer of an episode that began as `integrated`: the formulation from this answer on,
    which is then the answer to the role `plan`. Ignored in later answers."""
    usage: Usage = None
    """Optional token counts, as of `PlannerResponse`."""

    @classmethod
    def is_answered_in(cls, value: JsonValue) -> bool:
        """Whether a JSON value has one of the answer fields, valid or not."""
        return isinstance(value, Mapping) and any(value.get(name) for name in ANSWERS)

    @model_validator(mode="before")
    @classmethod
    def _abstention(cls, value: object) -> object:
        # Structured outputs fill every field with null, so only a null plan by itself is an abstention.
        if not isinstance(value, Mapping):
            return value
        fields = {name: part for name, part in value.items() if name != "reason"}
        if [name for name in ANSWERS if name in value] != ["plan"] or value["plan"] is not None:
            return fields
        reason = value.get("reason")
        said = {"reason": reason[:MAX_REASON]} if isinstance(reason, str) else {}
        return {**fields, "plan": {"plan": None, **said}}

    @model_validator(mode="before")
    @classmethod
    def _without_empty_fields(cls, value: object) -> object:
        # Structured outputs fill every field, so an empty field beside an answer means nothing.
        if not isinstance(value, Mapping):
            return value
        empty = [name for name in ANSWERS if value.get(name) in ("", [], {})]
        full = [name for name in ANSWERS if name not in empty and value.get(name) not in (None, False)]
        if not full:
            return value
        unset = [name for name, part in value.items() if part is None]
        return {name: part for name, part in value.items() if name not in empty and name not in unset}

    @field_validator("answer", mode="before")
    @classmethod
    def _number_as_text(cls, value: object) -> object:
        return str(value) if type(value) in (int, float) else value

    @field_validator("accepts", mode="before")
    @classmethod
    def _known_types(cls, value: object) -> list[str]:
        types = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
        return [PNG] if any(isinstance(kind, str) and kind.strip() == PNG for kind in types) else []

    @model_validator(mode="after")
    def _has_one_answer(self) -> Self:
        answers = [name for name in ANSWERS if getattr(self, name) not in (None, False)]
        main = [name for name in answers if name not in {"subgoal", "subgoals"}] or answers
        if len(main) != 1:
            problem = f"has {' and '.join(main)}" if main else "has none of them"
            raise ValueError(f"a turn is answered with one of {', '.join(ANSWERS)}; this answer {problem}")
        return self


ANSWERS = ("stop", "subgoal", "subgoals", "actions", "steps", "answer", "text", "plan")


@dataclass(frozen=True, slots=True)
class TurnReply:
    """The answer to a turn, with the facts of the call."""

    response: TurnResponse
    call: PlannerCall
    notes: Mapping[str, JsonValue] = field(default_factory=dict)
    """How a bundled strategy derived a whole plan; see `Draft`."""


@runtime_checkable
class TurnPlanner(Protocol):
    """A planner that acts step by step. Must be thread-safe."""

    @property
    def name(self) -> str:
        """The planner's name."""
        ...

    @property
    def formulation(self) -> Formulation:
        """How planning and acting alternate."""
        ...

    def turn(self, request: TurnRequest) -> TurnReply:
        """Answer one turn.

        Raises:
            PlannerError: there is no answer; the reason distinguishes planner faults from infrastructure faults.
        """
        ...


@runtime_checkable
class BatchTurnPlanner(TurnPlanner, Protocol):
    """A planner that is more efficient with batches of turns."""

    def turn_all(self, requests: Iterable[TurnRequest]) -> list[TurnReply | PlannerError]:
        """Answer one turn of each of several episodes, in order. Called from one thread at a time."""
        ...


@runtime_checkable
class PacedTurnPlanner(TurnPlanner, Protocol):
    """A planner with few open episodes at once, such as an agent that works on them one by one."""

    @property
    def episodes_at_once(self) -> int:
        """Maximum number of open episodes; at least 1."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The content of a turn's request besides the task."""

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
    """The only turn of a trial episode, which tests a planner."""
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
