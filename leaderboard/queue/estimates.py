"""Estimated start and end of an evaluation, as ranges in minutes.

The work ahead of an evaluation is the earlier work of the same user, plus what the fair share of every other user lets
run meanwhile. Its duration follows from the recent throughput of the site's workers: seconds per shard, and shards that
ran in parallel.

Durations are heavy-tailed: the first shards of a suite load experts and run calls that later evaluations find in the
store. Plain means overestimated three to ten times, so each duration counts at most `_CAP` times the median of its
group.
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
    """The unfinished work of the site's workers; self-hosted workers are excluded."""

    evaluations: int
    shards: int
    leased: int


def queue_now() -> Queue:
    """The current queue, in one query."""
    evaluations, leased = Count("evaluation", distinct=True), Count("pk", filter=Q(state=ShardState.LEASED))
    return Queue(**open_shards().aggregate(evaluations=evaluations, shards=Count("pk"), leased=leased))


def open_shards() -> QuerySet[Shard]:
    """Unfinished shards of the site's workers."""
    of_site = Shard.objects.filter(evaluation__state__in=UNDER_WAY, evaluation__own_worker_run__isnull=True)
    return of_site.exclude(state=ShardState.DONE)


MEASURED = timedelta(days=7)
FEWEST = 4
"""Measured shards that an estimate needs."""
_NEWEST = 500
"""Number of recent attempts to measure."""
_CAP = 5.0
_PRIOR_SHARDS = 12
"""Weight of the suite's pace in shards of the planner, times the square of their coefficient of variation: a planner
with an even pace is soon predicted by its own shards (Bühlmann credibility)."""


class Done(NamedTuple):
    """A completed attempt."""

    begin: datetime
    end: datetime
    suite: str
    planner: int | None = None
    is_executed: bool = True
    """Whether its suite executes plans rather than judging them."""

    @property
    def seconds(self) -> float:
        """Duration, above 0."""
        return max(0.001, (self.end - self.begin).total_seconds())


class Pace(NamedTuple):
    """Mean duration of shards."""

    seconds: float
    shards: int
    variation: float = 1.0
    """Standard deviation divided by mean."""


@dataclass(frozen=True, slots=True)
class Throughput:
    """Recent throughput of the workers."""

    shards: int
    seconds: float
    """Mean per shard."""
    at_once: float
    """Mean number of shards in parallel, while any ran."""
    by_suite: Mapping[str, Pace] = field(default_factory=dict)
    by_execution: Mapping[bool, Pace] = field(default_factory=dict)
    """By whether the suite executes plans: the fallback for suites without measurements."""
    by_planner: Mapping[tuple[str, int], Pace] = field(default_factory=dict)
    """By suite and planner."""

    def seconds_of(self, *, suite: str, is_executed: bool, planner: int | None = None) -> float:
        """Expected duration of a shard. The more shards of the planner itself, the higher their weight."""
        prior = self.by_suite.get(suite) or self.by_execution.get(is_executed)
        expected = self.seconds if prior is None else prior.seconds
        own = None if planner is None else self.by_planner.get((suite, planner))
        if own is None:
            return expected
        weight = _PRIOR_SHARDS * own.variation**2
        return (weight * expected + own.shards * own.seconds) / (weight + own.shards)


def throughput(attempts: Iterable[Done]) -> Throughput | None:
    """The throughput of completed attempts; None if they are too few. Pure."""
    done = sorted(attempts, key=lambda attempt: (attempt.begin, attempt.end))
    if len(done) < FEWEST:
        return None
    by_suite, by_execution = defaultdict[str, list[float]](list), defaultdict[bool, list[float]](list)
    by_planner = defaultdict[tuple[str, int], list[float]](list)
    # Seconds during which at least one attempt ran.
    busy, until = 0.0, done[0].begin
    for attempt in done:
        by_suite[attempt.suite].append(attempt.seconds)
        by_execution[attempt.is_executed].append(attempt.seconds)
        if attempt.planner is not None:
            by_planner[attempt.suite, attempt.planner].append(attempt.seconds)
        busy += max(0.0, (attempt.end - max(attempt.begin, until)).total_seconds())
        until = max(until, attempt.end)
    seconds = [attempt.seconds for attempt in done]
    return Throughput(
        shards=len(done),
        seconds=_pace(seconds).seconds,
        at_once=max(1.0, sum(seconds) / busy if busy else 1.0),
        by_suite={suite: _pace(seconds) for suite, seconds in by_suite.items()},
        by_execution={kind: _pace(seconds) for kind, seconds in by_execution.items()},
        by_planner={key: _pace(seconds) for key, seconds in by_planner.items()},
    )


