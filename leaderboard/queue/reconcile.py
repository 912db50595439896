"""Level-triggered: look at where an evaluation stands and do at most one step towards its end.

`decide` is pure; `reconcile` looks, decides and acts. Every act is a transaction of its own that bears to be done
twice or by two processes at once, so that a process may be killed at any instruction.
"""

import logging
import random
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Any
from uuid import UUID

from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Count, F, Q, QuerySet
from django.db.models.functions import Now

from gpu_jobs.launchers import Launcher, PoolsWorkers, TendsPools
from leaderboard.evaluations import transitions
from leaderboard.evaluations.models import Attempt, AttemptState, Evaluation, EvaluationState, Shard, ShardState
from leaderboard.evaluations.states import note_progress
from leaderboard.queue import steps, verification
from leaderboard.queue.launching import launcher
from leaderboard.queue.workers.liveness import has_lost, lacks_worker, worker_runs
from leaderboard.site.coordination.services import exclusive

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
    WAIT_LONGER = auto()
    """The state lasted too long because no worker of the site came: it gets its full time again."""
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
    attempts: tuple[steps.LostAttempt, ...] = ()
    """For LOSE_ATTEMPTS."""
    shards: tuple[int, ...] = ()
    """For GIVE_UP_SHARDS: ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptView:
    """A live attempt."""

    id: UUID
    expires_at: datetime
    worker_dead: str = ""
    """Why its worker is known to be gone, if it is."""
    disrupted: bool = False
    """Whether the cluster took that worker away."""
    stalls_at: datetime | None = None
    """Its deadline for progress."""

    def is_gone(self, now: datetime) -> bool:
        """Whether its tasks are to be taken from its worker."""
        late = self.expires_at <= now or (self.stalls_at is not None and self.stalls_at <= now)
        return bool(self.worker_dead) or late


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
    lacks_worker: bool = False
    """Whether its shards wait, and have for minutes, for nothing but a worker of the site."""
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
    gone = [attempt for attempt in view.live_attempts if attempt.is_gone(view.now)]
    if gone:
        lost = tuple(steps.LostAttempt(one.id, one.worker_dead, one.disrupted) for one in gone)
        return Step(do=Do.LOSE_ATTEMPTS, attempts=lost)
    if view.exhausted_shards:
        return Step(do=Do.GIVE_UP_SHARDS, shards=view.exhausted_shards)
    if view.canary_ended:
        return Step(do=Do.SETTLE_CANARY)
    if not view.open_shards:
        return Step(do=Do.AGGREGATE)
    if _overdue(view):
        return Step(do=Do.WAIT_LONGER if view.lacks_worker else Do.FAIL)
    if view.pending_shards and not view.worker_runs:
        return Step(do=Do.ENSURE_WORKER)
    return Step(do=Do.NOTHING)


def _overdue(view: View) -> bool:
    # Rows of an older release have deadlines in states that have none any more.
    may_be = transitions.DEADLINES[view.state] is not None
    return may_be and view.deadline is not None and view.deadline <= view.now


def look(*, evaluations: Sequence[Evaluation], launching: Launcher) -> dict[UUID, View]:
    """Read where evaluations stand, and ask the launcher about their workers. The queries are as many for many.

    Args:
        evaluations: read by `_evaluations`.
        launching: what starts workers here.
    """
    active = [evaluation for evaluation in evaluations if evaluation.state in transitions.LEASABLE]
    shards = _shards_of(active)
    attempts = _attempts_of([pk for pk, counts in shards.items() if counts["leased"]], launching=launching)
    verifications = [evaluation.pk for evaluation in evaluations if evaluation.verifies_id is not None]
    unsettled = verification.open_among(verifications) if verifications else frozenset()
    views = {}
    for evaluation in evaluations:
        view = View(
            now=evaluation.now,  # type: ignore[attr-defined]  # annotated by `_evaluations`
            state=EvaluationState(evaluation.state),
            deadline=evaluation.state_deadline,
            unsettled=evaluation.pk in unsettled,
        )
        if evaluation.state in transitions.LEASABLE:
            counts = shards.get(evaluation.pk, _NO_SHARDS)
            view = replace(
                view,
                open_shards=counts["open"],
                pending_shards=counts["pending"],
                exhausted_shards=tuple(counts["exhausted"]),
                canary_ended=evaluation.leasable_shards is not None and not counts["open_canaries"],
                live_attempts=tuple(attempts[evaluation.pk]),
                lacks_worker=not attempts[evaluation.pk] and lacks_worker(evaluation),
                worker_runs=worker_runs(evaluation, launching=launching),
            )
        views[evaluation.pk] = view
    return views


def _evaluations() -> QuerySet[Evaluation]:
    """Evaluations with the time at which they were read, by the database's clock."""
    return Evaluation.objects.select_related("suite").annotate(now=Now())


