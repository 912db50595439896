"""Episodes in turns: transcripts for result records, and figures of one or many tasks."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
)

MOST_BYTES = 3 * 1024 * 1024
"""Maximum size of all transcripts of one record, as JSON."""
LONGEST_TEXT = 4000
"""Maximum number of characters of one text: an answer, an argument, a result."""


class StopReason(StrEnum):
    """Why an episode ended."""

    ANSWERED = "answered"
    """The planner gave an answer."""
    STOPPED = "stopped"
    """The planner stopped; the last result is its answer."""
    COMPLETED = "completed"
    """A whole plan was executed; the last result is its answer."""
    ABSTAINED = "abstained"
    """The planner said that the request cannot be met, or ended with neither an action nor an answer."""
    TURN_LIMIT = "turn_limit"
    ACTION_LIMIT = "action_limit"
    TIME_LIMIT = "time_limit"
    UNREADABLE = "unreadable"
    """Too many consecutive answers could not be parsed."""
    CALL_FAILED = "call_failed"
    """The planner gave no answer; the record's reason says whether that is its fault."""
    TOOL_FAILED = "tool_failed"
    """An expert failed on a valid action, which is not the planner's fault."""


class ActionProblem(StrEnum):
    """Why an action has no result."""

    UNKNOWN_TOOL = "unknown_tool"
    BAD_REFERENCE = "bad_reference"
    """It refers to a result that does not exist."""
    BAD_ARGUMENTS = "bad_arguments"
    """The arguments cannot be parsed, or the tool does not accept them."""
    TOOL_ERROR = "tool_error"
    """The tool rejected the call: an invalid query, an equation without a solution."""
    TOO_MUCH = "too_much"
    """It would take too long or produce too much output."""
    UNAVAILABLE = "unavailable"
    """The tool has no expert in this profile."""


_MIN_LENGTH = 32
"""Texts of this length are not shortened further, so that names of reasons stay whole."""


def _cut(value: object) -> object:
    return value[: LONGEST_TEXT - 1] + "…" if isinstance(value, str) and len(value) > LONGEST_TEXT else value


