"""How episodes in turns went, in few figures: of one task for a table's row, and of many tasks for a summary."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from evaluator.core.transcripts import ActionProblem, StopReason, Transcript

UNREADABLE_REPLY = "unreadable_reply"
"""Beside the kinds of `ActionProblem`: a reply that could not be read, so that no action of it was known."""
LONGEST_TOOL = 60
"""Characters of a tool's name."""
MOST_PROBLEMS = 24
"""Kinds of problems that are kept of one task, each of one tool; the most frequent are."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)


class EpisodeEnd(_Part):
    """How one episode ended."""

    stop: StopReason
    turns: int
    score: float | None = None


class ProblemCount(_Part):
    """How often actions of one tool had one problem."""

    tool: str
    """Empty where no tool of the suite was named, and for replies that could not be read."""
    problem: str
    """A value of `ActionProblem`, or `UNREADABLE_REPLY`."""
    count: int


class EpisodeSummary(_Part):
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
