"""An evaluation by groups of its tasks, without a database: scores and indicators by facet, failures by cause, and the
episodes of suites in turns by turn, end and error.

Failures are grouped by outcome and reason, then by mistake (`TaskRow.cause`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from evaluator.core.records import Outcome
from evaluator.core.suites.base import Column, IntervalMethod
from evaluator.core.suites.facets import MODALITY, Facet, Facets
from evaluator.core.transcripts import UNREADABLE_REPLY, EpisodeFigures, EpisodeSummary, StopReason, figures_of
from evaluator.scoring.metrics.aggregate import TaskScore, interval_of
from evaluator.scoring.metrics.paired import bootstrap_columns
from evaluator.scoring.metrics.statistics import UNIT, Interval
from leaderboard.evaluations.results.figures import Share, shares, value_of
from leaderboard.evaluations.results.filters import in_words
from leaderboard.evaluations.results.task_rows import FAULTS, TaskRow, place_of, tool_problem, words_of

FEWEST = 2
"""Minimum number of rows of a table."""


class ScoreRow(NamedTuple):
    """The scores of one group of tasks."""

    value: str
    """The value of the table's facet."""
    words: str
    interval: Interval
    faults: int
    """Planner faults among them, which count with a score of 0."""

    @property
    def bar(self) -> Mapping[str, float | None]:
        """The interval as a value for template tags."""
        return value_of(self.interval)


class ShareRow(NamedTuple):
    """The indicators of one group of tasks."""

    value: str
    """The value of the table's facet."""
    words: str
    count: int  # type: ignore[assignment]  # hides tuple.count, which nothing calls
    shares: tuple[Share, ...]


Row = TypeVar("Row", ScoreRow, ShareRow)


class Breakdown(NamedTuple, Generic[Row]):
    """A table by one property of the tasks."""

    facet: str
    label: str
    rows: tuple[Row, ...]


def score_breakdowns(
    *,
    rows: Sequence[TaskRow],
    suite: Facets,
    method: IntervalMethod = IntervalMethod.BOOTSTRAP,
    samples: int = 1,
) -> tuple[Breakdown[ScoreRow], ...]:
    """Mean score with a 95 % interval for each value of each facet, over the tasks with a score.

    A task with two values of a facet is in two groups. Facets that all tasks share are left out.

    Args:
        rows: the tasks.
        suite: its facets.
        method: of the column that the board ranks by.
        samples: of each task.
    """
    scored = [row for row in rows if row.score is not None]
    members: dict[tuple[str, str], list[int]] = {}
    facets = suite.named(suite.breakdowns)
    for facet in facets:
        groups: dict[str, list[int]] = {}
        for place, row in enumerate(scored):
            for value in dict.fromkeys(row.facets.get(facet.name, ())):
                groups.setdefault(value, []).append(place)
        # In the order of the facet, or of first occurrence.
        order = place_of(facet)
        for value in groups if order is None else sorted(groups, key=order):
            members[facet.name, value] = groups[value]
    if not members:
        return ()
    intervals: list[Interval | None]
    if method.over_scenes:
        column = Column(key="", label="", description="", interval=method)
        results = [
            TaskScore(row.key, row.metric, Outcome(row.outcome), row.score, samples=row.samples) for row in scored
        ]
        intervals = [
            interval_of(column=column, results=[results[place] for place in places], samples=samples)
            for places in members.values()
        ]
    else:
        table = np.full((len(scored), len(members)), np.nan)
        for number, places in enumerate(members.values()):
            table[places, number] = [scored[place].score for place in places]
        intervals = bootstrap_columns(table, bounds=[UNIT] * len(members))
    tables: dict[str, list[ScoreRow]] = {facet.name: [] for facet in facets}
    words = {facet.name: words_of(facet) for facet in facets}
    for ((name, value), places), interval in zip(members.items(), intervals, strict=True):
        if interval is not None:
            faults = sum(scored[place].outcome == "planner_fault" for place in places)
            tables[name].append(ScoreRow(value, words[name](value), interval, faults))
    return tuple(
        Breakdown(facet.name, facet.heading or facet.label, tuple(tables[facet.name]))
        for facet in facets
        if len(tables[facet.name]) >= FEWEST
    )


