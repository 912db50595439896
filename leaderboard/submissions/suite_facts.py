"""Size, price and duration of suites, for those who choose one: counted, measured on this site, or declared."""

import statistics
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from django.db.models import Count, F, Min
from django.utils import timezone

from evaluator.episodes.base import episode_of
from evaluator.episodes.turns.environment import Bounds
from leaderboard.catalog.durations import declared_seconds
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.evaluations.visibility import on_boards
from leaderboard.planners.kinds import KINDS

_NEWEST = 300
"""Number of recent evaluations to measure."""
_TOKENS = "prompt_tokens", "completion_tokens"


class SuiteFacts(NamedTuple):
    """What a suite asks of a planner, in words."""

    what: str
    """How plans are scored: executed, judged, or in turns."""
    size: str
    price: str
    """Calls, and the tokens and seconds that planners needed here; without the latter if none reported them."""
    time: str
    """How long an evaluation takes."""


class _Run(NamedTuple):
    """A completed public evaluation."""

    seconds: float
    usage: dict[str, Any]
    """Means per task (`usage_of`); empty for bundled planners, which cost nothing."""


def suite_facts(suites: Sequence[Suite], *, unit: str = "plan") -> dict[str, SuiteFacts]:
    """The facts of these suites by slug, in two queries. Only public evaluations are measured.

    Args:
        suites: the suites.
        unit: what a planner gives once for each task of suites that ask for whole plans.
    """
    tasks = dict(
        Task.objects.filter(suite__in=suites).order_by().values_list("suite").annotate(count=Count("pk"))
    )  # fmt: skip
    runs = _runs(suites)
    return {
        suite.slug: SuiteFacts(
            what="in turns" if suite.in_turns else "executed" if suite.runs_experts else "judged",
            size=f"{tasks.get(suite.pk, 0):,} tasks",
            price=_price(suite, runs=runs[suite.pk], unit=unit),
            time=_time(suite, tasks=tasks.get(suite.pk, 0), runs=runs[suite.pk]),
        )
        for suite in suites
    }


def _runs(suites: Sequence[Suite]) -> defaultdict[int, list[_Run]]:
    done = Evaluation.objects.filter(
        on_boards(), suite__in=suites, state=EvaluationState.COMPLETED, own_worker_run__isnull=True
    )
    rows = done.annotate(began=Min("shards__attempts__leased_at")).exclude(began=None).order_by("-finished")
    found = defaultdict[int, list[_Run]](list)
    fields = "suite", "submission__planner__kind", "summary__usage", "began"
    for suite, kind, usage, began, finished in rows.values_list(*fields, F("finished"))[:_NEWEST]:
        costs = usage if KINDS[kind].has_canary and isinstance(usage, dict) else {}
        found[suite].append(_Run(seconds=((finished or timezone.now()) - began).total_seconds(), usage=costs))
    return found


def _price(suite: Suite, *, runs: Sequence[_Run], unit: str) -> str:
    bounds = None
    # A release need not know suites that were evaluated before.
    with suppress(LookupError):
        bounds = getattr(episode_of(suite.slug), "bounds", None)
    calls = f"up to {bounds.turns} turns per task" if isinstance(bounds, Bounds) else f"one {unit} per task"
    tokens = [
        sum(run.usage[name]["mean"] for name in _TOKENS if name in run.usage)
        for run in runs
        if any(name in run.usage for name in _TOKENS)
    ]
    seconds = [run.usage["seconds"]["mean"] for run in runs if "seconds" in run.usage]
    measured = [f"{_rounded(statistics.median(seconds))} s"] if seconds else []
    if tokens:
        measured.append(f"{_rounded(statistics.median(tokens))} tokens")
    if not measured:
        return calls
    return f"{calls}; planners here took {' and '.join(measured)} per task (median)"


def _time(suite: Suite, *, tasks: int, runs: Sequence[_Run]) -> str:
    if runs:
        return f"took {_duration(statistics.median(run.seconds for run in runs))} here (median of {len(runs)})"
    declared = declared_seconds(suite)
    if declared is None:
        return "duration not measured yet"
    return f"{_duration(tasks * declared)} of computing, plus the time of your planner"


def _rounded(value: float) -> str:
    """Two significant digits below 100, else a whole number."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    if seconds < 5400:
        return f"about {round(seconds / 60)} minutes"
    return f"about {seconds / 3600:.1f} hours"
