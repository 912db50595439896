"""How long an evaluation will probably wait, and run: a range in minutes, from what workers did in the last hour.

Measured are the shards of the last hour: how long one took (by suite where it is known), and how many were at work
beside each other while any was. Times without work do not count, since an idle worker is no slow one. Ahead of an
evaluation are its owner's own that come before it, and of each other user no more than what their share brings to work
meanwhile: users take turns by their weight. The number of measured shards is a count of chance events, from which the
range follows.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db.models import Count, F, Q, QuerySet

from leaderboard.accounts.models import User
from leaderboard.catalog.conditions import tasks_per_shard
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations import transitions
from leaderboard.evaluations.models import (
    Attempt,
    AttemptState,
    Evaluation,
    EvaluationState,
    Shard,
    ShardState,
    SubmitterPriority,
)
from leaderboard.site.clock import database_now

MEASURED = timedelta(hours=1)
FEWEST = 4
"""Fewer measured shards tell nothing."""
_UNDER_WAY = frozenset({EvaluationState.QUEUED, *transitions.LEASABLE})
_MOST = 5000
"""Attempts that are looked at, the newest."""
_DEVIATIONS = 1.96
"""95 % of a normal distribution."""


class Range(NamedTuple):
    """Minutes, `low` to `high`."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Throughput:
    """What workers did lately."""

    shards: int
    seconds: float
    """Of a shard, on the average."""
    at_once: float
    """Shards at work beside each other, while any was."""
    seconds_by_suite: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Line:
    """What waits, as seconds of one worker."""

    before: float
    """Of the same user, ahead of the evaluation."""
    own: float
    """Of the evaluation itself."""
    weight: float = 1.0
    """Of the user."""
    others: Sequence[tuple[float, float]] = ()
    """Of each other user: work that waits, and weight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """When an evaluation probably begins and ends, from now."""

    begins: Range | None
    """None: not known yet."""
    ends: Range | None
    shards: int = 0
    """That the range was measured from."""

    def in_words(self) -> str:
        """For pages, without a full stop."""
        if self.begins is None or self.ends is None:
            return "Unknown: too little ran in the last hour for an estimate"
        if self.begins.high < 1:
            return f"Begins within a minute, ends in {_words(self.ends)}"
        return f"Begins in {_words(self.begins)}, ends in {_words(self.ends)}"


def throughput(attempts: Iterable[tuple[datetime, datetime, str]]) -> Throughput | None:
    """What these completed attempts (begin, end, suite) say; None if they are too few. Pure."""
    found = sorted(attempts)
    if len(found) < FEWEST:
        return None
    by_suite: dict[str, list[float]] = {}
    busy, until = 0.0, found[0][0]
    for begin, end, suite in found:
        by_suite.setdefault(suite, []).append(max(0.001, (end - begin).total_seconds()))
        busy += max(0.0, (end - max(begin, until)).total_seconds())
        until = max(until, end)
    total = sum(map(sum, by_suite.values()))
    return Throughput(
        shards=len(found),
        seconds=total / len(found),
        at_once=max(1.0, total / busy if busy else 1.0),
        seconds_by_suite={suite: sum(seconds) / len(seconds) for suite, seconds in by_suite.items()},
    )


def expectation(*, measured: Throughput | None, line: Line) -> Expectation:
    """When the evaluation in this line begins and ends. Pure."""
    if measured is None:
        return Expectation(begins=None, ends=None)
    begins = _work_until(line.before, line=line)
    ends = _work_until(line.before + line.own, line=line)
    return Expectation(
        begins=_range(begins, measured=measured), ends=_range(ends, measured=measured), shards=measured.shards
    )


def _work_until(own: float, *, line: Line) -> float:
    """The work of all until so much of the user's own is done, by shares."""
    return own + sum(min(waiting, own * weight / line.weight) for waiting, weight in line.others)


def _range(work: float, *, measured: Throughput) -> Range:
    """Of a Poisson count n, sqrt(n) has about the deviation 1/2."""
    minutes = work / measured.at_once / 60
    root, half = math.sqrt(measured.shards), _DEVIATIONS / 2
    return Range(low=minutes * (root / (root + half)) ** 2, high=minutes * (root / (root - half)) ** 2)