_NO_SHARDS: Mapping[str, Any] = {"open": 0, "pending": 0, "leased": 0, "exhausted": [], "open_canaries": 0}


def _shards_of(evaluations: Sequence[Evaluation]) -> dict[UUID, Mapping[str, Any]]:
    """What a view says of shards, by evaluation."""
    pending, is_open = Q(state=ShardState.PENDING), ~Q(state=ShardState.DONE)
    rows = Shard.objects.filter(evaluation__in=[evaluation.pk for evaluation in evaluations]).order_by()
    counted = rows.values("evaluation").annotate(
        open=Count("pk", filter=is_open),
        pending=Count("pk", filter=pending),
        leased=Count("pk", filter=Q(state=ShardState.LEASED)),
        open_canaries=Count("pk", filter=Q(number__lt=F("evaluation__leasable_shards")) & is_open),
        exhausted=ArrayAgg("pk", filter=pending & Q(tries__gte=settings.SHARD_TRIES), default=[]),
    )
    return {row["evaluation"]: row for row in counted}


def _attempts_of(evaluations: Sequence[UUID], *, launching: Launcher) -> dict[UUID, list[AttemptView]]:
    """The live attempts of each evaluation; only those with a leased shard can have any."""
    found: dict[UUID, list[AttemptView]] = defaultdict(list)
    if not evaluations:
        return found
    live = Attempt.objects.filter(shard__evaluation__in=evaluations, state=AttemptState.LIVE).order_by("leased_at")
    for attempt in live.select_related("shard"):
        liveness = launching.alive(handle=attempt.worker)
        dead = liveness.reason if has_lost(liveness, leased_at=attempt.leased_at) else ""
        view = AttemptView(
            id=attempt.pk,
            expires_at=attempt.expires_at,
            worker_dead=dead,
            disrupted=liveness.disrupted,
            stalls_at=attempt.stalls_at,
        )
        found[attempt.shard.evaluation_id].append(view)
    return found


def reconcile(evaluation_id: UUID) -> bool:
    """Take an evaluation at most one step further, and say whether there may be another step to do at once.

    Before: nothing; the evaluation may be in any state, and another process may be doing the same.
    After: one step was done by this process, or by another, or none was due.
    """
    evaluation = _evaluations().filter(pk=evaluation_id).first()
    if evaluation is None:
        return False
    launching = launcher()
    step = decide(look(evaluations=[evaluation], launching=launching)[evaluation.pk])
    return _act(step=step, evaluation=evaluation, launching=launching)


def refill(evaluation_id: UUID, *, launching: Launcher) -> None:
    """Ask the launcher for a worker in the place of one that is gone, if the evaluation wants any; where workers are
    a pool, also if others do.

    A pool that has other workers counts as running, so that `decide` would not ask for it.
    """
    wanting = _evaluations().filter(state__in=transitions.LEASABLE)
    evaluation = wanting.filter(pk=evaluation_id).first()
    if evaluation is None and isinstance(launching, PoolsWorkers):
        # The planner that ended its worker may have failed its own evaluation by that.
        evaluation = wanting.filter(own_worker_run__isnull=True).order_by("created").first()
    if evaluation is not None:
        steps.ensure_worker(evaluation=evaluation, launching=launching)


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
        case Do.WAIT_LONGER:
            note_progress(evaluation.pk)
            return True
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


