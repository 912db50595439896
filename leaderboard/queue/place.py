"""The place of an evaluation in the queue, and what it waits for.

The place is that in the order in which workers would be served now, by the function that leases use. It changes with
every lease, since users take turns: it is no promise.
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
"""The first evaluations of the order are counted."""


class WaitsFor(StrEnum):
    """What keeps the next shard of an evaluation from being worked on; `_WHY` has a sentence for each."""

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


def with_open_shards(evaluations: QuerySet[Evaluation]) -> QuerySet[Evaluation]:
    """The same with `open_shards`, in the query that reads them: whether a shard waits, and whether one is leased."""
    shards = Shard.objects.filter(evaluation=OuterRef("pk"))
    states = [Exists(shards.filter(state=state)) for state in (ShardState.PENDING, ShardState.LEASED)]
    return evaluations.annotate(open_shards=Func(*states, function="jsonb_build_array", output_field=JSONField()))


def place_of(evaluation: Evaluation) -> Place | None:
    """The place of an evaluation that waits; None if none of its shards waits or some are worked on. Five queries, or
    none where there is no place and the evaluation was read `with_open_shards`."""
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
    why = _why(waits_for, shards=shards)
    return Place(before, waits_for, why, is_running=evaluation.state == EvaluationState.RUNNING)


def _has_place(evaluation: Evaluation, *, pending: int, leased: int) -> bool:
    """Whether shards wait, and for more than those that are worked on."""
    return bool(pending) and (not leased or evaluation.leasable_shards is not None)


def _why(waits_for: WaitsFor, *, shards: Shards) -> str:
    minutes = round(settings.FAIR_SHARE_SECONDS / 60)
    return _WHY[waits_for].format(
        pending=_wait(shards.pending, "more shard"),
        at=f"{shards.next_at:%H:%M} UTC" if shards.next_at else "once",
        minutes="minute" if minutes <= 1 else f"{minutes} minutes",
    )


def what_it_waits_for(*, is_own: bool, held_back: bool, shards: Shards, before: Before, workers: int) -> WaitsFor:
    """The first obstacle of an evaluation that a self-hosted worker runs (`is_own`) or whose canary has not ended
    (`held_back`), where so many `workers` that may take it hold a lease now. Pure."""
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
    return f"{_count(count, noun)} waits" if count == 1 else f"{count} {noun}s wait"


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
    order = next_evaluations(LeaseFilter(scope=_same_workers(evaluation)), most=_MOST)
    sooner = order[: order.index(evaluation.pk)] if evaluation.pk in order else order
    others = ~Q(evaluation__submission__submitted_by=evaluation.submission.submitted_by_id)
    of_others = Count("evaluation", distinct=True, filter=others)
    # Django asks nothing for an empty list, and a page is to take as many queries whatever is before it.
    waiting = Shard.objects.filter(evaluation__in=[*sooner, evaluation.pk], state=ShardState.PENDING)
    waiting = waiting.exclude(evaluation=evaluation)
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
