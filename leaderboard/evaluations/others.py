"""How the other planners of a board did on one task."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from django.db.models import F, FilteredRelation, Q

from evaluator.records import Outcome
from leaderboard.boards.services import primary_metric, published
from leaderboard.catalog.models import Task
from leaderboard.evaluations.models import Evaluation

MOST_SHOWN = 10
BINS = 10
"""Of the distribution, over scores from 0 to 1."""
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
    count: int
    width: str
    """Of the bar, the longest being `WIDTH`."""
    holds_this: bool


class Others(NamedTuple):
    """All other planners of the board."""

    count: int
    better: int
    equal: int
    worse: int
    unscored: int
    best: tuple[Other, ...]
    bins: tuple[Bin, ...]
    this_is_scored: bool


def others_on(*, evaluation: Evaluation, task: Task, score: float | None) -> Others | None:
    """The best published evaluation of every other planner on this task, in one query; None where there is none."""
    metric = primary_metric(evaluation.suite)
    mean = F(f"summary__metrics__{metric['key']}__mean")
    best_first = mean.desc(nulls_last=True) if metric.get("higher_is_better", True) else mean.asc(nulls_last=True)
    rows = (
        published()
        .filter(
            suite=evaluation.suite_id,
            profile_digest=evaluation.profile_digest,
            split=evaluation.split,
            samples=evaluation.samples,
        )
        .exclude(submission__planner=evaluation.submission.planner_id)
        .annotate(result=FilteredRelation("results", condition=Q(results__task=task.pk)))
        .exclude(result=None)
        .order_by("submission__planner", best_first, "finished")
        .distinct("submission__planner")
        .values_list(
            "pk", "submission__planner__name", "submission__planner__owner__username", "result__outcome",
            "result__score", "result__plan_summary",
        )
    )  # fmt: skip
    found = [Other(*row) for row in rows]
    return summarise(others=found, score=score)


def summarise(*, others: Sequence[Other], score: float | None) -> Others | None:
    """Where a score lies among those of others; None if none of them has a score. Pure."""
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
    """Equal parts of the scale, the highest first; only two of them where all scores are 0 or 1."""
    if set(values) <= {0.0, 1.0}:
        counts, labels = Counter(int(value) for value in values), {1: "1", 0: "0"}
        place = None if score is None else int(score)
    else:
        counts = Counter(_bin(value) for value in values)
        labels = {number: f"{number / BINS:.1f} to {(number + 1) / BINS:.1f}" for number in reversed(range(BINS))}
        place = None if score is None else _bin(score)
    longest = max(counts.values())
    return tuple(
        Bin(
            label=label,
            count=counts[number],
            width=f"{WIDTH * counts[number] / longest:.1f}",
            holds_this=number == place,
        )
        for number, label in labels.items()
    )


def _bin(value: float) -> int:
    """Scores below 0 count in the lowest part."""
    return min(max(int(value * BINS), 0), BINS - 1)
