"""The place of an evaluation in the queue, and what it waits for.

The place follows from the order in which leases would be granted now, by the same function. It changes with every
lease, since users take turns.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from django.conf import settings
from django.db.models import Count, Exists, Func, JSONField, Min, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from leaderboard.evaluations.models import Attempt, AttemptState, Evaluation, EvaluationState, Shard, ShardState
from leaderboard.queue.estimates import UNDER_WAY
from leaderboard.queue.leasing.turns import LeaseFilter, next_evaluations

_MOST = 5000
"""Evaluations of the order that are counted."""


class WaitsFor(StrEnum):
    """What blocks the next shard of an evaluation."""

    CANARY = "canary"
    RETRY = "retry"
    OWN_WORKER = "own_worker"
    WORKER = "worker"
    SHARE = "share"
    TURN = "turn"
    FREE_WORKER = "free_worker"


_WHY: Mapping[WaitsFor, str] = {
    WaitsFor.CANARY: "{pending} for its result.",
    WaitsFor.RETRY: "A worker returned its tasks; they are retried at {at}.",
    WaitsFor.OWN_WORKER: "Waiting for the owner's self-hosted worker; none is active.",
    WaitsFor.WORKER: "Waiting for a worker; none is active.",
    WaitsFor.SHARE: "Fair share: the user with the least worker time in the last {minutes}, relative to their weight, "
    "goes first; then priority and age decide.",
    WaitsFor.TURN: "They belong to the same user and have a higher priority or are older.",
    WaitsFor.FREE_WORKER: "The next free worker takes it.",
}
_WITHOUT_PLACE = frozenset({WaitsFor.CANARY, WaitsFor.RETRY})


class Shards(NamedTuple):
    """The unfinished shards of the evaluation."""

    pending: int
    leased: int
    due: int
    """Pending and leasable now."""
    resting: int
    """Pending and waiting for a retry, not held back by the canary."""
    next_at: datetime | None
    """Time of the first retry."""


class Before(NamedTuple):
    """What workers would lease earlier."""

    evaluations: int
    shards: int
    """Waiting shards of these evaluations."""
    of_others: int
    """Number of these evaluations that belong to other users."""


class Place(NamedTuple):
    """An evaluation's place in the queue."""

    before: Before
    waits_for: WaitsFor
    why: str
    is_running: bool = False
    """Whether some tasks have started: the place is that of the remaining ones."""

    @property
    def number(self) -> int:
        """1 for the next evaluation."""
        return self.before.evaluations + 1

    @property
    def sentence(self) -> str:
        """Place and reason in words."""
        if self.waits_for in _WITHOUT_PLACE:
            return self.why
        if not self.before.evaluations:
            # Remaining tasks of a running evaluation that wait for no other evaluation.
            return self.why if self.is_running else f"Next in the queue. {self.why}"
        what = "Its remaining tasks have place" if self.is_running else "Place"
        verb = "is" if self.before.evaluations == 1 else "are"
        ahead = f"{_count(self.before.evaluations, 'evaluation')} with {_count(self.before.shards, 'waiting shard')}"
        return f"{what} {self.number} in the queue: {ahead} {verb} before it. {self.why}"


def with_open_shards(evaluations: QuerySet[Evaluation]) -> QuerySet[Evaluation]:
    """Annotate `open_shards`: whether a shard waits, and whether one is leased."""
    shards = Shard.objects.filter(evaluation=OuterRef("pk"))
    states = [Exists(shards.filter(state=state)) for state in (ShardState.PENDING, ShardState.LEASED)]
    return evaluations.annotate(open_shards=Func(*states, function="jsonb_build_array", output_field=JSONField()))


