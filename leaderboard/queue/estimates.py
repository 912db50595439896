"""The queue as readers see it: its length, an evaluation's place in it, and how long it will probably wait and run.

The estimate is a range in minutes, from the shards of the last hour: how long one took, by suite where that is known,
and how many ran at once while any did (idle times do not count). Ahead of an evaluation are its owner's own that come
before it, and of each other user what their share brings to work meanwhile. The number of measured shards is a Poisson
count, from which the range follows.

The place is that in the order in which workers would be served now, by the function that leases use. It changes with
every lease, since users take turns: it is no promise.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db.models import Count, F, Min, Q, QuerySet
from django.db.models.functions import Now

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
from leaderboard.queue.leasing.turns import Wanted, next_evaluations
from leaderboard.site.clock import database_now

MEASURED = timedelta(hours=1)
FEWEST = 4
"""Fewer measured shards give no estimate."""
_UNDER_WAY = frozenset({EvaluationState.QUEUED, *transitions.LEASABLE})
_MOST = 5000
"""The newest attempts that are measured, and the first evaluations of the order that are counted."""
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
    """Mean per shard."""
    at_once: float
    """Mean number of shards that ran at once, while any did."""
    seconds_by_suite: Mapping[str, float] = field(default_factory=dict)


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
            return "Unknown: too little ran in the last hour for an estimate"
        begins = "within a minute" if self.begins.high < 1 else f"in {_words(self.begins)}"
        return f"Begins {begins}, ends in {_words(self.ends)}"


def _words(minutes: Range) -> str:
    low, high = math.floor(minutes.low), math.ceil(minutes.high)
    if high < 1 or (low < 1 and high <= 1):
        return "about a minute"
    if high >= 120:
        hours = math.floor(minutes.low / 60), math.ceil(minutes.high / 60)
        return f"{hours[0]} to {hours[1]} hours" if hours[0] >= 1 else f"{max(1, low)} minutes to {hours[1]} hours"
    return f"{max(1, low)} to {high} minutes" if max(1, low) < high else _count(high, "minute")


def throughput(attempts: Iterable[tuple[datetime, datetime, str]]) -> Throughput | None:
    """The throughput of completed attempts (begin, end, suite); None if they are too few. Pure."""
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
    means = {suite: sum(seconds) / len(seconds) for suite, seconds in by_suite.items()}
    return Throughput(len(found), total / len(found), max(1.0, total / busy if busy else 1.0), means)


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
    """The square root of a Poisson count has a standard deviation of about 1/2."""
    minutes = work / measured.at_once / 60
    root, half = math.sqrt(measured.shards), _DEVIATIONS / 2
    return Range(low=minutes * (root / (root + half)) ** 2, high=minutes * (root / (root - half)) ** 2)


def expected_of_new(*, user: User, suite: Suite, priority: str = "normal") -> Expectation:
    """The estimate for a submission of this suite, if it were made now."""
    measured = recent_throughput()
    if measured is None:
        return Expectation()
    shards = math.ceil(Task.objects.filter(suite=suite).count() / tasks_per_shard(suite))
    rank = SubmitterPriority.__members__.get(priority.upper(), 0)
    ahead = Q(evaluation__submission__priority__gte=rank) | Q(evaluation__priority__gt=0)
    own = _work(measured, {suite.slug: shards})
    return expectation(measured=measured, line=_line(measured=measured, user=user, ahead=ahead, own=own))


def expected(evaluation: Evaluation) -> Expectation | None:
    """The estimate for an evaluation that waits or runs; None if it has ended, waits for its owner, or runs on a
    self-hosted worker, whose pace is unknown."""
    if evaluation.state not in _UNDER_WAY or hasattr(evaluation, "own_worker_run"):
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
    own = _work(measured, {evaluation.suite.slug: _open_shards().filter(evaluation=evaluation).count()})
    line = _line(measured=measured, user=submission.submitted_by, ahead=ahead, own=own, without=evaluation.pk)
    found = expectation(measured=measured, line=line)
    return replace(found, begins=Range(0, 0)) if evaluation.state == EvaluationState.RUNNING else found


def recent_throughput() -> Throughput | None:
    """What the site's workers did in the last hour, in one query."""
    done = Attempt.objects.filter(state=AttemptState.COMPLETED, leased_at__gte=database_now() - MEASURED)
    of_site = done.filter(shard__evaluation__own_worker_run__isnull=True)
    newest = of_site.order_by("-leased_at").values_list("leased_at", "ended_at", "shard__evaluation__suite__slug")[
        :_MOST
    ]
    return throughput((begin, end, suite) for begin, end, suite in newest if end is not None)


