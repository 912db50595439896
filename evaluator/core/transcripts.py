"""What a record keeps of an episode in turns: each answer, each action with its results, and why it ended."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

MOST_BYTES = 3 * 1024 * 1024
"""Of all transcripts of one record together, as JSON."""
LONGEST_TEXT = 4000
"""Characters that are kept of one text: an answer, an argument, a result."""


class StopReason(StrEnum):
    """Why an episode ended."""

    ANSWERED = "answered"
    """The planner gave an answer."""
    STOPPED = "stopped"
    """The planner said that nothing is left to do; the last result is its answer."""
    COMPLETED = "completed"
    """Everything of a whole plan was run; the last result is its answer."""
    TURN_LIMIT = "turn_limit"
    ACTION_LIMIT = "action_limit"
    TIME_LIMIT = "time_limit"
    UNREADABLE = "unreadable"
    """Too many answers in a row could not be read."""
    CALL_FAILED = "call_failed"
    """The planner gave no answer; the record's reason tells whose fault that is."""
    TOOL_FAILED = "tool_failed"
    """An expert failed on a valid action: nobody's fault."""


class ActionProblem(StrEnum):
    """Why an action has no result."""

    UNKNOWN_TOOL = "unknown_tool"
    BAD_REFERENCE = "bad_reference"
    """It names a result that does not exist."""
    BAD_ARGUMENTS = "bad_arguments"
    """The arguments cannot be read, or are not what the tool takes."""
    TOOL_ERROR = "tool_error"
    """The tool says no: a wrong query, an equation without a solution."""
    TOO_MUCH = "too_much"
    """It would take too long or make too much."""
    UNAVAILABLE = "unavailable"
    """The tool has no expert here."""


_SHORTEST = 32
"""Names of reasons are not longer."""


def _cut(value: object) -> object:
    return value[: LONGEST_TEXT - 1] + "…" if isinstance(value, str) and len(value) > LONGEST_TEXT else value


# Cut, not refused: the texts are a stranger's.
Kept = Annotated[str, BeforeValidator(_cut)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class ActionRun(_Part):
    """One action."""

    tool: Kept
    arguments: Kept
    """As the planner wrote them."""
    outputs: dict[str, Kept] = Field(default_factory=dict)
    """The values by their references, as texts; with `problem`, empty."""
    problem: ActionProblem | None = None
    error: Kept = ""
    """The problem as a sentence."""
    seconds: float = 0.0
    """Of running it; 0 if the same call had been run before. Left out of equality of results."""


class TurnRun(_Part):
    """One turn: what was received, and what came of it."""

    received: list[Kept]
    """The answers as they were received, as JSON: one, or those of the planning and the grounding module."""
    subgoals: list[Kept] = Field(default_factory=list)
    actions: list[ActionRun] = Field(default_factory=list)
    error: Kept = ""
    """Why an answer could not be read, as a sentence."""
    is_cut: bool = False
    """Whether the feedback to the planner was cut."""
    seconds: float = 0.0
    """That the planner took. Left out of equality of results."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    tries: int = 1
    """Requests to the planner, with those that were repeated. Left out of equality of results."""


class Transcript(_Part):
    """One episode."""

    sample: int
    """Index of the data point."""
    formulation: str
    turns: list[TurnRun]
    stop: StopReason
    answer: Kept | None
    """None if the episode ended without one."""
    expected: Kept | None = None
    """The right answer as a text, where there is one."""
    score: float | None
    """None if nothing was measured."""
    indicators: dict[str, float] = Field(default_factory=dict)


def without_seconds(transcript: Transcript) -> Transcript:
    """The part of a transcript that is equal whenever the same episode runs."""
    turns = [
        turn.model_copy(
            update={
                "seconds": 0.0,
                "tries": 1,
                "actions": [action.model_copy(update={"seconds": 0.0}) for action in turn.actions],
            }
        )
        for turn in transcript.turns
    ]
    return transcript.model_copy(update={"turns": turns})


def bounded(transcripts: Sequence[Transcript]) -> list[Transcript]:
    """The transcripts of one record; where they have more than `MOST_BYTES` together, all their long texts are cut
    further. They are a stranger's, and there may be many samples."""
    found, longest = list(transcripts), LONGEST_TEXT
    while sum(len(one.model_dump_json().encode()) for one in found) > MOST_BYTES and longest > _SHORTEST:
        longest //= 2
        found = [Transcript.model_validate(_shortened(one.model_dump(), longest=longest)) for one in found]
    return found


def _shortened(value: Any, *, longest: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= longest else f"{value[: longest - 1]}…"
    if isinstance(value, dict):
        return {name: _shortened(one, longest=longest) for name, one in value.items()}
    return [_shortened(one, longest=longest) for one in value] if isinstance(value, list) else value