_LOOKED_AT_TOGETHER = 100
_STEPS_TOGETHER = 5
SWEEP = "sweep"
"""Name of the lease that a sweep holds."""
SWEEP_BUDGET = timedelta(seconds=60)
"""How long a sweep begins another evaluation: well below the limit of a Celery task."""


def sweep(*, budget: timedelta = SWEEP_BUDGET) -> int:
    """Reconcile every evaluation that has not ended, or whose verdict is not drawn, and return how many there were.

    Only one sweep works at a time; another one leaves with 0, and one whose lease was taken over ends early. Where
    there are more evaluations than the budget suffices for, the next sweep begins somewhere else, so that all of them
    have their turn. An error in one of them is logged and keeps none of the others from moving on.
    """
    with exclusive(SWEEP, lasting=timedelta(seconds=settings.SWEEP_LEASE_SECONDS)) as hold:
        if hold is None:
            return 0
        waiting = _not_ended()
        turn = random.randrange(len(waiting)) if waiting else 0  # noqa: S311 - no secret
        until = time.monotonic() + budget.total_seconds()
        turns = [*waiting[turn:], *waiting[:turn]]
        launching = launcher()
        _tend(launching)
        for start in range(0, len(turns), _LOOKED_AT_TOGETHER):
            for evaluation, step in _steps_of(turns[start : start + _LOOKED_AT_TOGETHER], launching=launching):
                if time.monotonic() >= until:
                    logger.warning("the sweep came to about %d of %d evaluations", start, len(waiting))
                    return len(waiting)
                if not hold.renew():
                    return len(waiting)
                _act_for_sweep(step=step, evaluation=evaluation, launching=launching)
        return len(waiting)


def _tend(launching: Launcher) -> None:
    """Do what pools need that somebody else scales."""
    if isinstance(launching, TendsPools):
        live = Attempt.objects.filter(state=AttemptState.LIVE).order_by()
        launching.tend(busy=set(live.values_list("worker", flat=True)))


def _steps_of(evaluation_ids: Sequence[UUID], *, launching: Launcher) -> list[tuple[Evaluation, Step]]:
    """Those of the evaluations for which there is something to do, and what. Most of a long queue only waits."""
    known = _evaluations().in_bulk(evaluation_ids)
    evaluations = [known[pk] for pk in evaluation_ids if pk in known]
    try:
        views = look(evaluations=evaluations, launching=launching)
    except SoftTimeLimitExceeded:
        raise
    except Exception:  # whatever is wrong with one of them, the others have their turn
        if len(evaluations) == 1:
            logger.exception("looking at evaluation %s failed", evaluation_ids[0])
            return []
        return [step for pk in evaluation_ids for step in _steps_of([pk], launching=launching)]
    steps_of = [(evaluation, decide(views[evaluation.pk])) for evaluation in evaluations]
    return [(evaluation, step) for evaluation, step in steps_of if step.do is not Do.NOTHING]


def _act_for_sweep(*, step: Step, evaluation: Evaluation, launching: Launcher) -> None:
    try:
        if _act(step=step, evaluation=evaluation, launching=launching):
            reconcile_some(evaluation.pk)
    except SoftTimeLimitExceeded:
        raise
    except Exception:  # the sweep is the last resort of all evaluations
        logger.exception("reconciling evaluation %s failed", evaluation.pk)


def reconcile_some(evaluation_id: UUID) -> bool:
    """Take an evaluation as far as it goes at once, and say whether there may be more to do.

    Bounded, because others wait.
    """
    return all(reconcile(evaluation_id) for _ in range(_STEPS_TOGETHER))


def _not_ended() -> Sequence[UUID]:
    ended = [state.value for state in transitions.FINAL]
    not_ended = Evaluation.objects.exclude(state__in=ended).order_by("created").values_list("pk", flat=True)
    return [*not_ended, *verification.unsettled()]