def share_breakdowns(*, rows: Sequence[TaskRow], suite: Facets) -> tuple[Breakdown[ShareRow], ...]:
    """Mean of each indicator with Wilson's 95 % interval for each value of each facet, over the tasks with
    indicators."""
    tables = []
    for facet in suite.named(suite.breakdowns):
        groups: dict[str, list[TaskRow]] = {value: [] for value in _sorted(facet=facet, rows=rows)}
        for row in rows:
            for value in row.facets.get(facet.name, ()) if row.marks else ():
                groups[value].append(row)
        shown = tuple(
            ShareRow(value, words_of(facet)(value), len(members), shares([row.marks for row in members]))
            for value, members in groups.items()
            if members
        )
        if len(shown) >= (1 if facet.stands_alone else FEWEST):
            tables.append(Breakdown(facet.name, facet.heading or facet.label, shown))
    return tuple(tables)


def _sorted(*, facet: Facet, rows: Sequence[TaskRow]) -> list[str]:
    """The values in the order of the facet, the most frequent modality first, all others by name."""
    counted = Counter(value for row in rows for value in row.facets.get(facet.name, ()))
    place = place_of(facet)
    if place is not None:
        return sorted(counted, key=place)
    by_count = facet.name == MODALITY.name
    return sorted(counted, key=lambda value: (-counted[value] if by_count else 0, value))


MOST_CAUSES = 5
MOST_EXAMPLES = 3


class Cause(NamedTuple):
    """Tasks with the same cause."""

    key: str
    """The value of the filter `cause`."""
    count: int  # type: ignore[assignment]  # hides tuple.count, which nothing calls
    sentence: str
    """The reason of the first task."""
    examples: tuple[str, ...]
    """Keys of the first tasks."""


class FailureGroup(NamedTuple):
    """Tasks without a normal score, by reason."""

    outcome: str
    reason: str
    count: int  # type: ignore[assignment]  # hides tuple.count, which nothing calls
    causes: tuple[Cause, ...]
    """The most frequent first."""
    further: int
    """Number of causes that are not shown."""


def failures(rows: Iterable[TaskRow]) -> list[FailureGroup]:
    """Tasks that ended without a normal score, by outcome and reason, the largest group first."""
    groups: dict[tuple[str, str], list[TaskRow]] = {}
    for row in rows:
        if row.outcome in FAULTS:
            groups.setdefault((row.outcome, row.reason), []).append(row)
    failures = []
    for (outcome, reason), members in groups.items():
        by_cause: dict[str, list[TaskRow]] = {}
        for row in members:
            by_cause.setdefault(row.cause, []).append(row)
        causes = [
            Cause(key, len(rows), rows[0].reason_text, tuple(row.key for row in rows[:MOST_EXAMPLES]))
            for key, rows in by_cause.items()
        ]
        causes.sort(key=lambda cause: -cause.count)
        further = max(0, len(causes) - MOST_CAUSES)
        failures.append(FailureGroup(outcome, reason, len(members), tuple(causes[:MOST_CAUSES]), further))
    return sorted(failures, key=lambda group: (group.outcome, -group.count, group.reason))


MOST_TURNS = 24
"""Turns with their own line in the table; later ones share the last line."""
MOST_PROBLEMS = 40
"""Maximum number of lines of the table of errors."""
COUNTED = frozenset({"scored", "planner_fault"})
SENTENCES: Mapping[StopReason, str] = {
    StopReason.ANSWERED: "Gave an answer",
    StopReason.STOPPED: "Stopped; the last result is the answer",
    StopReason.COMPLETED: "Ran a whole plan; its last result is the answer",
    StopReason.ABSTAINED: "Abstained",
    StopReason.TURN_LIMIT: "Reached the limit of turns",
    StopReason.ACTION_LIMIT: "Reached the limit of actions",
    StopReason.TIME_LIMIT: "Reached the limit of time",
    StopReason.UNREADABLE: "Sent three unreadable replies in a row",
    StopReason.CALL_FAILED: "Gave no reply",
}


