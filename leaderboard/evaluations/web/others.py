"""Context around the task page: the other planners of its board, and the previous and next task."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from evaluator.core.records import Outcome
from evaluator.planners.bundled import KNOW_GOLD
from leaderboard.boards.contents import content_of
from leaderboard.boards.services import latest_snapshot
from leaderboard.catalog.models import Task
from leaderboard.evaluations.models import Evaluation, TaskResult, conditions_of_board
from leaderboard.evaluations.results.stored_rows import facts_of, sample_of
from leaderboard.evaluations.results.task_rows import select
from leaderboard.evaluations.visibility import Reader, sees_gold
from leaderboard.evaluations.web.gathering import gather
from leaderboard.evaluations.web.walk import Walk, query_of, walk_over

MOST_SHOWN = 10
BINS = 10
"""Number of bins of the distribution of scores, from 0 to 1."""
WIDTH = 120
_SAME = 1e-9


class Other(NamedTuple):
    """One planner's result on the task."""

    evaluation: UUID
    planner: str
    owner: str
    outcome: str
    score: float | None
    plan: str


class Bin(NamedTuple):
    """Planners whose score lies in one part of the scale."""

    label: str
    count: int  # type: ignore[assignment]  # hides tuple.count, which nothing calls
    width: str
    """Width of the bar; the longest has `WIDTH`."""
    holds_this: bool


class Others(NamedTuple):
    """All other planners of the board."""

    count: int  # type: ignore[assignment]  # hides tuple.count, which nothing calls
    better: int
    equal: int
    worse: int
    unscored: int
    best: tuple[Other, ...]
    bins: tuple[Bin, ...]
    this_is_scored: bool


def others_on(*, evaluation: Evaluation, task: Task, score: float | None, reader: Reader) -> Others | None:
    """The results of all other planners of the board on this task; None if none has a score.

    Gold plans are left empty for readers who may not see them.

    The latest snapshot tells which evaluation of each planner counts. It is cached, so that the database only looks up
    one result for each; selecting them among thousands took most of a second.
    """
    snapshot = latest_snapshot(suite=evaluation.suite, conditions=conditions_of_board(evaluation))
    if snapshot is None:
        return None
    planner = evaluation.submission.planner
    rows = {
        UUID(row["evaluation"]): row
        for row in content_of(snapshot).rows
        if (row["planner"], row["owner"]) != (planner.name, planner.owner.username)
    }
    results = TaskResult.objects.filter(task=task, evaluation__in=rows)
    columns = "evaluation_id", "outcome", "score", "plan_summary", "evaluation__submission__planner__bundled_name"
    withheld = frozenset() if sees_gold(reader=reader, suite=evaluation.suite, split=evaluation.split) else KNOW_GOLD
    others = [
        Other(pk, rows[pk]["planner"], rows[pk]["owner"], outcome, value, "" if bundled in withheld else plan)
        for pk, outcome, value, plan, bundled in results.values_list(*columns)
    ]
    return summarise(others=others, score=score)


def summarise(*, others: Sequence[Other], score: float | None) -> Others | None:
    """Compare a score with those of others; None if none of them has a score."""
    scored = [other for other in others if other.score is not None]
    if not scored:
        return None
    values = [other.score for other in scored if other.score is not None]
    best = sorted(scored, key=lambda other: (-(other.score or 0.0), other.outcome != Outcome.SCORED, other.planner))
    return Others(
        count=len(others),
        better=0 if score is None else sum(value > score + _SAME for value in values),
        equal=0 if score is None else sum(abs(value - score) <= _SAME for value in values),
        worse=0 if score is None else sum(value < score - _SAME for value in values),
        unscored=len(others) - len(scored),
        best=tuple(best[:MOST_SHOWN]),
        bins=_bins(values=values, score=score),
        this_is_scored=score is not None,
    )


def _bins(*, values: Sequence[float], score: float | None) -> tuple[Bin, ...]:
    """Bins of equal width, the highest first; only two if all scores are 0 or 1."""

    is_binary = set(values) <= {0.0, 1.0}
    labels = {number: f"{number / BINS:.1f} to {(number + 1) / BINS:.1f}" for number in reversed(range(BINS))}
    if is_binary:
        labels = {1: "1", 0: "0"}

    def place(value: float) -> int:
        # Scores below 0 count in the lowest bin.
        return int(value) if is_binary else min(max(int(value * BINS), 0), BINS - 1)

    counts = Counter(map(place, values))
    longest = max(counts.values())
    own = None if score is None else place(score)
    return tuple(
        Bin(label, counts[number], width=f"{WIDTH * counts[number] / longest:.1f}", holds_this=number == own)
        for number, label in labels.items()
    )


def walk(*, evaluation: Evaluation, key: str, parameters: Mapping[str, str]) -> Walk:
    """The neighbours of a task in the filtered order, or in the suite's order if the filters exclude it."""
    query = query_of(suite=evaluation.suite, parameters=parameters)
    chosen = [row.key for row in select(tasks=gather(evaluation).tasks, parameters=parameters).rows] if query else []
    sample = None if evaluation.is_submitted or key in chosen else sample_of(evaluation.pk)
    keys = [row.key for row in facts_of(evaluation.suite) if sample is None or row.key in sample]
    return walk_over(chosen=chosen, keys=keys, key=key, query=query)
