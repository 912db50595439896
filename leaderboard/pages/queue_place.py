"""Where a waiting evaluation stands in the queue, and what it waits for.

The order is that in which a worker would be served at this moment, and comes from the same function
(`queue/leasing/turns.py`). It changes with every lease, since whoever was served steps back behind those who were not:
a place is a fact about now, and no promise.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from django.conf import settings
from django.db.models import Count, Min, Q
from django.db.models.functions import Now

from leaderboard.evaluations import transitions
from leaderboard.evaluations.models import Attempt, AttemptState, Evaluation, EvaluationState, Shard, ShardState
from leaderboard.queue.leasing.turns import Wanted, next_evaluations

_WAITING = (EvaluationState.QUEUED, *transitions.LEASABLE)


class WaitsFor(StrEnum):
    """What keeps the next shard of an evaluation from being worked on."""

    LAUNCH = "launch"
    """It was not handed to the launcher yet."""
    CANARY = "canary"
    RETRY = "retry"
    """All its shards were given back, and rest for a while."""
    OWN_WORKER = "own_worker"
    WORKER = "worker"
    """Nobody is before it, and no worker is at work."""
    SHARE = "share"
    """Other users' evaluations are due before it."""
    TURN = "turn"
    """Only further ones of who submitted it are."""
    FREE_WORKER = "free_worker"
    """It is the next one."""


class Shards(NamedTuple):
    """The shards of the evaluation itself."""

    pending: int
    leased: int
    due: int
    """Of the pending ones, those that a worker may take now: neither resting nor held back by the canary."""
    resting: int
    """Of those that the canary does not hold back, the ones that rest."""
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

    number: int
    """1 for the one that is served next."""
    before: Before
    shards: Shards
    waits_for: WaitsFor
    why: str
    """The same as a sentence."""
    is_running: bool = False
    """Whether some of its tasks have run or run: the place is that of the rest."""

    @property
    def sentence(self) -> str:
        """Place and reason in words."""
        if self.waits_for in _WITHOUT_PLACE:
            return self.why
        return f"{_place(self.before, is_running=self.is_running)} {self.why}".strip()


def place_of(evaluation: Evaluation) -> Place | None:
    """The place of an evaluation that waits; None if none of its shards waits or some are worked on. Five queries."""
    if evaluation.state not in _WAITING:
        return None
    shards = _shards(evaluation)
    if not shards.pending or (shards.leased and not _held_back(evaluation)):
        return None
    before = _before(evaluation)
    is_own = hasattr(evaluation, "own_worker_run")
    waits_for = what_it_waits_for(
        state=evaluation.state,
        is_own=is_own,
        held_back=_held_back(evaluation),
        shards=shards,
        before=before,
        workers=_busy_workers(evaluation),
    )
    counted = {"pending": _wait(shards.pending, "more shard"), "waiting": _wait(before.evaluations, "evaluation")}
    at = f"{shards.next_at:%H:%M} UTC" if shards.next_at else "once"
    why = _WHY[waits_for].format(at=at, minutes=_minutes(), **counted)
    return Place(
        number=before.evaluations + 1,
        before=before,
        shards=shards,
        waits_for=waits_for,
        why=why,
        is_running=evaluation.state == EvaluationState.RUNNING,
    )


def what_it_waits_for(
    *, state: str, is_own: bool, held_back: bool, shards: Shards, before: Before, workers: int
) -> WaitsFor:
    """The first of the obstacles that are there. Pure.

    Args:
        state: of the evaluation.
        is_own: its owner's own worker runs it.
        held_back: its canary has not come to anything yet.
        shards: its own.
        before: what is due before it.
        workers: how many workers that may take it hold a lease now.
    """
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


