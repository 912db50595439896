"""How the episodes of an evaluation in turns went: success by turn, why they ended, errors of actions. No database."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from evaluator.core.transcripts import UNREADABLE_REPLY, EpisodeFigures, StopReason, figures_of
from leaderboard.evaluations.results.filters import in_words
from leaderboard.evaluations.results.task_filters import TaskRow, tool_problem

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
