"""How fast the site's workers have been: what one shard took, and how many ran at once.

Durations are heavy-tailed: the first shards of a suite load experts and run calls that later evaluations find in the
store. Means of them foresaw three to ten times the time that an evaluation took, so each duration counts at most
`_CAP` times the median of its group.
"""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from leaderboard.evaluations.models import Attempt, AttemptState
from leaderboard.platform.clock import database_now

MEASURED = timedelta(days=7)
FEWEST = 4
"""Fewer measured shards give no estimate."""
_NEWEST = 500
"""The newest attempts are measured."""
_CAP = 5.0
_PRIOR_SHARDS = 12
"""The suite's pace weighs as much as so many shards of the planner itself, times the square of their coefficient of
variation: what has an even pace of its own is soon foreseen by that alone (Bühlmann's credibility)."""


class Done(NamedTuple):
    """A completed attempt."""

    begin: datetime
    end: datetime
    suite: str
    planner: int | None = None
    is_executed: bool = True
    """Whether its suite executes plans, or judges them."""

    @property
    def seconds(self) -> float:
        """How long it took, above 0."""
        return max(0.001, (self.end - self.begin).total_seconds())


class Pace(NamedTuple):
    """The mean seconds of so many shards."""

    seconds: float
    shards: int
    variation: float = 1.0
    """Standard deviation divided by mean."""


@dataclass(frozen=True, slots=True)
class Throughput:
    """What workers did lately."""

    shards: int
    seconds: float
    """Mean per shard."""
    at_once: float
    """Mean number of shards that ran at once, while any did."""
    by_suite: Mapping[str, Pace] = field(default_factory=dict)
    by_execution: Mapping[bool, Pace] = field(default_factory=dict)
    """Of suites that execute plans, and of the others: for suites that were not measured."""
    by_planner: Mapping[tuple[str, int], Pace] = field(default_factory=dict)
    """By suite and planner."""

    def seconds_of(self, *, suite: str, is_executed: bool, planner: int | None = None) -> float:
        """What a shard probably takes. A planner's own shards count the more the more there are."""
        prior = self.by_suite.get(suite) or self.by_execution.get(is_executed)
        expected = self.seconds if prior is None else prior.seconds
        own = None if planner is None else self.by_planner.get((suite, planner))
        if own is None:
            return expected
        weight = _PRIOR_SHARDS * own.variation**2
        return (weight * expected + own.shards * own.seconds) / (weight + own.shards)


def throughput(attempts: Iterable[Done]) -> Throughput | None:
    """The throughput of completed attempts; None if they are too few. Pure."""
    found = sorted(attempts, key=lambda one: (one.begin, one.end))
    if len(found) < FEWEST:
        return None
    by_suite, by_execution = defaultdict[str, list[float]](list), defaultdict[bool, list[float]](list)
    by_planner = defaultdict[tuple[str, int], list[float]](list)
    for one in found:
        by_suite[one.suite].append(one.seconds)
        by_execution[one.is_executed].append(one.seconds)
        if one.planner is not None:
            by_planner[one.suite, one.planner].append(one.seconds)
    busy = _busy_seconds(found)
    return Throughput(
        shards=len(found),
        seconds=_pace([one.seconds for one in found]).seconds,
        at_once=max(1.0, sum(one.seconds for one in found) / busy if busy else 1.0),
        by_suite={suite: _pace(seconds) for suite, seconds in by_suite.items()},
        by_execution={kind: _pace(seconds) for kind, seconds in by_execution.items()},
        by_planner={key: _pace(seconds) for key, seconds in by_planner.items()},
    )


def recent_throughput() -> Throughput | None:
    """What the site's workers did lately, in one query."""
    done = Attempt.objects.filter(state=AttemptState.COMPLETED, leased_at__gte=database_now() - MEASURED)
    of_site = done.filter(shard__evaluation__own_worker_run__isnull=True)
    of = "shard__evaluation"
    suite = f"{of}__suite__slug", f"{of}__submission__planner", f"{of}__suite__conditions__experts"
    newest = of_site.order_by("-leased_at").values_list("leased_at", "ended_at", *suite)[:_NEWEST]
    return throughput(
        Done(begin, end, suite, planner, is_executed=bool(experts))
        for begin, end, suite, planner, experts in newest
        if end is not None
    )


def _busy_seconds(found: Sequence[Done]) -> float:
    """For how long at least one of these ran; they are in the order of their beginnings."""
    busy, until = 0.0, found[0].begin
    for one in found:
        busy += max(0.0, (one.end - max(one.begin, until)).total_seconds())
        until = max(until, one.end)
    return busy


def _pace(seconds: Sequence[float]) -> Pace:
    most = _CAP * statistics.median(seconds)
    capped = [min(one, most) for one in seconds]
    mean = statistics.fmean(capped)
    # One shard says nothing about the variation.
    variation = statistics.stdev(capped) / mean if len(capped) > 1 else 1.0
    return Pace(seconds=mean, shards=len(capped), variation=variation)