_WHY: Mapping[WaitsFor, str] = {
    WaitsFor.LAUNCH: "It is about to be handed to the workers, for whom {waiting} already.",
    WaitsFor.CANARY: "{pending} for what comes of it.",
    WaitsFor.RETRY: "A worker gave its tasks back; they rest and are tried again at {at}.",
    WaitsFor.OWN_WORKER: "It waits for its owner's own worker, and none is at work now.",
    WaitsFor.WORKER: "It waits for a worker, and none is at work now.",
    WaitsFor.SHARE: "Users take turns: whose tasks ran least in the last {minutes}, for their share, goes first; then "
    "priority and age decide.",
    WaitsFor.TURN: "They are of the same user, and of a higher priority or older.",
    WaitsFor.FREE_WORKER: "The next worker that is free takes it.",
}

_WITHOUT_PLACE = frozenset({WaitsFor.LAUNCH, WaitsFor.CANARY, WaitsFor.RETRY})
_LONGEST = 5000
"""Evaluations of which the order is asked for; who stands behind all of these has no better place than that."""


def _place(before: Before, *, is_running: bool) -> str:
    if not before.evaluations:
        # What runs is not in the queue, and its next tasks wait for no other evaluation.
        return "" if is_running else "Next in the queue."
    several = before.evaluations != 1
    what = "Its remaining tasks have place" if is_running else "Place"
    return (
        f"{what} {before.evaluations + 1} in the queue: {before.evaluations} evaluation{'s' if several else ''} with "
        f"{before.shards} waiting shard{'s' if before.shards != 1 else ''} {'are' if several else 'is'} before it."
    )


def _wait(count: int, noun: str) -> str:
    return f"1 {noun} waits" if count == 1 else f"{count or 'no'} {noun}s wait"


def _minutes() -> str:
    minutes = round(settings.FAIR_SHARE_SECONDS / 60)
    return "minute" if minutes <= 1 else f"{minutes} minutes"


def _held_back(evaluation: Evaluation) -> bool:
    return evaluation.leasable_shards is not None


def _shards(evaluation: Evaluation) -> Shards:
    leasable = Q() if evaluation.leasable_shards is None else Q(number__lt=evaluation.leasable_shards)
    pending = Q(state=ShardState.PENDING)
    rests = pending & leasable & Q(available_at__gt=Now())
    return Shards(
        **Shard.objects.filter(evaluation=evaluation).aggregate(
            pending=Count("pk", filter=pending),
            leased=Count("pk", filter=Q(state=ShardState.LEASED)),
            due=Count("pk", filter=pending & leasable & Q(available_at__lte=Now())),
            resting=Count("pk", filter=rests),
            next_at=Min("available_at", filter=rests),
        )
    )


def _before(evaluation: Evaluation) -> Before:
    """What is due before it among what the same workers may take; all of that, if it is not due itself.

    Time slices are left out: they change the order for minutes at most, and would cost every page two queries.
    """
    order = next_evaluations(Wanted(scope=_same_workers(evaluation)), most=_LONGEST)
    sooner = order[: order.index(evaluation.pk)] if evaluation.pk in order else order
    submitter = evaluation.submission.submitted_by_id
    waiting = Shard.objects.filter(evaluation__in=sooner, state=ShardState.PENDING)
    found = waiting.aggregate(
        shards=Count("pk"),
        of_others=Count("evaluation", distinct=True, filter=~Q(evaluation__submission__submitted_by=submitter)),
    )
    return Before(evaluations=len(sooner), **found)


def _same_workers(evaluation: Evaluation, prefix: str = "") -> Q:
    """Own workers serve their owner only, and the site's all others (`queue/workers/tokens.py`)."""
    if not hasattr(evaluation, "own_worker_run"):
        return Q(**{f"{prefix}own_worker_run__isnull": True})
    submitter = evaluation.submission.submitted_by_id
    return Q(**{f"{prefix}own_worker_run__isnull": False, f"{prefix}submission__submitted_by": submitter})


def _busy_workers(evaluation: Evaluation) -> int:
    live = Attempt.objects.filter(state=AttemptState.LIVE, expires_at__gt=Now())
    return live.filter(_same_workers(evaluation, "shard__evaluation__")).values("worker").distinct().count()