def recent_throughput() -> Throughput | None:
    """Recent throughput of the site's workers, in one query."""
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


def _pace(seconds: Sequence[float]) -> Pace:
    most = _CAP * statistics.median(seconds)
    capped = [min(duration, most) for duration in seconds]
    mean = statistics.fmean(capped)
    # A single shard has no variation.
    variation = statistics.stdev(capped) / mean if len(capped) > 1 else 1.0
    return Pace(seconds=mean, shards=len(capped), variation=variation)


_NARROWEST = 1.25
"""Smallest factor between the ends of a range and its middle."""
_WIDENING = 1.5
"""Divided by the square root of the number of measured shards and added to that factor: 2 for four shards."""


class Range(NamedTuple):
    """Minutes, `low` to `high`."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Line:
    """Waiting work, in seconds of one worker."""

    before: float
    """Of the same user, ahead of the evaluation."""
    own: float
    """Of the evaluation itself."""
    weight: float = 1.0
    """The user's weight in the fair share."""
    others: Sequence[tuple[float, float]] = ()
    """Work and weight of each other user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """Estimated start and end of an evaluation, from now; None: unknown."""

    begins: Range | None = None
    ends: Range | None = None
    shards: int = 0
    """Number of measured shards."""

    def in_words(self) -> str:
        """Sentence for pages, without a full stop."""
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
    """The estimate for the evaluation of this line. Pure."""
    if measured is None:
        return Expectation()
    begins = _range(_work_until(line.before, line=line), measured=measured)
    ends = _range(_work_until(line.before + line.own, line=line), measured=measured)
    return Expectation(begins=begins, ends=ends, shards=measured.shards)


def _work_until(own: float, *, line: Line) -> float:
    """The work of all users until `own` seconds of the user's work are done, by fair share. Users with weight 0
    wait for all others."""
    if line.weight == 0:
        return own + sum(min(waiting, own) if weight == 0 else waiting for waiting, weight in line.others)
    return own + sum(min(waiting, own * weight / line.weight) for waiting, weight in line.others)


def _range(work: float, *, measured: Throughput) -> Range:
    minutes = work / measured.at_once / 60
    factor = _NARROWEST + _WIDENING / math.sqrt(measured.shards)
    return Range(low=minutes / factor, high=minutes * factor)


def expected_of_new(*, user: User, suite: Suite, priority: str = "normal") -> Expectation:
    """The estimate for a new submission of this suite."""
    measured = recent_throughput()
    if measured is None:
        return Expectation()
    shards = math.ceil(Task.objects.filter(suite=suite).count() / tasks_per_shard(suite))
    rank = SubmitterPriority.__members__.get(priority.upper(), 0)
    ahead = Q(evaluation__submission__priority__gte=rank) | Q(evaluation__priority__gt=0)
    own = shards * measured.seconds_of(suite=suite.slug, is_executed=suite.runs_experts)
    return expectation(measured=measured, line=_line(measured=measured, user=user, ahead=ahead, own=own))


def expected(evaluation: Evaluation) -> Expectation | None:
    """The estimate for a waiting or running evaluation; None if it has ended, waits for its owner, or runs on a
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
    estimate = expectation(measured=measured, line=line)
    return replace(estimate, begins=Range(0, 0)) if evaluation.state == EvaluationState.RUNNING else estimate


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