def expected_of_new(*, user: User, suite: Suite, priority: str = "normal") -> Expectation:
    """What a submission of this suite may expect at this moment."""
    measured = recent_throughput()
    if measured is None:
        return Expectation(begins=None, ends=None)
    shards = math.ceil(Task.objects.filter(suite=suite).count() / tasks_per_shard(suite))
    rank = SubmitterPriority[priority.upper()] if priority.upper() in SubmitterPriority.names else 0
    ahead = Q(evaluation__submission__priority__gte=rank) | Q(evaluation__priority__gt=0)
    return expectation(
        measured=measured,
        line=_line(measured=measured, user=user, ahead=ahead, own=_work(measured, {suite.slug: shards})),
    )


def expected(evaluation: Evaluation) -> Expectation | None:
    """What an evaluation that waits or runs may expect; None if it has ended, waits for its owner, or runs on an own
    worker, whose pace nobody knows here."""
    if evaluation.state not in _UNDER_WAY or hasattr(evaluation, "own_worker_run"):
        return None
    measured = recent_throughput()
    if measured is None:
        return Expectation(begins=None, ends=None)
    submission = evaluation.submission
    first = Q(evaluation__priority__gt=evaluation.priority)
    same = Q(evaluation__priority=evaluation.priority)
    earlier = Q(evaluation__submission__priority__gt=submission.priority) | Q(
        evaluation__submission__priority=submission.priority, evaluation__created__lt=evaluation.created
    )
    own = _open_shards(Q(evaluation=evaluation)).count()
    line = _line(
        measured=measured,
        user=submission.submitted_by,
        ahead=first | (same & earlier),
        own=_work(measured, {evaluation.suite.slug: own}),
        without=evaluation.pk,
    )
    found = expectation(measured=measured, line=line)
    if evaluation.state == EvaluationState.RUNNING:
        return Expectation(begins=Range(0, 0), ends=found.ends, shards=found.shards)
    return found


def recent_throughput() -> Throughput | None:
    """What the site's workers did in the last hour, in one query."""
    done = Attempt.objects.filter(
        state=AttemptState.COMPLETED,
        leased_at__gte=database_now() - MEASURED,
        shard__evaluation__own_worker_run__isnull=True,
    )
    newest = done.order_by("-leased_at").values_list("leased_at", "ended_at", "shard__evaluation__suite__slug")[:_MOST]
    return throughput((begin, end, suite) for begin, end, suite in newest if end is not None)


def _line(*, measured: Throughput, user: User, ahead: Q, own: float, without: UUID | None = None) -> Line:
    """What waits at this moment, in one query for all users."""
    of, suite = "evaluation__submission__submitted_by", "evaluation__suite__slug"
    weight = F("evaluation__submission__submitted_by__queue_weight")
    rows = _open_shards(~Q(evaluation=without)).order_by().values(of, suite, weight=weight)
    counted = rows.annotate(every=Count("pk"), ahead=Count("pk", filter=ahead))
    before = 0.0
    others: dict[int, tuple[float, float]] = {}
    for row in counted:
        if row[of] == user.pk:
            before += _work(measured, {row[suite]: row["ahead"]})
        else:
            waiting, _ = others.get(row[of], (0.0, 0.0))
            others[row[of]] = (waiting + _work(measured, {row[suite]: row["every"]}), float(row["weight"]))
    return Line(before=before, own=own, weight=float(user.queue_weight), others=tuple(others.values()))


def _open_shards(condition: Q) -> QuerySet[Shard]:
    """Shards that the site's workers have to do yet."""
    of_site = Q(evaluation__state__in=_UNDER_WAY, evaluation__own_worker_run__isnull=True)
    return Shard.objects.filter(of_site, condition).exclude(state=ShardState.DONE)


def _work(measured: Throughput, shards: Mapping[str, int]) -> float:
    """Seconds of one worker for so many shards of these suites."""
    return sum(count * measured.seconds_by_suite.get(suite, measured.seconds) for suite, count in shards.items())


def _words(minutes: Range) -> str:
    low, high = math.floor(minutes.low), math.ceil(minutes.high)
    if high < 1 or (low < 1 and high <= 1):
        return "about a minute"
    if high >= 120:
        hours = math.floor(minutes.low / 60), math.ceil(minutes.high / 60)
        return f"{hours[0]} to {hours[1]} hours" if hours[0] >= 1 else f"{max(1, low)} minutes to {hours[1]} hours"
    return f"{max(1, low)} to {high} minutes" if max(1, low) < high else f"{high} minute{'' if high == 1 else 's'}"
