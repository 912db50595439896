"""Level-triggered: look at where an evaluation stands and do at most one step towards its end.

`decide` is pure; `reconcile` looks, decides and acts. Every act is a transaction of its own that bears to be done
twice or by two processes at once, so that a process may be killed at any instruction.
"""

import logging
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from uuid import UUID

from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Count, Q
from django.utils import timezone

from gpu_jobs.launchers import Launcher
from leaderboard.evaluations import steps, transitions
from leaderboard.evaluations.launching import launcher
from leaderboard.evaluations.models import (
    Attempt,
    AttemptState,
    Evaluation,
    EvaluationState,
    Shard,
    ShardState,
)
from leaderboard.workers import verification

logger = logging.getLogger(__name__)


class Do(Enum):
    """What the next step is."""

    NOTHING = auto()
    LAUNCH = auto()
    """queued -> launching."""
    ENSURE_WORKER = auto()
    """See that a worker runs for the waiting shards."""
    LOSE_ATTEMPTS = auto()
    """Take shards from workers that are gone."""
    GIVE_UP_SHARDS = auto()
    """End shards that were tried too often: their tasks become `infra_fault`."""
    SETTLE_CANARY = auto()
    """The canary has ended: open the other shards, or fail."""
    AGGREGATE = auto()
    """launching or running -> aggregating."""
    SUMMARISE = auto()
    """aggregating -> completed or on_hold."""
    FAIL = auto()
    """The state lasted too long."""
    ABANDON = auto()
    """on_hold -> cancelled, since its owner did nothing."""
    SETTLE_VERIFICATION = auto()
    """A verification has ended: draw the consequences for the evaluation that it verifies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step, with what it is about."""

    do: Do
    attempts: tuple[tuple[UUID, str], ...] = ()
    """For LOSE_ATTEMPTS: which, and why."""
    shards: tuple[int, ...] = ()
    """For GIVE_UP_SHARDS: ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptView:
    """A live attempt."""

    id: UUID
    expires_at: datetime
    worker_dead: str = ""
    """Why its worker is known to be gone, if it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Where an evaluation stands: all that a decision depends on."""

    now: datetime
    state: EvaluationState
    deadline: datetime | None
    open_shards: int = 0
    """Shards that are not done."""
    pending_shards: int = 0
    """Shards that wait for a worker."""
    exhausted_shards: tuple[int, ...] = ()
    """Ids of the waiting shards that were tried too often."""
    canary_ended: bool = False
    """Whether the shards that may be leased are done while the others wait for what they came to."""
    live_attempts: tuple[AttemptView, ...] = ()
    worker_runs: bool = False
    """Whether the launcher knows of a living worker for this evaluation."""
    unsettled: bool = False
    """Whether this is a verification whose consequences were not drawn yet."""


def decide(view: View) -> Step:
    """The next step of an evaluation. Pure."""
    if view.state in transitions.FINAL:
        return Step(do=Do.SETTLE_VERIFICATION if view.unsettled else Do.NOTHING)
    if view.state == EvaluationState.ON_HOLD:
        return Step(do=Do.ABANDON if _overdue(view) else Do.NOTHING)
    if view.state == EvaluationState.AGGREGATING:
        return Step(do=Do.FAIL if _overdue(view) else Do.SUMMARISE)
    if view.state == EvaluationState.QUEUED:
        return Step(do=Do.FAIL if _overdue(view) else Do.LAUNCH)
    return _decide_active(view)


def _decide_active(view: View) -> Step:
    """The next step of an evaluation that is launching or running."""
    if lost := tuple((attempt.id, why) for attempt in view.live_attempts if (why := _lost(attempt, now=view.now))):
        return Step(do=Do.LOSE_ATTEMPTS, attempts=lost)
    if view.exhausted_shards:
        return Step(do=Do.GIVE_UP_SHARDS, shards=view.exhausted_shards)
    if view.canary_ended:
        return Step(do=Do.SETTLE_CANARY)
    if not view.open_shards:
        return Step(do=Do.AGGREGATE)
    if _overdue(view):
        return Step(do=Do.FAIL)
    if view.pending_shards and not view.worker_runs:
        return Step(do=Do.ENSURE_WORKER)
    return Step(do=Do.NOTHING)


def _overdue(view: View) -> bool:
    return view.deadline is not None and view.deadline <= view.now


def _lost(attempt: AttemptView, *, now: datetime) -> str:
    if attempt.worker_dead:
        return attempt.worker_dead
    return "it was not heard of any more" if attempt.expires_at <= now else ""


def look(*, evaluation: Evaluation, launching: Launcher) -> View:
    """Read where an evaluation stands, and ask the launcher about its workers."""
    state = EvaluationState(evaluation.state)
    if state not in transitions.LEASABLE:
        unsettled = evaluation.verifies_id is not None and verification.is_open(evaluation.pk)
        return View(now=timezone.now(), state=state, deadline=evaluation.state_deadline, unsettled=unsettled)
    counts = Shard.objects.filter(evaluation=evaluation).aggregate(
        open=Count("pk", filter=~Q(state=ShardState.DONE)),
        pending=Count("pk", filter=Q(state=ShardState.PENDING)),
        open_canaries=Count("pk", filter=Q(number__lt=evaluation.leasable_shards or 0) & ~Q(state=ShardState.DONE)),
    )
    exhausted = Shard.objects.filter(
        evaluation=evaluation, state=ShardState.PENDING, tries__gte=settings.SHARD_TRIES
    ).values_list("pk", flat=True)
    handle = evaluation.launch_handle
    return View(
        now=timezone.now(),
        state=state,
        deadline=evaluation.state_deadline,
        open_shards=counts["open"],
        pending_shards=counts["pending"],
        exhausted_shards=tuple(exhausted),
        canary_ended=evaluation.leasable_shards is not None and not counts["open_canaries"],
        live_attempts=tuple(_look_at_attempts(evaluation=evaluation, launching=launching)),
        worker_runs=bool(handle) and launching.alive(handle=handle).alive is True,
    )


def _look_at_attempts(*, evaluation: Evaluation, launching: Launcher) -> list[AttemptView]:
    attempts = Attempt.objects.filter(shard__evaluation=evaluation, state=AttemptState.LIVE)
    views = []
    for attempt in attempts.order_by("leased_at"):
        liveness = launching.alive(handle=attempt.worker)
        dead = liveness.reason if liveness.alive is False else ""
        views.append(AttemptView(id=attempt.pk, expires_at=attempt.expires_at, worker_dead=dead))
    return views


def reconcile(evaluation_id: UUID) -> bool:
    """Take an evaluation at most one step further, and say whether there may be another step to do at once.

    Before: nothing; the evaluation may be in any state, and another process may be doing the same.
    After: one step was done by this process, or by another, or none was due.
    """
    evaluation = Evaluation.objects.select_related("suite").filter(pk=evaluation_id).first()
    if evaluation is None:
        return False
    launching = launcher()
    step = decide(look(evaluation=evaluation, launching=launching))
    return _act(step=step, evaluation=evaluation, launching=launching)


def _act(*, step: Step, evaluation: Evaluation, launching: Launcher) -> bool:
    match step.do:
        case Do.NOTHING:
            return False
        case Do.LAUNCH:
            return steps.launch(evaluation)
        case Do.ENSURE_WORKER:
            return steps.ensure_worker(evaluation=evaluation, launching=launching)
        case Do.LOSE_ATTEMPTS:
            return steps.lose_attempts(step.attempts)
        case Do.GIVE_UP_SHARDS:
            return steps.give_up_shards(evaluation=evaluation, shard_ids=step.shards)
        case Do.SETTLE_CANARY:
            return steps.settle_canary(evaluation)
        case Do.AGGREGATE:
            return steps.aggregate(evaluation)
        case Do.SUMMARISE:
            return steps.summarise(evaluation)
        case Do.FAIL:
            return steps.fail_overdue(evaluation)
        case Do.ABANDON:
            return steps.abandon(evaluation)
        case Do.SETTLE_VERIFICATION:
            return steps.settle_verification(evaluation)


SWEEP_LOCK = 7_215_091
"""Number of the lock that a sweep holds in the database."""
SWEEP_BUDGET = timedelta(seconds=60)
"""How long a sweep begins another evaluation: well below the limit of a Celery task."""


def sweep(*, budget: timedelta = SWEEP_BUDGET) -> int:
    """Reconcile every evaluation that has not ended, or whose verdict is not drawn, and return how many there were.

    Only one sweep works at a time; another one leaves with 0. Where there are more evaluations than the budget
    suffices for, the next sweep begins somewhere else, so that all of them have their turn. An error in one of them is
    logged and keeps none of the others from moving on.
    """
    with _sweeping_alone() as alone:
        if not alone:
            return 0
        waiting = _not_ended()
        turn = random.randrange(len(waiting)) if waiting else 0  # noqa: S311 - no secret
        until = time.monotonic() + budget.total_seconds()
        for done, evaluation_id in enumerate([*waiting[turn:], *waiting[:turn]]):
            if time.monotonic() >= until:
                logger.warning("the sweep came to %d of %d evaluations", done, len(waiting))
                break
            _reconcile_some(evaluation_id)
        return len(waiting)


def _reconcile_some(evaluation_id: UUID) -> None:
    try:
        # Bounded, because others wait; whatever is left comes with the next sweep.
        for _ in range(5):
            if not reconcile(evaluation_id):
                break
    except SoftTimeLimitExceeded:
        raise
    except Exception:  # the sweep is the last resort of all evaluations
        logger.exception("reconciling evaluation %s failed", evaluation_id)


@contextmanager
def _sweeping_alone() -> Iterator[bool]:
    """Whether nobody else sweeps; until the end nobody else does. The lock goes with the connection of a process."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [SWEEP_LOCK])
        alone = bool(cursor.fetchone()[0])
    try:
        yield alone
    finally:
        if alone:
            # Where the connection is gone, the lock is, too.
            with suppress(DatabaseError), connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [SWEEP_LOCK])


def _not_ended() -> Sequence[UUID]:
    ended = [state.value for state in transitions.FINAL]
    not_ended = Evaluation.objects.exclude(state__in=ended).order_by("created").values_list("pk", flat=True)
    return [*not_ended, *verification.unsettled()]
