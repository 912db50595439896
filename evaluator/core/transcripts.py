"""Episodes in turns: the transcript that a record keeps, and figures of one task and of many tasks."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

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


UNREADABLE_REPLY = "unreadable_reply"
"""Beside the kinds of `ActionProblem`: a reply that could not be read, so that no action of it was known."""
LONGEST_TOOL = 60
"""Characters of a tool's name."""
MOST_PROBLEMS = 24
"""Kinds of problems that are kept of one task, each of one tool; the most frequent are."""


class _SummaryPart(BaseModel):
    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)


class EpisodeEnd(_SummaryPart):
    """How one episode ended."""

    stop: StopReason
    turns: int
    score: float | None = None


class ProblemCount(_SummaryPart):
    """How often actions of one tool had one problem."""

    tool: str
    """Empty where no tool of the suite was named, and for replies that could not be read."""
    problem: str
    """A value of `ActionProblem`, or `UNREADABLE_REPLY`."""
    count: int


class EpisodeSummary(_SummaryPart):
    """The episodes of one task: one for each sample."""

    ends: list[EpisodeEnd] = Field(default_factory=list)
    problems: list[ProblemCount] = Field(default_factory=list)
    """The most frequent first."""
    labels: dict[str, list[str]] = Field(default_factory=dict)
    """Values of the suite's facets that describe the result (`Suite.labels`)."""


def summary_of(transcripts: Sequence[Transcript]) -> EpisodeSummary | None:
    """The summary of one task's transcripts; None where there are none."""
    if not transcripts:
        return None
    ends = [EpisodeEnd(stop=one.stop, turns=len(one.turns), score=one.score) for one in transcripts]
    problems: Counter[tuple[str, str]] = Counter()
    for turn in (turn for transcript in transcripts for turn in transcript.turns):
        if turn.error:
            problems["", UNREADABLE_REPLY] += 1
        for action in turn.actions:
            if action.problem is not None:
                named = action.tool if action.problem is not ActionProblem.UNKNOWN_TOOL else ""
                problems[named[:LONGEST_TOOL], action.problem.value] += 1
    return EpisodeSummary(ends=ends, problems=_counted(problems)[:MOST_PROBLEMS])


class EpisodeFigures(NamedTuple):
    """The episodes of many tasks."""

    episodes: int
    mean_turns: float
    stops: tuple[tuple[StopReason, int], ...]
    """Episodes by why they ended, the most frequent first."""
    problems: tuple[ProblemCount, ...]
    """Actions by tool and problem, the most frequent first."""

    def sentences(self) -> tuple[str, ...]:
        """The figures as lines of text."""
        stops = ", ".join(f"{count} {in_words(stop)}" for stop, count in self.stops)
        lines = [
            f"{self.episodes} episode{'' if self.episodes == 1 else 's'}, {self.mean_turns:.2f} turns in the mean",
            f"Ended: {stops}",
        ]
        if self.problems:
            found = (
                f"{one.count} {' '.join(filter(None, (one.tool, in_words(one.problem))))}" for one in self.problems
            )
            lines.append(f"Action errors: {', '.join(found)}")
        return tuple(lines)

    def to_json(self) -> dict[str, Any]:
        """The figures as a JSON object."""
        return {
            "episodes": self.episodes,
            "mean_turns": self.mean_turns,
            "stops": {stop.value: count for stop, count in self.stops},
            "problems": [one.model_dump() for one in self.problems],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "EpisodeFigures":
        """The inverse of `to_json`."""
        stops = tuple((StopReason(stop), count) for stop, count in value["stops"].items())
        problems = tuple(ProblemCount.model_validate(one) for one in value["problems"])
        return cls(value["episodes"], value["mean_turns"], stops, problems)


def figures_of(summaries: Iterable[EpisodeSummary]) -> EpisodeFigures | None:
    """The figures of many tasks; None where no task had an episode."""
    stops: Counter[StopReason] = Counter()
    problems: Counter[tuple[str, str]] = Counter()
    turns = 0
    for summary in summaries:
        stops.update(end.stop for end in summary.ends)
        turns += sum(end.turns for end in summary.ends)
        for one in summary.problems:
            problems[one.tool, one.problem] += one.count
    episodes = stops.total()
    if not episodes:
        return None
    ordered = sorted(stops.items(), key=lambda item: (-item[1], list(StopReason).index(item[0])))
    return EpisodeFigures(episodes, turns / episodes, tuple(ordered), tuple(_counted(problems)))


def in_words(code: str) -> str:
    """A stop reason or a problem in lower-case words."""
    return str(code).replace("_", " ")


def _counted(problems: Counter[tuple[str, str]]) -> list[ProblemCount]:
    ordered = sorted(problems.items(), key=lambda item: (-item[1], item[0]))
    return [ProblemCount(tool=tool, problem=problem, count=count) for (tool, problem), count in ordered]