class TurnLine(NamedTuple):
    """The episodes that ended at one turn."""

    turn: int
    is_rest: bool
    """Whether it includes all later turns."""
    ended: int
    gained: float
    """Sum of their tasks' scores; several episodes of a task count equal shares."""
    until_now: float
    """Mean score over all tasks, counting the episodes that ended at this turn or before."""


class StopLine(NamedTuple):
    """The episodes that ended for one reason."""

    stop: str
    words: str
    episodes: int
    share: float
    tasks: int
    gained: float


class ProblemLine(NamedTuple):
    """The actions of one tool with the same problem."""

    tool: str
    words: str
    link: str
    """The value of the filter `tool_problem`."""
    actions: int
    tasks: int


class EpisodeLines(NamedTuple):
    """The episodes of an evaluation."""

    figures: EpisodeFigures
    tasks: int
    """Tasks that count: scored ones and faults of the planner."""
    unknown: int
    """Tasks whose episodes are not known."""
    turns: tuple[TurnLine, ...]
    stops: tuple[StopLine, ...]
    problems: tuple[ProblemLine, ...]
    further_problems: int


class _Ended(NamedTuple):
    turn: int
    stop: StopReason
    score: float


def episode_lines(rows: Sequence[TaskRow]) -> EpisodeLines | None:
    """The tables of an evaluation's episodes; None if no episode is known."""
    known = [row.episodes for row in rows if row.episodes is not None]
    figures = figures_of(known)
    if figures is None:
        return None
    counted = [row for row in rows if row.outcome in COUNTED]
    ended = []
    for row in counted:
        ends = () if row.episodes is None else row.episodes.ends
        for end in ends:
            score = end.score if row.outcome == "scored" and end.score is not None else 0.0
            ended.append(_Ended(turn=max(end.turns, 0), stop=end.stop, score=score / len(ends)))
    tasks_with = Counter((count.tool, count.problem) for episodes in known for count in episodes.problems)
    problems = tuple(
        ProblemLine(
            tool=count.tool,
            words="Reply that cannot be read" if count.problem == UNREADABLE_REPLY else in_words(count.problem),
            link=tool_problem(tool=count.tool, problem=count.problem),
            actions=count.count,
            tasks=tasks_with[count.tool, count.problem],
        )
        for count in figures.problems
    )
    return EpisodeLines(
        figures=figures,
        tasks=len(counted),
        unknown=sum(row.episodes is None for row in counted),
        turns=_turns(ended=ended, tasks=len(counted)),
        stops=_stops(known=known, ended=ended, figures=figures),
        problems=problems[:MOST_PROBLEMS],
        further_problems=max(0, len(problems) - MOST_PROBLEMS),
    )


def _turns(*, ended: Sequence[_Ended], tasks: int) -> tuple[TurnLine, ...]:
    counts: Counter[int] = Counter()
    gained: dict[int, float] = {}
    for episode in ended:
        turn = min(episode.turn, MOST_TURNS + 1)
        counts[turn] += 1
        gained[turn] = gained.get(turn, 0.0) + episode.score
    lines, total = [], 0.0
    for turn in sorted(counts):
        total += gained[turn]
        lines.append(TurnLine(turn, turn > MOST_TURNS, counts[turn], gained[turn], total / tasks))
    return tuple(lines)


def _stops(
    *, known: Sequence[EpisodeSummary], ended: Sequence[_Ended], figures: EpisodeFigures
) -> tuple[StopLine, ...]:
    tasks = Counter(stop for episodes in known for stop in {end.stop for end in episodes.ends})
    gained: dict[StopReason, float] = {}
    for episode in ended:
        gained[episode.stop] = gained.get(episode.stop, 0.0) + episode.score
    return tuple(
        StopLine(stop.value, SENTENCES[stop], count, count / figures.episodes, tasks[stop], gained.get(stop, 0.0))
        for stop, count in figures.stops
    )
