"""The closed taxonomy of causes, and findings, each a cause with its details."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, Self

from evaluator.core.canonical_json import JsonValue

LONGEST = 200
"""Most characters of a text in a finding."""


class Cause(StrEnum):
    """Why a task is below the gold score, in the order of pages."""

    MISSING_STEP = "missing_step"
    EXTRA_STEP = "extra_step"
    WRONG_TOOL = "wrong_tool"
    WRONG_INPUT = "wrong_input"
    WRONG_ORDER = "wrong_order"
    TYPE_CONFLICT = "type_conflict"
    WRONG_LITERAL = "wrong_literal"
    WRONG_ANSWERS = "wrong_answers"
    INVENTED_TOOL = "invented_tool"
    INVENTED_RESOURCE = "invented_resource"
    ABSTAINED = "abstained"
    EMPTY_PLAN = "empty_plan"
    NEEDLESS_PLAN = "needless_plan"
    UNREADABLE = "unreadable"
    INVALID = "invalid"
    WEAK_EXPERT = "weak_expert"
    UNDECIDED = "undecided"
    WRONG_ANSWER = "wrong_answer"
    MISLED = "misled"
    FAILED_ACTION = "failed_action"
    STOPPED_EARLY = "stopped_early"
    OUT_OF_TURNS = "out_of_turns"
    LIMIT_EXCEEDED = "limit_exceeded"
    UNFIT_INPUT = "unfit_input"
    NO_PLAN = "no_plan"
    NO_RESPONSE = "no_response"
    LARGE_RESPONSE = "large_response"
    TIMEOUT = "timeout"
    REFUSED = "refused"
    PROMPT_TOO_LONG = "prompt_too_long"
    ADDRESS_REFUSED = "address_refused"
    UNAVAILABLE = "unavailable"
    MODEL_UNUSABLE = "model_unusable"
    ENDED_WORKER = "ended_worker"
    SITE_FAULT = "site_fault"

    @property
    def label(self) -> str:
        """Two or three words for a bar or a filter."""
        return _WORDS[self].label

    @property
    def definition(self) -> str:
        """When the cause holds, as a sentence."""
        return _WORDS[self].definition


class _Words(NamedTuple):
    label: str
    definition: str


_WORDS: Mapping[Cause, _Words] = MappingProxyType(
    {
        Cause.MISSING_STEP: _Words("missing step", "The nearest sufficient plan has a step that the plan lacks."),
        Cause.EXTRA_STEP: _Words("extra step", "The plan has a step that no sufficient plan near it has."),
        Cause.WRONG_TOOL: _Words(
            "wrong tool", "Where the nearest sufficient plan calls one tool, the plan calls another of the same types."
        ),
        Cause.WRONG_INPUT: _Words("wrong input", "A right tool gets the wrong resource or result."),
        Cause.WRONG_ORDER: _Words(
            "wrong order", "The right tools are called in an order that contradicts their dependencies."
        ),
        Cause.TYPE_CONFLICT: _Words("type conflict", "An argument or the answer has a type that does not fit."),
        Cause.WRONG_LITERAL: _Words("wrong literal", "A text or number in the plan does not say what was asked for."),
        Cause.WRONG_ANSWERS: _Words("wrong answers", "The right steps, but the plan names other results as answers."),
        Cause.INVENTED_TOOL: _Words(
            "invented tool or input", "The plan calls a tool, argument or result that was not offered."
        ),
        Cause.INVENTED_RESOURCE: _Words("invented resource", "The plan names a resource that does not exist."),
        Cause.ABSTAINED: _Words(
            "abstained", "The planner says that no plan can meet the request, although the tools can."
        ),
        Cause.EMPTY_PLAN: _Words("empty plan", "The plan has no steps, and answers with what the request gives."),
        Cause.NEEDLESS_PLAN: _Words("needless plan", "The plan has steps although no tool can meet the request."),
        Cause.UNREADABLE: _Words("unreadable", "The answer cannot be read as a plan, program or action."),
        Cause.INVALID: _Words("invalid plan", "The plan breaks a rule of its form, such as two steps with one name."),
        Cause.WEAK_EXPERT: _Words(
            "right plan, weak expert",
            "The plan is sufficient, but its experts did not reach the gold score.",
        ),
        Cause.UNDECIDED: _Words("undecided", "The judge does not decide whether the plan's texts are right."),
        Cause.WRONG_ANSWER: _Words("wrong final answer", "All turns were run; the final answer is not right."),
        Cause.MISLED: _Words("misled by a result", "A right action gave a wrong result that the answer follows."),
        Cause.FAILED_ACTION: _Words("failed action", "An action or program ended in an error that was not corrected."),
        Cause.STOPPED_EARLY: _Words("stopped early", "The planner ended without an answer although turns were left."),
        Cause.OUT_OF_TURNS: _Words("ran out of turns", "The planner had used all its turns before it answered."),
        Cause.LIMIT_EXCEEDED: _Words(
            "limit exceeded", "Running the plan or program would exceed a limit of the suite."
        ),
        Cause.UNFIT_INPUT: _Words("unfit input", "The plan gives an expert inputs that do not go together."),
        Cause.NO_PLAN: _Words("no plan given", "The plans file leaves the task out."),
        Cause.NO_RESPONSE: _Words("invalid response", "The endpoint's response does not follow the protocol."),
        Cause.LARGE_RESPONSE: _Words("response too large", "The endpoint's response is larger than allowed."),
        Cause.TIMEOUT: _Words("endpoint too slow", "The planner did not answer in time."),
        Cause.REFUSED: _Words("refused by endpoint", "The endpoint answered with a status that refuses the request."),
        Cause.PROMPT_TOO_LONG: _Words("prompt too long", "The prompt is longer than the planner or its model allows."),
        Cause.ADDRESS_REFUSED: _Words("address refused", "The endpoint's address is not a public one."),
        Cause.UNAVAILABLE: _Words("endpoint unavailable", "The endpoint could not be reached, or it failed."),
        Cause.MODEL_UNUSABLE: _Words("model unusable", "The planner's model cannot be loaded, or it fails."),
        Cause.ENDED_WORKER: _Words("ended its worker", "The planner's model ended or hung the worker that ran it."),
        Cause.SITE_FAULT: _Words("fault of the site", "The site, a worker or an expert failed; no score counts."),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One cause with its details; None if they do not apply."""

    cause: Cause
    step: str | None = None
    """Id of the planner's step or, in turns, its number such as `turn 3`."""
    tool: str | None = None
    """Tool of that step, or the missing or invented tool."""
    input: str | None = None
    """Argument of the tool."""
    wanted: str | None = None
    """The right value; None if the sufficient plans are withheld."""
    given: str | None = None
    """The planner's value."""
    where: str | None = None
    """Position of a syntax error, or the form of the answer."""

    def to_json(self) -> dict[str, JsonValue]:
        """The details that apply; `from_json` is the inverse."""
        return {name: str(value) for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, value: Mapping[str, JsonValue]) -> Self:
        """The finding of a `to_json` object.

        Raises:
            ValueError: the cause is not in the taxonomy.
        """
        texts = {field.name: str(value[field.name]) for field in fields(cls) if field.name in value}
        return cls(**{**texts, "cause": Cause(texts["cause"])})  # type: ignore[arg-type]

    def without_reference(self) -> "Finding":
        """The finding without the sufficient plan, for suites that withhold it."""
        tool = None if self.cause is Cause.MISSING_STEP else self.tool
        return replace(self, tool=tool, wanted=None)


def shortened(text: str) -> str:
    """An untrusted text in one line, cut at `LONGEST` characters."""
    line = " ".join(text[: 2 * LONGEST].split())
    return line if len(line) <= LONGEST and len(text) <= 2 * LONGEST else f"{line[: LONGEST - 1]}…"
