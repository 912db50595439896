"""When an evaluation probably begins and ends, as a range in minutes.

Ahead of an evaluation are its owner's own that come before it, and of each other user what their share brings to work
meanwhile. What that work takes follows from the pace of the site's workers: what a shard took, and how many ran at
once.

Durations are heavy-tailed: the first shards of a suite load experts and run calls that later evaluations find in the
store. Means of them predicted three to ten times the time that an evaluation took, so each duration counts at most
`_CAP` times the median of its group.
"""

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db.models import Count, F, Q, QuerySet

from leaderboard.catalog.library import tasks_per_shard
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations import states
from leaderboard.evaluations.models import (
    Attempt,
    AttemptState,
    Evaluation,
    EvaluationState,
    Shard,
    ShardState,
    SubmitterPriority,
)
from leaderboard.people.models import User
from leaderboard.platform.database import database_now

UNDER_WAY = states.LEASABLE


class Queue(NamedTuple):
    """The work of the site's workers, without that of self-hosted ones: shards that are not done, and how many of them
    a worker has now."""

    evaluations: int
    shards: int
    leased: int


def queue_now() -> Queue:
    """The queue as it is now, in one query."""
    evaluations, leased = Count("evaluation", distinct=True), Count("pk", filter=Q(state=ShardState.LEASED))
    return Queue(**open_shards().aggregate(evaluations=evaluations, shards=Count("pk"), leased=leased))


def open_shards() -> QuerySet[Shard]:
    """Shards that the site's workers have not done yet."""
    of_site = Shard.objects.filter(evaluation__state__in=UNDER_WAY, evaluation__own_worker_run__isnull=True)
    return of_site.exclude(state=ShardState.DONE)


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


_NARROWEST = 1.25
"""Both ends of the range are at least this factor from its middle, however much was measured."""
_WIDENING = 1.5
"""Divided by the root of the number of measured shards it is added to that factor: 2 for four shards."""


class Range(NamedTuple):
    """Minutes, `low` to `high`."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Line:
    """Waiting work, in seconds of one worker: of the same user ahead of the evaluation, of the evaluation itself, and
    of each other user. Users have weights."""

    before: float
    own: float
    weight: float = 1.0
    others: Sequence[tuple[float, float]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """When an evaluation probably begins and ends, from now; None: not known yet."""

    begins: Range | None = None
    ends: Range | None = None
    shards: int = 0
    """That the range was measured from."""

    def in_words(self) -> str:
        """For pages, without a full stop."""
        if self.begins is None or self.ends is None:
            return "Unknown: too little ran lately for an estimate"
        begins = "within a minute" if self.begins.high < 1 else f"in {_words(self.begins)}"
        return f"Begins {begins}, ends in {_words(self.ends)}"


def _words(minutes: Range) -> str:
    low, high = math.floor(minutes.low), math.ceil(minutes.high)
    if high < 1 or (low < 1 and high <= 1):
        return "about a minute"
    if high >= 120:
        hours = math.floor(minutes.low / 60), math.ceil(minutes.high / 60)
        return f"{hours[0]} to {hours[1]} hours" if hours[0] >= 1 else f"{max(1, low)} minutes to {hours[1]} hours"
    return f"{max(1, low)} to {high} minutes" if max(1, low) < high else f"{high} minute{'' if high == 1 else 's'}"


def expectation(*, measured: Throughput | None, line: Line) -> Expectation:
    """When the evaluation of this line begins and ends. Pure."""
    if measured is None:
        return Expectation()
    begins = _range(_work_until(line.before, line=line), measured=measured)
    ends = _range(_work_until(line.before + line.own, line=line), measured=measured)
    return Expectation(begins=begins, ends=ends, shards=measured.shards)


def _work_until(own: float, *, line: Line) -> float:
    """The work of all users until so much of the user's own is done, by shares."""
    return own + sum(min(waiting, own * weight / line.weight) for waiting, weight in line.others)


def _range(work: float, *, measured: Throughput) -> Range:
    minutes = work / measured.at_once / 60
    factor = _NARROWEST + _WIDENING / math.sqrt(measured.shards)
    return Range(low=minutes / factor, high=minutes * factor)


def expected_of_new(*, user: User, suite: Suite, priority: str = "normal") -> Expectation:
    """The estimate for a submission of this suite, if it were made now."""
    measured = recent_throughput()
    if measured is None:
        return Expectation()
    shards = math.ceil(Task.objects.filter(suite=suite).count() / tasks_per_shard(suite))
    rank = SubmitterPriority.__members__.get(priority.upper(), 0)
    ahead = Q(evaluation__submission__priority__gte=rank) | Q(evaluation__priority__gt=0)
    own = shards * measured.seconds_of(suite=suite.slug, is_executed=suite.runs_experts)
    return expectation(measured=measured, line=_line(measured=measured, user=user, ahead=ahead, own=own))


def expected(evaluation: Evaluation) -> Expectation | None:
    """The estimate for an evaluation that waits or runs; None if it has ended, waits for its owner, or runs on a
    self-hosted worker, whose pace is unknown."""
    if evaluation.state not in UNDER_WAY or hasattr(evaluation, "own_worker_run"):
        return None
    measured = recent_throughput()
    if measured is None:
        return Expectation()
    submission = evaluation.submission
    same = Q(evaluation__priority=evaluation.priority)
    earlier = Q(evaluation__submission__priority__gt=submission.priority) | Q(
        evaluation__submission__priority=submission.priority, evaluation__created__lt=evaluation.created
    )
    ahead = Q(evaluation__priority__gt=evaluation.priority) | (same & earlier)
    suite, planner = evaluation.suite, submission.planner_id
    per_shard = measured.seconds_of(suite=suite.slug, is_executed=suite.runs_experts, planner=planner)
    own = per_shard * open_shards().filter(evaluation=evaluation).count()
    line = _line(measured=measured, user=submission.submitted_by, ahead=ahead, own=own, without=evaluation.pk)
    found = expectation(measured=measured, line=line)
    return replace(found, begins=Range(0, 0)) if evaluation.state == EvaluationState.RUNNING else found


def _line(*, measured: Throughput, user: User, ahead: Q, own: float, without: UUID | None = None) -> Line:
    """The waiting work of all users, in one query."""
    of = "evaluation__submission__submitted_by"
    suite, experts = "evaluation__suite__slug", "evaluation__suite__conditions__experts"
    weight = F("evaluation__submission__submitted_by__queue_weight")
    rows = open_shards().filter(~Q(evaluation=without)).order_by().values(of, suite, experts, weight=weight)
    before = 0.0
    others: dict[int, tuple[float, float]] = {}
    for row in rows.annotate(every=Count("pk"), ahead=Count("pk", filter=ahead)):
        is_own = row[of] == user.pk
        per_shard = measured.seconds_of(suite=row[suite], is_executed=bool(row[experts]))
        work = per_shard * row["ahead" if is_own else "every"]
        if is_own:
            before += work
        else:
            others[row[of]] = (others.get(row[of], (0.0, 0.0))[0] + work, float(row["weight"]))
    return Line(before=before, own=own, weight=float(user.queue_weight), others=tuple(others.values()))