def _line(*, measured: Throughput, user: User, ahead: Q, own: float, without: UUID | None = None) -> Line:
    """The waiting work of all users, in one query."""
    of, suite = "evaluation__submission__submitted_by", "evaluation__suite__slug"
    weight = F("evaluation__submission__submitted_by__queue_weight")
    rows = _open_shards().filter(~Q(evaluation=without)).order_by().values(of, suite, weight=weight)
    before = 0.0
    others: dict[int, tuple[float, float]] = {}
    for row in rows.annotate(every=Count("pk"), ahead=Count("pk", filter=ahead)):
        is_own = row[of] == user.pk
        work = _work(measured, {row[suite]: row["ahead" if is_own else "every"]})
        if is_own:
            before += work
        else:
            others[row[of]] = (others.get(row[of], (0.0, 0.0))[0] + work, float(row["weight"]))
    return Line(before=before, own=own, weight=float(user.queue_weight), others=tuple(others.values()))


def _work(measured: Throughput, shards: Mapping[str, int]) -> float:
    """Seconds of one worker for so many shards of these suites."""
    return sum(count * measured.seconds_by_suite.get(suite, measured.seconds) for suite, count in shards.items())


def _open_shards() -> QuerySet[Shard]:
    """Shards that the site's workers have not done yet."""
    of_site = Shard.objects.filter(evaluation__state__in=_UNDER_WAY, evaluation__own_worker_run__isnull=True)
    return of_site.exclude(state=ShardState.DONE)


class Queue(NamedTuple):
    """The work of the site's workers, without that of self-hosted ones: shards that are not done, and how many of them
    a worker has now."""

    evaluations: int
    shards: int
    leased: int


def queue_now() -> Queue:
    """The queue as it is now, in one query."""
    evaluations, leased = Count("evaluation", distinct=True), Count("pk", filter=Q(state=ShardState.LEASED))
    return Queue(**_open_shards().aggregate(evaluations=evaluations, shards=Count("pk"), leased=leased))


class WaitsFor(StrEnum):
    """What keeps the next shard of an evaluation from being worked on; `_WHY` has a sentence for each."""

    LAUNCH = "launch"
    CANARY = "canary"
    RETRY = "retry"
    OWN_WORKER = "own_worker"
    WORKER = "worker"
    SHARE = "share"
    TURN = "turn"
    FREE_WORKER = "free_worker"


_WHY: Mapping[WaitsFor, str] = {
    WaitsFor.LAUNCH: "Its tasks are about to be queued; {waiting} for workers already.",
    WaitsFor.CANARY: "{pending} for its result.",
    WaitsFor.RETRY: "A worker returned its tasks; they are retried at {at}.",
    WaitsFor.OWN_WORKER: "Waiting for the owner's self-hosted worker; none is active.",
    WaitsFor.WORKER: "Waiting for a worker; none is active.",
    WaitsFor.SHARE: "Fair share: the user with the least worker time in the last {minutes}, relative to their weight, "
    "goes first; then priority and age decide.",
    WaitsFor.TURN: "They belong to the same user and have a higher priority or are older.",
    WaitsFor.FREE_WORKER: "The next free worker takes it.",
}
_WITHOUT_PLACE = frozenset({WaitsFor.LAUNCH, WaitsFor.CANARY, WaitsFor.RETRY})


class Shards(NamedTuple):
    """The shards of the evaluation itself."""

    pending: int
    leased: int
    due: int
    """Pending, and free for a worker now: neither resting nor held back by the canary."""
    resting: int
    """Pending and resting, not held back by the canary."""
    next_at: datetime | None
    """When the first of these has rested."""


class Before(NamedTuple):
    """What workers would take first."""

    evaluations: int
    shards: int
    """Of these evaluations, that wait."""
    of_others: int
    """Of the evaluations, those of other users."""


class Place(NamedTuple):
    """An evaluation's place in the queue."""

    before: Before
    waits_for: WaitsFor
    why: str
    is_running: bool = False
    """Whether some of its tasks have run or run: the place is that of the rest."""

    @property
    def number(self) -> int:
        """1 for the one that is served next."""
        return self.before.evaluations + 1

    @property
    def sentence(self) -> str:
        """Place and reason in words."""
        if self.waits_for in _WITHOUT_PLACE:
            return self.why
        if not self.before.evaluations:
            # What runs is not in the queue, and its next tasks wait for no other evaluation.
            return self.why if self.is_running else f"Next in the queue. {self.why}"
        what = "Its remaining tasks have place" if self.is_running else "Place"
        verb = "is" if self.before.evaluations == 1 else "are"
        ahead = f"{_count(self.before.evaluations, 'evaluation')} with {_count(self.before.shards, 'waiting shard')}"
        return f"{what} {self.number} in the queue: {ahead} {verb} before it. {self.why}"