# Truncated instead of rejected, since the texts are untrusted.
Kept = Annotated[str, BeforeValidator(_cut)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


MAIN = "main"
"""In usage by role: the calls of no role, which the planner's own model answers."""


class RoleUsage(_Part):
    """The calls of a strategy's role within a call of the planner."""

    calls: int
    seconds: float
    """Response time: the calls' share of the time of the calls that were made together."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    def __add__(self, other: "RoleUsage") -> "RoleUsage":
        return RoleUsage(
            calls=self.calls + other.calls,
            seconds=round(self.seconds + other.seconds, 6),
            prompt_tokens=sum_of_known((self.prompt_tokens, other.prompt_tokens)),
            completion_tokens=sum_of_known((self.completion_tokens, other.completion_tokens)),
        )


def sum_of_known(counts: Iterable[int | None]) -> int | None:
    """The sum of the counts that are known; None if none is."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def sum_by_role(parts: Iterable[Mapping[str, RoleUsage]]) -> dict[str, RoleUsage]:
    """The usage of several calls of a planner together, by role."""
    total: dict[str, RoleUsage] = {}
    for part in parts:
        for role, usage in part.items():
            total[role] = total[role] + usage if role in total else usage
    return total


def without_role_seconds(roles: Mapping[str, RoleUsage]) -> dict[str, RoleUsage]:
    """Usage by role without timings."""
    return {role: usage.model_copy(update={"seconds": 0.0}) for role, usage in roles.items()}


class ActionRun(_Part):
    """One action."""

    tool: Kept
    arguments: Kept
    """As written by the planner."""
    outputs: dict[str, Kept] = Field(default_factory=dict)
    """Values as texts, by reference; empty if there is a `problem`."""
    problem: ActionProblem | None = None
    error: Kept = ""
    """The problem as a sentence."""
    seconds: float = 0.0
    """Run time; 0 if the result of an equal call was reused. Ignored when results are compared."""


class TurnRun(_Part):
    """One turn: the received answers and their results."""

    received: list[Kept]
    """The answers as received, as JSON: one, or one each of the planning and the grounding module."""
    subgoals: list[Kept] = Field(default_factory=list)
    actions: list[ActionRun] = Field(default_factory=list)
    error: Kept = ""
    """Why an answer could not be parsed, as a sentence."""
    is_cut: bool = False
    """Whether the feedback to the planner was truncated."""
    seconds: float = 0.0
    """The planner's response time. Ignored when results are compared."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    tries: int = 1
    """Requests to the planner, including retries. Ignored when results are compared."""
    cached_tokens: int | None = None
    """As of `PlannerCall`; absent if none are reported."""
    reasoning_tokens: int | None = None
    """The same."""
    roles: dict[str, RoleUsage] = Field(default_factory=dict)
    """As of `PlannerCall`; absent without roles."""

    @model_serializer(mode="wrap")
    def _without_absent(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        # Keeps the digests of records without them unchanged.
        fields: dict[str, object] = handler(self)
        absent = {name for name in ("cached_tokens", "reasoning_tokens", "roles") if getattr(self, name) in (None, {})}
        return {name: value for name, value in fields.items() if name not in absent}


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
    """The correct answer as text, if there is one."""
    score: float | None
    """None if nothing was measured."""
    indicators: dict[str, float] = Field(default_factory=dict)


def without_seconds(transcript: Transcript) -> Transcript:
    """The transcript without timings and tries: the part that is reproducible."""
    turns = [
        turn.model_copy(
            update={
                "seconds": 0.0,
                "tries": 1,
                "roles": without_role_seconds(turn.roles),
                "actions": [action.model_copy(update={"seconds": 0.0}) for action in turn.actions],
            }
        )
        for turn in transcript.turns
    ]
    return transcript.model_copy(update={"turns": turns})


def bounded(transcripts: Sequence[Transcript]) -> list[Transcript]:
    """The transcripts of one record, with long texts truncated until the total is at most `MOST_BYTES`. They are
    untrusted, and there may be many samples."""
    result, longest = list(transcripts), LONGEST_TEXT
    while sum(len(item.model_dump_json().encode()) for item in result) > MOST_BYTES and longest > _MIN_LENGTH:
        longest //= 2
        result = [Transcript.model_validate(_shortened(item.model_dump(), longest=longest)) for item in result]
    return result


def _shortened(value: Any, *, longest: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= longest else f"{value[: longest - 1]}…"
    if isinstance(value, dict):
        return {name: _shortened(item, longest=longest) for name, item in value.items()}
    return [_shortened(item, longest=longest) for item in value] if isinstance(value, list) else value


UNREADABLE_REPLY = "unreadable_reply"
"""In addition to the kinds of `ActionProblem`: a reply that could not be parsed, so that its actions are unknown."""
LONGEST_TOOL = 60
"""Maximum number of characters of a tool's name."""
MOST_PROBLEMS = 24
"""Maximum number of pairs of tool and problem that are stored for one task: the most frequent."""


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
    """Empty for unknown tools, and for replies that could not be parsed."""
    problem: str
    """A value of `ActionProblem`, or `UNREADABLE_REPLY`."""
    count: int


class EpisodeSummary(_SummaryPart):
    """The episodes of one task: one for each sample."""

    ends: list[EpisodeEnd] = Field(default_factory=list)
    problems: list[ProblemCount] = Field(default_factory=list)
    """Most frequent first."""
    labels: dict[str, list[str]] = Field(default_factory=dict)
    """Values of the suite's facets that describe the result (`Suite.labels`)."""


def summary_of(transcripts: Sequence[Transcript]) -> EpisodeSummary | None:
    """The summary of one task's transcripts; None if there are none."""
    if not transcripts:
        return None
    ends = [EpisodeEnd(stop=episode.stop, turns=len(episode.turns), score=episode.score) for episode in transcripts]
    problems: Counter[tuple[str, str]] = Counter()
    for turn in (turn for transcript in transcripts for turn in transcript.turns):
        if turn.error:
            problems["", UNREADABLE_REPLY] += 1
        for action in turn.actions:
            if action.problem is not None:
                tool = action.tool if action.problem is not ActionProblem.UNKNOWN_TOOL else ""
                problems[tool[:LONGEST_TOOL], action.problem.value] += 1
    return EpisodeSummary(ends=ends, problems=_counted(problems)[:MOST_PROBLEMS])


class EpisodeFigures(NamedTuple):
    """The episodes of many tasks."""

    episodes: int
    mean_turns: float
    stops: tuple[tuple[StopReason, int], ...]
    """Number of episodes by stop reason, most frequent first."""
    problems: tuple[ProblemCount, ...]
    """Failed actions by tool and problem, most frequent first."""

    def sentences(self) -> tuple[str, ...]:
        """The figures as lines of text."""
        stops = ", ".join(f"{count} {in_words(stop)}" for stop, count in self.stops)
        lines = [
            f"{self.episodes} episode{'' if self.episodes == 1 else 's'}, {self.mean_turns:.2f} turns in the mean",
            f"Ended: {stops}",
        ]
        if self.problems:
            counts = (
                f"{item.count} {' '.join(filter(None, (item.tool, in_words(item.problem))))}" for item in self.problems
            )
            lines.append(f"Action errors: {', '.join(counts)}")
        return tuple(lines)

    def to_json(self) -> dict[str, Any]:
        """The figures as a JSON object."""
        return {
            "episodes": self.episodes,
            "mean_turns": self.mean_turns,
            "stops": {stop.value: count for stop, count in self.stops},
            "problems": [problem.model_dump() for problem in self.problems],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "EpisodeFigures":
        """The inverse of `to_json`."""
        stops = tuple((StopReason(stop), count) for stop, count in value["stops"].items())
        problems = tuple(ProblemCount.model_validate(problem) for problem in value["problems"])
        return cls(value["episodes"], value["mean_turns"], stops, problems)


def figures_of(summaries: Iterable[EpisodeSummary]) -> EpisodeFigures | None:
    """The figures of many tasks; None if no task had an episode."""
    stops: Counter[StopReason] = Counter()
    problems: Counter[tuple[str, str]] = Counter()
    turns = 0
    for summary in summaries:
        stops.update(end.stop for end in summary.ends)
        turns += sum(end.turns for end in summary.ends)
        for item in summary.problems:
            problems[item.tool, item.problem] += item.count
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
