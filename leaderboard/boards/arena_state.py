"""What the arena's page reads besides the snapshots of the boards."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from django.db.models import Case, Count, OuterRef, Subquery, Value, When

from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.evaluations.visibility import done_count, on_boards
from leaderboard.platform.lru_cache import SharedCache

_COMPUTING = (EvaluationState.RUNNING, EvaluationState.AGGREGATING, EvaluationState.LAUNCHING, EvaluationState.QUEUED)
"""States of evaluations that end without their owner, the most advanced ones first."""
_STARTED = frozenset({EvaluationState.RUNNING, EvaluationState.AGGREGATING})


class Progress(NamedTuple):
    """The public evaluations of a suite that are queued or running, by the oldest of the most advanced ones."""

    count: int  # type: ignore[assignment]  # hides tuple.count, which nothing calls
    planner: str
    evaluation: str
    has_started: bool
    """Whether a worker runs its tasks."""
    done: int
    """Its tasks that have ended."""
    total: int


def progress_of(suites: Iterable[Suite]) -> dict[int, Progress]:
    """What is being computed for each suite, by the suite's primary key, in one query; suites without anything are left
    out."""
    order = Case(*(When(state=state, then=Value(place)) for place, state in enumerate(_COMPUTING)))
    computing = Evaluation.objects.filter(on_boards(), suite__in=list(suites), state__in=_COMPUTING)
    picked = computing.annotate(order=order).order_by("suite", "order", "created", "pk").distinct("suite")
    of_suite = computing.filter(suite=OuterRef("suite")).order_by().values("suite")
    # Ended tasks are counted for the picked evaluations only.
    rows = (
        Evaluation.objects.filter(pk__in=picked.values("pk"))
        .annotate(count=Subquery(of_suite.annotate(count=Count("pk")).values("count")), done=done_count())
        .values_list("suite", "count", "submission__planner__name", "pk", "state", "done", "tasks_total")
    )
    return {
        suite: Progress(count, planner, str(pk), state in _STARTED, done, total)
        for suite, count, planner, pk, state, done, total in rows
    }


_counts: SharedCache[tuple[int, str], int] = SharedCache(maxsize=1000)


def task_counts(suites: Sequence[Suite]) -> dict[int, int]:
    """Number of tasks by the suite's primary key; one query for suites that are not cached."""
    keys = {suite.pk: (suite.pk, suite.digest) for suite in suites}
    counts = {pk: cached for pk, key in keys.items() if (cached := _counts.get(key)) is not None}
    if missing := keys.keys() - counts.keys():
        rows = Task.objects.filter(suite__in=missing).order_by().values_list("suite").annotate(Count("pk"))
        counts |= dict.fromkeys(missing, 0) | dict(rows)
        for pk in missing:
            _counts.put(keys[pk], counts[pk])
    return counts


_planners: SharedCache[str, int] = SharedCache(maxsize=20_000)
"""By evaluation, whose planner never changes."""


def planners_of(evaluations: Sequence[str]) -> dict[str, int]:
    """Primary keys of the planners of evaluations; one query for those that are not cached."""
    planners = dict(zip(evaluations, _planners.get_all(evaluations), strict=True))
    if missing := [evaluation for evaluation, planner in planners.items() if planner is None]:
        for pk, planner in Evaluation.runs.filter(pk__in=missing).values_list("pk", "submission__planner"):
            planners[str(pk)] = planner
            _planners.put(str(pk), planner)
    return {evaluation: planner for evaluation, planner in planners.items() if planner is not None}
