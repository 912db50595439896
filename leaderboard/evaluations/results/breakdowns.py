"""An evaluation by groups of its tasks: scores and indicators by facet, failures by cause, and the episodes of suites
in turns by turn, end and error. No database.

Failures are grouped by outcome and reason, then by cause (`task_rows.cause_key`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from evaluator.core.records import Outcome
from evaluator.core.suites.base import Column, IntervalMethod
from evaluator.core.suites.facets import MODALITY, Facet, Facets
from evaluator.core.transcripts import UNREADABLE_REPLY, EpisodeFigures, StopReason, figures_of
from evaluator.scoring.metrics.aggregate import TaskScore, interval_of
from evaluator.scoring.metrics.paired import bootstrap_columns
from evaluator.scoring.metrics.statistics import UNIT, Interval
from leaderboard.evaluations.results.figures import Share, shares, value_of
from leaderboard.evaluations.results.filters import in_words
from leaderboard.evaluations.results.task_rows import FAULTS, TaskRow, place_of, tool_problem, words_of

FEWEST = 2
"""Values that a property must have to be worth a table."""


class ScoreRow(NamedTuple):
    """The scores of one group of tasks."""

    value: str
    """The value of the table's facet."""
    words: str
    interval: Interval
    faults: int
    """Planner's faults among them, which count with a score of 0."""

    @property
    def bar(self) -> Mapping[str, float | None]:
        """The interval as the tags of the site take it."""
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
    """Mean score with a 95 % interval for each value of each facet, over the tasks that have a score.

    A task with two values of a facet is in two groups. Facets that all tasks share are left out.

    Args:
        rows: the tasks.
        suite: its facets.
        method: of the column that the board ranks by.
        samples: of each task.
    """
    scored = [row for row in rows if row.score is not None]
    facets = suite.named(suite.breakdowns)
    groups = [(facet.name, value) for facet in facets for value in _as_met(facet=facet, rows=scored)]
    if not groups:
        return ()
    intervals: dict[tuple[str, str], Interval | None]
    if method.over_scenes:
        intervals = {group: _over_scenes(rows=scored, group=group, method=method, samples=samples) for group in groups}
    else:
        table = _table(scored=scored, groups=groups)
        intervals = dict(zip(groups, bootstrap_columns(table, bounds=[UNIT] * len(groups)), strict=True))
    found = []
    for facet in facets:
        shown = tuple(
            ScoreRow(value, words_of(facet)(value), interval, _faults(facet=facet, value=value, rows=scored))
            for value in _as_met(facet=facet, rows=scored)
            if (interval := intervals[facet.name, value]) is not None
        )
        if len(shown) >= FEWEST:
            found.append(Breakdown(facet.name, facet.heading or facet.label, shown))
    return tuple(found)


def _over_scenes(
    *, rows: Sequence[TaskRow], group: tuple[str, str], method: IntervalMethod, samples: int
) -> Interval | None:
    facet, value = group
    column = Column(key="", label="", description="", interval=method)
    members = [
        TaskScore(row.key, row.metric, Outcome(row.outcome), row.score, samples=row.samples)
        for row in rows
        if value in row.facets.get(facet, ())
    ]
    return interval_of(column=column, results=members, samples=samples)


def _as_met(*, facet: Facet, rows: Sequence[TaskRow]) -> list[str]:
    """Each value once: in the order of its facet, or as they are first met in the suite."""
    values = list(dict.fromkeys(value for row in rows for value in row.facets.get(facet.name, ())))
    place = place_of(facet)
    return values if place is None else sorted(values, key=place)


def _table(*, scored: Sequence[TaskRow], groups: Sequence[tuple[str, str]]) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """Scores of shape (tasks, groups), NaN where a task is not in a group."""
    columns = {group: column for column, group in enumerate(groups)}
    table = np.full((len(scored), len(groups)), np.nan)
    for place, row in enumerate(scored):
        for name, values in row.facets.items():
            for value in values:
                if (name, value) in columns:
                    table[place, columns[name, value]] = row.score
    return table


def _faults(*, facet: Facet, value: str, rows: Sequence[TaskRow]) -> int:
    return sum(row.outcome == "planner_fault" and value in row.facets.get(facet.name, ()) for row in rows)


def share_breakdowns(*, rows: Sequence[TaskRow], suite: Facets) -> tuple[Breakdown[ShareRow], ...]:
    """Mean of each indicator with Wilson's 95 % interval for each value of each facet, over the tasks that have
    indicators."""
    found = []
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
            found.append(Breakdown(facet.name, facet.heading or facet.label, shown))
    return tuple(found)


def _sorted(*, facet: Facet, rows: Sequence[TaskRow]) -> list[str]:
    """Each value once: in the order of its facet, the most frequent modality first, all others by name."""
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
    """Of the first task."""
    examples: tuple[str, ...]
    """Keys of the first tasks."""


class FailureGroup(NamedTuple):
    """Tasks without a normal score, by the reason."""

    outcome: str
    reason: str
    count: int  # type: ignore[assignment]  # hides tuple.count, which nothing calls
    causes: tuple[Cause, ...]
    """The most frequent first."""
    further: int
    """How many causes are not shown."""


def failures(rows: Iterable[TaskRow]) -> list[FailureGroup]:
    """Tasks that ended without a normal score, by outcome and reason, the largest group first."""
    groups: dict[tuple[str, str], list[TaskRow]] = {}
    for row in rows:
        if row.outcome in FAULTS:
            groups.setdefault((row.outcome, row.reason), []).append(row)
    found = [_group(outcome=outcome, reason=reason, members=members) for (outcome, reason), members in groups.items()]
    return sorted(found, key=lambda group: (group.outcome, -group.count, group.reason))


