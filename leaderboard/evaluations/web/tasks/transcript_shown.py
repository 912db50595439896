"""The transcript of an episode on the page of its task: turn by turn, with the result of each action."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from evaluator.core.records import ResultRecord
from evaluator.core.transcripts import ActionRun, StopReason, Transcript, TurnRun
from leaderboard.evaluations.results.figures import tokens_in_words
from leaderboard.evaluations.web.tasks.artefacts_shown import ShownValue, shown_value
from leaderboard.evaluations.web.tasks.faults_shown import Faults, ShownFault
from leaderboard.evaluations.web.tasks.grids_shown import CodeLine, code_lines

MOST_TRANSCRIPTS = 8
MOST_TURNS = 64
MOST_ACTIONS = 128
"""Maximum number of actions per turn; the record has all of them."""
_TOKENS = ("prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens")
_STOPPED = {
    StopReason.ANSWERED: "The planner gave an answer.",
    StopReason.STOPPED: "The planner stopped; the last result is its answer.",
    StopReason.COMPLETED: "The whole plan was run; the last result is its answer.",
    StopReason.ABSTAINED: "The planner abstained.",
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
    tool: str
    code: tuple[CodeLine, ...]
    """The lines of a program of several lines; else empty."""
    label: str
    """Unique on the page."""
    results: tuple[tuple[str, ShownValue], ...]
    """Name and value of each result."""
    problem: str
    """The kind of problem in words; empty if there is none."""
    error: str
    seconds: float


class ShownTurn(NamedTuple):
    """One turn."""

    number: int
    subgoals: tuple[tuple[int, str], ...]
    """Subgoals with their numbers in the episode."""
    actions: tuple[ShownAction, ...]
    actions_left_out: int
    error: str
    is_cut: bool
    seconds: float
    """Time of the planner."""
    tool_seconds: float
    tries: int
    """Number of requests to the planner, including retries."""
    tokens: str
    """Tokens of the prompt and of the answer, in words; empty if unknown."""
    received: tuple[str, ...]
    faults: tuple[ShownFault, ...] = ()
    """Findings of the turn."""


class GoldStep(NamedTuple):
    """One step of a right solution."""

    subgoal: str
    """Empty if subgoals and steps do not correspond."""
    action: str
    """In the planner's notation, without the program in `code`."""
    code: tuple[CodeLine, ...] = ()
    """The lines of a program of several lines; else empty."""


class GoldSolution(NamedTuple):
    """A right solution in the planner's notation."""

    subgoals: tuple[str, ...]
    """Empty if they correspond to the steps."""
    steps: tuple[GoldStep, ...]


class ShownTranscript(NamedTuple):
    """One episode."""

    number: int
    """Of the sample, from 1."""
    label: str
    """Prefix of labels on the page, with a comma and a space; empty if it is the only episode."""
    turns: tuple[ShownTurn, ...]
    turns_left_out: int
    end: str
    """Why it ended, as a sentence."""
    answer: ShownValue | None
    expected: ShownValue | None
    score: float | None
    is_right: bool | None
    """None if it was not scored or has partial credit."""
    totals: tuple[str, ...]
    """Numbers of turns, actions and tokens, in words."""


def shown_transcripts(record: ResultRecord) -> tuple[ShownTranscript, ...]:
    """The first transcripts of a record, which has one per sample."""
    several = len(record.transcripts) > 1
    return tuple(
        shown_transcript(transcript, label=f"Sample {transcript.sample + 1}, " if several else "")
        for transcript in record.transcripts[:MOST_TRANSCRIPTS]
    )


def with_faults(transcripts: tuple[ShownTranscript, ...], *, faults: Faults) -> tuple[ShownTranscript, ...]:
    """Transcripts with the findings of their turns, in the first episode that is not right."""
    place = next((place for place, one in enumerate(transcripts) if one.is_right is not True), None)
    if place is None or not faults.of_turns:
        return transcripts
    turns = tuple(turn._replace(faults=faults.in_turn(turn.number)) for turn in transcripts[place].turns)
    return (*transcripts[:place], transcripts[place]._replace(turns=turns), *transcripts[place + 1 :])


def gold_solution(gold: Mapping[str, Any] | None) -> GoldSolution | None:
    """The solution of a suite in turns from its gold plan `plan/1`; None without a gold plan."""
    if not gold or not gold.get("steps"):
        return None
    subgoals = tuple(gold.get("subgoals") or ())
    correspond = len(subgoals) == len(gold["steps"])
    steps = []
    for place, step in enumerate(gold["steps"]):
        arguments = ", ".join(map(str, step["inputs"].values()))
        name = f"{', '.join(step['outputs'].values())} = {step['tool']}"
        code = code_lines(arguments, message="")
        action = name if code else f"{name}({arguments})"
        steps.append(GoldStep(subgoals[place] if correspond else "", action, code))
    return GoldSolution(() if correspond else subgoals, tuple(steps))


def shown_transcript(transcript: Transcript, *, label: str) -> ShownTranscript:
    """One transcript. `label` is the prefix of its labels."""
    score, turns = transcript.score, transcript.turns
    actions = [action for turn in turns for action in turn.actions]
    failed = sum(action.problem is not None for action in actions)
    totals = [
        _count(len(turns), "turn"),
        _count(len(actions), "action") + (f", {failed} without a result" if failed else ""),
        _tokens(turns),
    ]
    return ShownTranscript(
        number=transcript.sample + 1,
        label=label,
        turns=tuple(_turns(turns[:MOST_TURNS], label=label)),
        turns_left_out=max(0, len(turns) - MOST_TURNS),
        end=_STOPPED[transcript.stop],
        answer=None if transcript.answer is None else shown_value(transcript.answer),
        expected=None if transcript.expected is None else shown_value(transcript.expected),
        score=score,
        is_right={0.0: False, 1.0: True}.get(score) if score is not None else None,
        totals=tuple(filter(None, totals)),
    )


def _turns(turns: Sequence[TurnRun], *, label: str) -> Iterable[ShownTurn]:
    subgoals = 0
    for number, turn in enumerate(turns, start=1):
        yield ShownTurn(
            number=number,
            subgoals=tuple(enumerate(turn.subgoals, start=subgoals + 1)),
            actions=tuple(
                _action(action, label=f"{label}turn {number}, action {place}")
                for place, action in enumerate(turn.actions[:MOST_ACTIONS], start=1)
            ),
            actions_left_out=max(0, len(turn.actions) - MOST_ACTIONS),
            error=turn.error, is_cut=turn.is_cut, seconds=turn.seconds,
            tool_seconds=sum(action.seconds for action in turn.actions),
            tries=turn.tries, tokens=_tokens([turn]), received=tuple(turn.received),
        )  # fmt: skip
        subgoals += len(turn.subgoals)


def _action(run: ActionRun, *, label: str) -> ShownAction:
    return ShownAction(
        text=f"{run.tool}({run.arguments})",
        tool=run.tool,
        code=code_lines(run.arguments, message=run.error or "\n".join(run.outputs.values())),
        label=label,
        results=tuple((name, shown_value(value)) for name, value in run.outputs.items()),
        problem="" if run.problem is None else run.problem.value.replace("_", " "),
        error=run.error,
        seconds=run.seconds,
    )


def _tokens(turns: Iterable[TurnRun]) -> str:
    usage: Counter[str] = Counter()
    for turn in turns:
        usage.update({name: count for name in _TOKENS if (count := getattr(turn, name)) is not None})
    words = tokens_in_words(usage)
    return f"tokens {words}" if words else ""


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
