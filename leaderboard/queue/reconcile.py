"""Level-triggered reconciliation: read the state of an evaluation and take one step towards its end.

`decisions.decide` is pure; `reconcile` looks, decides and acts. Every step is an idempotent
transaction of its own that two processes may take at once, so that a process may be killed at any instruction.
"""

import logging
import random
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.db import connection
from django.db.models import QuerySet
from django.db.models.functions import Now

from gpu_jobs.launchers.base import Launcher, Liveness, PoolsWorkers, TendsPools
from leaderboard.evaluations import states
from leaderboard.evaluations.models import (
    Attempt,
    AttemptState,
    Evaluation,
    EvaluationReason,
    EvaluationState,
    Shard,
    ShardState,
)
from leaderboard.evaluations.states import note_progress
from leaderboard.platform.coordination.locks import exclusive
from leaderboard.queue import steps, verification
from leaderboard.queue.agents.turns import waiting_for_agent_among
from leaderboard.queue.decisions import AttemptView, Do, Step, View, decide
from leaderboard.queue.launching import launcher
from leaderboard.queue.workers.own import own_among

_CLOCKS_DIFFER = timedelta(seconds=20)
"""Between a machine of the cluster and PostgreSQL, at most."""
_LATELY = timedelta(minutes=10)
"""An evaluation of which a worker held a shard so recently is worked on: a slow planner has time slices."""


def lacks_worker(evaluation: Evaluation) -> bool:
    """Whether an evaluation without a live attempt has done nothing for minutes but wait for a worker of the site. Only
    asked where its time is over."""
    now = evaluation.now  # type: ignore[attr-defined]  # annotated by `_evaluations`
    if evaluation.state_deadline is None or evaluation.state_deadline > now:
        return False
    lately = Attempt.objects.filter(shard__evaluation=evaluation, ended_at__gte=now - _LATELY)
    return not awaited_of([evaluation.pk]) and not lately.exists()


def awaited_of(evaluation_ids: Sequence[UUID]) -> Mapping[UUID, EvaluationReason]:
    """Those of these evaluations for which no worker of the site is to be started, and what they wait for instead. Two
    queries, however many they are."""
    if not evaluation_ids:
        return {}
    agents = dict.fromkeys(waiting_for_agent_among(evaluation_ids), EvaluationReason.WAITING_FOR_AGENT)
    return agents | dict.fromkeys(own_among(evaluation_ids), EvaluationReason.WAITING_FOR_OWN_WORKER)


def worker_runs(evaluation: Evaluation, *, launching: Launcher) -> bool:
    """Whether the launcher knows of a living worker. After a failed launch it is asked again, which corrects what the
    owner reads: workers are shared, and one may have started for another evaluation."""
    if not evaluation.launch_handle or evaluation.reason == EvaluationReason.LAUNCH_FAILED:
        return False
    return launching.alive(handle=evaluation.launch_handle).alive is True


def has_lost(liveness: Liveness, *, leased_at: datetime) -> bool:
    """Whether a worker has lost what it leased at this time: it is gone, or was started again since. Pure."""
    if liveness.alive is False:
        return True
    return liveness.started_at is not None and leased_at + _CLOCKS_DIFFER < liveness.started_at


logger = logging.getLogger(__name__)


def look(*, evaluations: Sequence[Evaluation], launching: Launcher) -> dict[UUID, View]:
    """Read where evaluations stand, and ask the launcher about their workers. The queries are as many for many.

    Args:
        evaluations: read by `_evaluations`.
        launching: what starts workers here.
    """
    active = [evaluation for evaluation in evaluations if evaluation.state in states.LAUNCHED]
    shards = _shards_of(active)
    with_worker = {evaluation.pk for evaluation in active if worker_runs(evaluation, launching=launching)}
    awaited = awaited_of([pk for pk, counts in shards.items() if counts["pending"] and pk not in with_worker])
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
        if evaluation.state in states.LAUNCHED:
            counts = shards.get(evaluation.pk, _NO_SHARDS)
            view = replace(
                view,
                open_shards=counts["open"],
                pending_shards=counts["pending"],
                exhausted_shards=tuple(counts["exhausted"]),
                canary_ended=evaluation.leasable_shards is not None and not counts["open_canaries"],
                live_attempts=tuple(attempts[evaluation.pk]),
                lacks_worker=not attempts[evaluation.pk] and lacks_worker(evaluation),
                worker_runs=evaluation.pk in with_worker,
                awaited=awaited.get(evaluation.pk),
            )
        views[evaluation.pk] = view
    return views


def _evaluations() -> QuerySet[Evaluation]:
    """Evaluations with all that steps read of them, and the time at which they were read, by the database's clock."""
    return Evaluation.runs.select_related("suite", "own_worker_run").annotate(now=Now())