def _group(*, outcome: str, reason: str, members: Sequence[TaskRow]) -> FailureGroup:
    by_cause: dict[str, list[TaskRow]] = {}
    for row in members:
        by_cause.setdefault(row.cause, []).append(row)
    causes = [
        Cause(key, len(rows), rows[0].reason_text, tuple(row.key for row in rows[:MOST_EXAMPLES]))
        for key, rows in by_cause.items()
    ]
    causes.sort(key=lambda cause: -cause.count)
    return FailureGroup(
        outcome=outcome,
        reason=reason,
        count=len(members),
        causes=tuple(causes[:MOST_CAUSES]),
        further=max(0, len(causes) - MOST_CAUSES),
    )


MOST_TURNS = 24
"""Turns with a line of their own in the table; later ones share the last line."""
MOST_PROBLEMS = 40
"""Lines of the table of errors."""
COUNTED = frozenset({"scored", "planner_fault"})
SENTENCES: Mapping[StopReason, str] = {
    StopReason.ANSWERED: "Gave an answer",
    StopReason.STOPPED: "Stopped; the last result is the answer",
    StopReason.COMPLETED: "Ran a whole plan; its last result is the answer",
    StopReason.TURN_LIMIT: "Reached the limit of turns",
    StopReason.ACTION_LIMIT: "Reached the limit of actions",
    StopReason.TIME_LIMIT: "Reached the limit of time",
    StopReason.UNREADABLE: "Replied three times in a row with what could not be read",
    StopReason.CALL_FAILED: "Gave no reply",
}


class TurnLine(NamedTuple):
    """The episodes that ended at one turn."""

    turn: int
    is_rest: bool
    """Whether it stands for this turn and all later ones."""
    ended: int
    gained: float
    """Sum of their tasks' scores; where a task has several episodes, each counts its share."""
    until_now: float
    """Mean score over all tasks of the episodes that ended at this turn or before."""


class StopLine(NamedTuple):
    """The episodes that ended for one reason."""

    stop: str
    words: str
    episodes: int
    share: float
    tasks: int
    gained: float


class ProblemLine(NamedTuple):
    """The actions of one tool that had one problem."""

    tool: str
    words: str
    link: str
    """The value of the filter `tool_problem`."""
    actions: int
    tasks: int


class EpisodeLines(NamedTuple):
    """Everything that an evaluation's page shows of its episodes."""

    figures: EpisodeFigures
    tasks: int
    """Tasks that count: scored ones and faults of the planner."""
    unknown: int
    """Those whose episodes are not known, since their results are older than this table."""
    turns: tuple[TurnLine, ...]
    stops: tuple[StopLine, ...]
    problems: tuple[ProblemLine, ...]
    further_problems: int


class _Ended(NamedTuple):
    turn: int
    stop: StopReason
    score: float


def episode_lines(rows: Sequence[TaskRow]) -> EpisodeLines | None:
    """The lines of an evaluation's tasks; None where no episode is known."""
    known = [row for row in rows if row.episodes is not None]
    figures = figures_of(row.episodes for row in known if row.episodes is not None)
    if figures is None:
        return None
    counted = [row for row in rows if row.outcome in COUNTED]
    ended = [one for row in counted for one in _ended(row)]
    problems = _problems(known=known, figures=figures)
    return EpisodeLines(
        figures=figures,
        tasks=len(counted),
        unknown=sum(row.episodes is None for row in counted),
        turns=_turns(ended=ended, tasks=len(counted)),
        stops=_stops(known=known, ended=ended, figures=figures),
        problems=problems[:MOST_PROBLEMS],
        further_problems=max(0, len(problems) - MOST_PROBLEMS),
    )


def _ended(row: TaskRow) -> Iterable[_Ended]:
    ends = () if row.episodes is None else row.episodes.ends
    for end in ends:
        score = end.score if row.outcome == "scored" and end.score is not None else 0.0
        yield _Ended(turn=max(end.turns, 0), stop=end.stop, score=score / len(ends))


def _turns(*, ended: Sequence[_Ended], tasks: int) -> tuple[TurnLine, ...]:
    counts: Counter[int] = Counter()
    gained: dict[int, float] = {}
    for one in ended:
        turn = min(one.turn, MOST_TURNS + 1)
        counts[turn] += 1
        gained[turn] = gained.get(turn, 0.0) + one.score
    lines, total = [], 0.0
    for turn in sorted(counts):
        total += gained[turn]
        lines.append(TurnLine(turn, turn > MOST_TURNS, counts[turn], gained[turn], total / tasks))
    return tuple(lines)


def _stops(*, known: Sequence[TaskRow], ended: Sequence[_Ended], figures: EpisodeFigures) -> tuple[StopLine, ...]:
    tasks = Counter(stop for row in known if row.episodes for stop in {end.stop for end in row.episodes.ends})
    gained: dict[StopReason, float] = {}
    for one in ended:
        gained[one.stop] = gained.get(one.stop, 0.0) + one.score
    return tuple(
        StopLine(stop.value, SENTENCES[stop], count, count / figures.episodes, tasks[stop], gained.get(stop, 0.0))
        for stop, count in figures.stops
    )


def _problems(*, known: Sequence[TaskRow], figures: EpisodeFigures) -> tuple[ProblemLine, ...]:
    found = ((one.tool, one.problem) for row in known if row.episodes for one in row.episodes.problems)
    tasks = Counter(found)
    return tuple(
        ProblemLine(
            tool=one.tool,
            words="Reply that cannot be read" if one.problem == UNREADABLE_REPLY else in_words(one.problem),
            link=tool_problem(tool=one.tool, problem=one.problem),
            actions=one.count,
            tasks=tasks[one.tool, one.problem],
        )
        for one in figures.problems
    )