def place_of(evaluation: Evaluation) -> Place | None:
    """The place of an evaluation that waits; None if none of its shards waits or some are worked on. Five queries."""
    if evaluation.state not in _UNDER_WAY:
        return None
    shards, held_back = _shards(evaluation), evaluation.leasable_shards is not None
    if not shards.pending or (shards.leased and not held_back):
        return None
    before = _before(evaluation)
    waits_for = what_it_waits_for(
        state=evaluation.state,
        is_own=hasattr(evaluation, "own_worker_run"),
        held_back=held_back,
        shards=shards,
        before=before,
        workers=_busy_workers(evaluation),
    )
    why = _why(waits_for, shards=shards, before=before)
    return Place(before, waits_for, why, is_running=evaluation.state == EvaluationState.RUNNING)


def _why(waits_for: WaitsFor, *, shards: Shards, before: Before) -> str:
    minutes = round(settings.FAIR_SHARE_SECONDS / 60)
    return _WHY[waits_for].format(
        pending=_wait(shards.pending, "more shard"),
        waiting=_wait(before.evaluations, "evaluation"),
        at=f"{shards.next_at:%H:%M} UTC" if shards.next_at else "once",
        minutes="minute" if minutes <= 1 else f"{minutes} minutes",
    )


def what_it_waits_for(
    *, state: str, is_own: bool, held_back: bool, shards: Shards, before: Before, workers: int
) -> WaitsFor:
    """The first obstacle of an evaluation that a self-hosted worker runs (`is_own`) or whose canary has not ended
    (`held_back`), where so many `workers` that may take it hold a lease now. Pure."""
    if state == EvaluationState.QUEUED:
        return WaitsFor.LAUNCH
    if held_back and shards.leased:
        return WaitsFor.CANARY
    if not shards.due and shards.resting:
        return WaitsFor.RETRY
    if is_own and not workers:
        return WaitsFor.OWN_WORKER
    if before.of_others:
        return WaitsFor.SHARE
    if before.evaluations:
        return WaitsFor.TURN
    return WaitsFor.FREE_WORKER if workers else WaitsFor.WORKER


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _wait(count: int, noun: str) -> str:
    return f"{_count(count, noun)} waits" if count == 1 else f"{count or 'no'} {noun}s wait"


def _shards(evaluation: Evaluation) -> Shards:
    leasable = Q() if evaluation.leasable_shards is None else Q(number__lt=evaluation.leasable_shards)
    pending = Q(state=ShardState.PENDING)
    rests = pending & leasable & Q(available_at__gt=Now())
    found = Shard.objects.filter(evaluation=evaluation).aggregate(
        pending=Count("pk", filter=pending),
        leased=Count("pk", filter=Q(state=ShardState.LEASED)),
        due=Count("pk", filter=pending & leasable & Q(available_at__lte=Now())),
        resting=Count("pk", filter=rests),
        next_at=Min("available_at", filter=rests),
    )
    return Shards(**found)


def _before(evaluation: Evaluation) -> Before:
    """What is due before it among what the same workers may take; all of that, if it is not due itself. Time slices
    are left out: they change the order for minutes at most, and would cost every page two queries."""
    order = next_evaluations(Wanted(scope=_same_workers(evaluation)), most=_MOST)
    sooner = order[: order.index(evaluation.pk)] if evaluation.pk in order else order
    others = ~Q(evaluation__submission__submitted_by=evaluation.submission.submitted_by_id)
    of_others = Count("evaluation", distinct=True, filter=others)
    waiting = Shard.objects.filter(evaluation__in=sooner, state=ShardState.PENDING)
    return Before(evaluations=len(sooner), **waiting.aggregate(shards=Count("pk"), of_others=of_others))


def _same_workers(evaluation: Evaluation, prefix: str = "") -> Q:
    """Self-hosted workers serve their owner only, and the site's all others (`queue/workers/tokens.py`)."""
    if not hasattr(evaluation, "own_worker_run"):
        return Q(**{f"{prefix}own_worker_run__isnull": True})
    found = {"own_worker_run__isnull": False, "submission__submitted_by": evaluation.submission.submitted_by_id}
    return Q(**{f"{prefix}{name}": value for name, value in found.items()})


def _busy_workers(evaluation: Evaluation) -> int:
    live = Attempt.objects.filter(state=AttemptState.LIVE, expires_at__gt=Now())
    return live.filter(_same_workers(evaluation, "shard__evaluation__")).values("worker").distinct().count()