_NO_SHARDS: Mapping[str, Any] = {"open": 0, "pending": 0, "leased": 0, "open_canaries": 0, "exhausted": []}
_OPEN_SHARDS = """
SELECT evaluation_id, count(*), count(*) FILTER (WHERE shard.state = 'pending'),
       count(*) FILTER (WHERE shard.state = 'leased'), count(*) FILTER (WHERE number < leasable_shards),
       coalesce(array_agg(shard.id) FILTER (WHERE shard.state = 'pending' AND tries >= %s), '{}')
FROM evaluations_shard shard JOIN evaluations_evaluation evaluation ON evaluation.id = evaluation_id
WHERE shard.state IN ('pending', 'leased') AND evaluation_id = ANY(%s) GROUP BY evaluation_id
"""
"""In SQL of its own: Django took longer to write it than PostgreSQL to answer it."""


def _shards_of(evaluations: Sequence[Evaluation]) -> dict[UUID, Mapping[str, Any]]:
    """What a view says of shards, by evaluation; those without any open shard are left out."""
    if not evaluations:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_OPEN_SHARDS, [settings.SHARD_TRIES, [evaluation.pk for evaluation in evaluations]])
        return {row[0]: dict(zip(_NO_SHARDS, row[1:], strict=True)) for row in cursor.fetchall()}


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
    """Take an evaluation a step further, and say whether there may be another step to do at once.

    Before: nothing; the evaluation may be in any state, and another process may be doing the same.
    After: a step was done by this process, or by another, or none was due; a launch has asked for a worker, and what is
    aggregated was summarised.
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
    wanting = _evaluations().filter(state__in=states.LEASABLE)
    evaluation = wanting.filter(pk=evaluation_id).first()
    if evaluation is None and isinstance(launching, PoolsWorkers):
        # The planner that ended its worker may have failed its own evaluation by that.
        evaluation = wanting.filter(own_worker_run__isnull=True).order_by("created").first()
    if evaluation is not None:
        awaited = awaited_of([evaluation.pk]).get(evaluation.pk)
        steps.ensure_worker(evaluation=evaluation, launching=launching, awaited=awaited)


def _act(*, step: Step, evaluation: Evaluation, launching: Launcher) -> bool:
    match step.do:
        case Do.NOTHING:
            return False
        case Do.LAUNCH:
            return _launch(evaluation, launching=launching)
        case Do.ENSURE_WORKER:
            return steps.ensure_worker(evaluation=evaluation, launching=launching, awaited=step.awaited)
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
            return _aggregate(evaluation)
        case Do.SUMMARISE:
            return _summarise(evaluation)
        case Do.FAIL:
            return steps.fail_overdue(evaluation)
        case Do.ABANDON:
            return steps.abandon(evaluation)
        case Do.SETTLE_VERIFICATION:
            return steps.settle_verification(evaluation)


def _launch(evaluation: Evaluation, *, launching: Launcher) -> bool:
    """Launch an evaluation and see at once that it has a worker, unless it has no shard that waits for one."""
    if not steps.launch(evaluation):
        return False
    if not Shard.objects.filter(evaluation=evaluation, state=ShardState.PENDING).exists():
        return True
    evaluation.state, evaluation.reason = EvaluationState.LAUNCHING, EvaluationReason.STARTING_WORKER
    awaited = awaited_of([evaluation.pk]).get(evaluation.pk)
    return steps.ensure_worker(evaluation=evaluation, launching=launching, awaited=awaited)


def _aggregate(evaluation: Evaluation) -> bool:
    """Take an evaluation whose shards are done to its end: nothing that a look would find lies between the steps."""
    if not steps.aggregate(evaluation):
        return False
    evaluation.state, evaluation.reason = EvaluationState.AGGREGATING, EvaluationReason.AGGREGATING
    return _summarise(evaluation)


def _summarise(evaluation: Evaluation) -> bool:
    # Only a verification has a step after that.
    return steps.summarise(evaluation) and evaluation.verifies_id is not None


_LOOKED_AT_TOGETHER = 100
_STEPS_TOGETHER = 5
SWEEP = "sweep"
"""Name of the lease that a sweep holds."""
SWEEP_BUDGET = timedelta(seconds=15)
"""How long a sweep begins another evaluation. One of few processes has no time for anything else meanwhile."""


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
    # By the states that are meant and not by the others: an index has those, however many evaluations have ended.
    open_states = [state.value for state in EvaluationState if state not in states.FINAL]
    not_ended = Evaluation.runs.filter(state__in=open_states).order_by("created").values_list("pk", flat=True)
    return [*not_ended, *verification.unsettled()]
