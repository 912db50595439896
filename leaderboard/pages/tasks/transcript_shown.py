"""The transcript of an episode as its task's page shows it: turn by turn, with what came of each action."""

from typing import NamedTuple

from evaluator.records import ResultRecord
from evaluator.transcripts import ActionRun, StopReason, Transcript, TurnRun

_STOPPED = {
    StopReason.ANSWERED: "The planner gave an answer.",
    StopReason.STOPPED: "The planner stopped; the last result is its answer.",
    StopReason.COMPLETED: "The whole plan was run; the last result is its answer.",
    StopReason.TURN_LIMIT: "It reached the limit of turns without an answer.",
    StopReason.ACTION_LIMIT: "It reached the limit of actions without an answer.",
    StopReason.TIME_LIMIT: "It reached the limit of time without an answer.",
    StopReason.UNREADABLE: "Its answers could not be read.",
    StopReason.CALL_FAILED: "The planner gave no answer.",
    StopReason.TOOL_FAILED: "An expert failed, which is not the planner's fault.",
}


class ShownAction(NamedTuple):
    """One action."""

    text: str
    results: tuple[tuple[str, str], ...]
    """Name and value of each result."""
    problem: str
    """The kind of problem in words; empty if there is none."""
    error: str


class ShownTurn(NamedTuple):
    """One turn."""

    number: int
    subgoals: tuple[str, ...]
    actions: tuple[ShownAction, ...]
    error: str
    is_cut: bool
    seconds: float
    tokens: int | None
    received: tuple[str, ...]


class ShownTranscript(NamedTuple):
    """One episode."""

    turns: tuple[ShownTurn, ...]
    end: str
    """Why it ended, as a sentence."""
    answer: str | None
    expected: str | None
    is_right: bool | None
    """None if it was not scored, or scored in between."""


def shown_transcripts(record: ResultRecord) -> tuple[ShownTranscript, ...]:
    """The transcripts of a record, one for each sample."""
    return tuple(map(_shown, record.transcripts))


def _shown(transcript: Transcript) -> ShownTranscript:
    score = transcript.score
    return ShownTranscript(
        turns=tuple(_turn(number=number, turn=turn) for number, turn in enumerate(transcript.turns, start=1)),
        end=_STOPPED[transcript.stop], answer=transcript.answer, expected=transcript.expected,
        is_right={0.0: False, 1.0: True}.get(score) if score is not None else None,
    )  # fmt: skip


def _turn(*, number: int, turn: TurnRun) -> ShownTurn:
    tokens = [count for count in (turn.prompt_tokens, turn.completion_tokens) if count is not None]
    return ShownTurn(
        number=number, subgoals=tuple(turn.subgoals), actions=tuple(map(_action, turn.actions)), error=turn.error,
        is_cut=turn.is_cut, seconds=turn.seconds, tokens=sum(tokens) if tokens else None,
        received=tuple(turn.received),
    )  # fmt: skip


def _action(run: ActionRun) -> ShownAction:
    return ShownAction(
        text=f"{run.tool}({run.arguments})", results=tuple(run.outputs.items()),
        problem="" if run.problem is None else run.problem.value.replace("_", " "), error=run.error,
    )  # fmt: skip