def place_of(evaluation: Evaluation) -> Place | None:
    """The place of an evaluation; None if none of its shards waits or some are leased. Five queries, or none if there
    is no place and the evaluation was read `with_open_shards`."""
    pending, leased = getattr(evaluation, "open_shards", (True, False))
    if evaluation.state not in UNDER_WAY or not _has_place(evaluation, pending=pending, leased=leased):
        return None
    shards, held_back = _shards(evaluation), evaluation.leasable_shards is not None
    if not _has_place(evaluation, pending=shards.pending, leased=shards.leased):
        return None
    before = _before(evaluation)
    waits_for = what_it_waits_for(
        is_own=hasattr(evaluation, "own_worker_run"),
        held_back=held_back,
        shards=shards,
        before=before,
        workers=_busy_workers(evaluation),
    )
    minutes = round(settings.FAIR_SHARE_SECONDS / 60)
    why = _WHY[waits_for].format(
        pending="1 more shard waits" if shards.pending == 1 else f"{shards.pending} more shards wait",
        at=f"{shards.next_at:%H:%M} UTC" if shards.next_at else "once",
        minutes="minute" if minutes <= 1 else f"{minutes} minutes",
    )
    return Place(before, waits_for, why, is_running=evaluation.state == EvaluationState.RUNNING)


def _has_place(evaluation: Evaluation, *, pending: int, leased: int) -> bool:
    return bool(pending) and (not leased or evaluation.leasable_shards is not None)


def what_it_waits_for(*, is_own: bool, held_back: bool, shards: Shards, before: Before, workers: int) -> WaitsFor:
    """The first obstacle of an evaluation. Pure.

    Args:
        is_own: whether a self-hosted worker runs it.
        held_back: whether its canary has not ended.
        shards: its shards.
        before: what comes before it.
        workers: number of workers with a lease that may take it.
    """
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


def _shards(evaluation: Evaluation) -> Shards:
    leasable = Q() if evaluation.leasable_shards is None else Q(number__lt=evaluation.leasable_shards)
    pending = Q(state=ShardState.PENDING)
    rests = pending & leasable & Q(available_at__gt=Now())
    counts = Shard.objects.filter(evaluation=evaluation).aggregate(
        pending=Count("pk", filter=pending),
        leased=Count("pk", filter=Q(state=ShardState.LEASED)),
        due=Count("pk", filter=pending & leasable & Q(available_at__lte=Now())),
        resting=Count("pk", filter=rests),
        next_at=Min("available_at", filter=rests),
    )
    return Shards(**counts)


def _before(evaluation: Evaluation) -> Before:
    """What the same workers would lease before it; all that is due if it is not due itself. Time slices are ignored:
    they change the order for minutes at most, and would cost every page two queries."""
    order = next_evaluations(LeaseFilter(scope=_same_workers(evaluation)), most=_MOST)
    sooner = order[: order.index(evaluation.pk)] if evaluation.pk in order else order
    others = ~Q(evaluation__submission__submitted_by=evaluation.submission.submitted_by_id)
    of_others = Count("evaluation", distinct=True, filter=others)
    # With an empty list Django would skip the query; the number of queries of a page must be constant.
    waiting = Shard.objects.filter(evaluation__in=[*sooner, evaluation.pk], state=ShardState.PENDING)
    waiting = waiting.exclude(evaluation=evaluation)
    return Before(evaluations=len(sooner), **waiting.aggregate(shards=Count("pk"), of_others=of_others))


def _same_workers(evaluation: Evaluation, prefix: str = "") -> Q:
    """Self-hosted workers serve their owner only, and the site's workers everybody else (`queue/workers/tokens.py`)."""
    if not hasattr(evaluation, "own_worker_run"):
        return Q(**{f"{prefix}own_worker_run__isnull": True})
    condition = {"own_worker_run__isnull": False, "submission__submitted_by": evaluation.submission.submitted_by_id}
    return Q(**{f"{prefix}{name}": value for name, value in condition.items()})


def _busy_workers(evaluation: Evaluation) -> int:
    live = Attempt.objects.filter(state=AttemptState.LIVE, expires_at__gt=Now())
    return live.filter(_same_workers(evaluation, "shard__evaluation__")).values("worker").distinct().count()
