"""Level-triggered reconciliation: read the state of an evaluation and take one step towards its end.

`reconcile` reads, decides (`decisions.decide`, which is pure) and acts. Every step is an idempotent transaction that
two processes may attempt at once, so that a process may be killed at any instruction.
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
from leaderboard.catalog.library import NotReadyError, digests_today
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
from leaderboard.queue import further_runs, steps, verification
from leaderboard.queue.agents.turns import waiting_for_agent_among
from leaderboard.queue.decisions import Action, AttemptView, Step, View, decide
from leaderboard.queue.launching import launcher
from leaderboard.queue.workers.own import own_among

logger = logging.getLogger(__name__)

_CLOCK_SKEW = timedelta(seconds=20)
"""Largest difference between the clocks of a cluster node and PostgreSQL."""
_RECENT = timedelta(minutes=10)
"""An evaluation whose last attempt ended within this time is active: slow planners have time slices."""


def lacks_worker(evaluation: Evaluation) -> bool:
    """Whether an evaluation without live attempts is past its deadline after minutes of waiting only for a worker of
    the site."""
    now = evaluation.now  # type: ignore[attr-defined]  # annotated by `_evaluations`
    if evaluation.state_deadline is None or evaluation.state_deadline > now:
        return False
    recent = Attempt.objects.filter(shard__evaluation=evaluation, ended_at__gte=now - _RECENT)
    return not awaited_of([evaluation.pk]) and not recent.exists()


def awaited_of(evaluation_ids: Sequence[UUID]) -> Mapping[UUID, EvaluationReason]:
    """The evaluations that wait for something other than a worker of the site, with what they wait for. Two queries."""
    if not evaluation_ids:
        return {}
    agents = dict.fromkeys(waiting_for_agent_among(evaluation_ids), EvaluationReason.WAITING_FOR_AGENT)
    return agents | dict.fromkeys(own_among(evaluation_ids), EvaluationReason.WAITING_FOR_OWN_WORKER)


def worker_runs(evaluation: Evaluation, *, launching: Launcher) -> bool:
    """Whether the launcher knows of a live worker. After a failed launch, False: launching again corrects the reason
    that the owner reads, since a shared worker may have started for another evaluation."""
    if not evaluation.launch_handle or evaluation.reason == EvaluationReason.LAUNCH_FAILED:
        return False
    return launching.alive(handle=evaluation.launch_handle).alive is True


def has_lost(liveness: Liveness, *, leased_at: datetime) -> bool:
    """Whether a worker has lost what it leased at this time: it is gone or has restarted. Pure."""
    if liveness.alive is False:
        return True
    return liveness.started_at is not None and leased_at + _CLOCK_SKEW < liveness.started_at


def look(*, evaluations: Sequence[Evaluation], launching: Launcher) -> dict[UUID, View]:
    """Take snapshots of evaluations, and ask the launcher about their workers. A constant number of queries.

    Args:
        evaluations: read by `_evaluations`.
        launching: what starts workers here.
    """
    active = [evaluation for evaluation in evaluations if evaluation.state in states.LAUNCHED]
    shards: dict[UUID, Mapping[str, Any]] = {}
    if active:
        with connection.cursor() as cursor:
            cursor.execute(_OPEN_SHARDS, [settings.SHARD_TRIES, [evaluation.pk for evaluation in active]])
            shards = {row[0]: dict(zip(_NO_SHARDS, row[1:], strict=True)) for row in cursor.fetchall()}
    with_worker = {evaluation.pk for evaluation in active if worker_runs(evaluation, launching=launching)}
    awaited = awaited_of([pk for pk, counts in shards.items() if counts["pending"] and pk not in with_worker])
    attempts = _attempts_of([pk for pk, counts in shards.items() if counts["leased"]], launching=launching)
    outdated = _outdated_among(evaluations)
    aggregating = [evaluation.pk for evaluation in evaluations if evaluation.state == EvaluationState.AGGREGATING]
    awaiting = further_runs.waiting_among(aggregating) if aggregating else frozenset()
    verifications = [evaluation.pk for evaluation in evaluations if evaluation.verifies_id is not None]
    unsettled = verification.open_among(verifications) if verifications else frozenset()
    views = {}
    for evaluation in evaluations:
        view = View(
            now=evaluation.now,  # type: ignore[attr-defined]  # annotated by `_evaluations`
            state=EvaluationState(evaluation.state),
            deadline=evaluation.state_deadline,
            unsettled=evaluation.pk in unsettled,
            awaits_runs=evaluation.pk in awaiting,
            is_outdated=evaluation.pk in outdated,
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


def _outdated_among(evaluations: Sequence[Evaluation]) -> frozenset[UUID]:
    """Those that wait for workers under other tasks, rules or data than this release's.

    During an upgrade processes and workers of both releases run: what a worker of the other one takes is left alone.
    """
    today: dict[tuple[int, str, str, str | None], tuple[str, str] | None] = {}
    outdated = set()
    for evaluation in evaluations:
        if evaluation.state not in states.LEASABLE:
            continue
        key = (evaluation.suite_id, evaluation.profile, evaluation.split, evaluation.season_id)
        if key not in today:
            try:
                today[key] = digests_today(evaluation)
            except NotReadyError:
                # What is missing may come back; new submissions are refused until then.
                today[key] = None
        own = (evaluation.profile_digest, evaluation.data_digest)
        is_todays = today[key] in {None, own} and evaluation.suite.current
        if is_todays:
            continue
        since = evaluation.now - _RECENT  # type: ignore[attr-defined]  # annotated by `_evaluations`
        # Attempts of workers that refused it have failed.
        done = Attempt.objects.filter(shard__evaluation=evaluation, state=AttemptState.COMPLETED, ended_at__gte=since)
        if not done.exists():
            outdated.add(evaluation.pk)
    return frozenset(outdated)


def _evaluations() -> QuerySet[Evaluation]:
    """Evaluations with the relations that steps read, annotated with the database's time."""
    return Evaluation.runs.select_related("suite", "own_worker_run").annotate(now=Now())


_NO_SHARDS: Mapping[str, Any] = {"open": 0, "pending": 0, "leased": 0, "open_canaries": 0, "exhausted": []}
_OPEN_SHARDS = """
SELECT evaluation_id, count(*), count(*) FILTER (WHERE shard.state = 'pending'),
       count(*) FILTER (WHERE shard.state = 'leased'), count(*) FILTER (WHERE number < leasable_shards),
       coalesce(array_agg(shard.id) FILTER (WHERE shard.state = 'pending' AND tries >= %s), '{}')
FROM evaluations_shard shard JOIN evaluations_evaluation evaluation ON evaluation.id = evaluation_id
WHERE shard.state IN ('pending', 'leased') AND evaluation_id = ANY(%s) GROUP BY evaluation_id
"""
"""Raw SQL: Django took longer to compile the query than PostgreSQL to execute it."""


def _attempts_of(evaluations: Sequence[UUID], *, launching: Launcher) -> dict[UUID, list[AttemptView]]:
    """The live attempts of evaluations with a leased shard."""
    views: dict[UUID, list[AttemptView]] = defaultdict(list)
    if not evaluations:
        return views
    live = Attempt.objects.filter(shard__evaluation__in=evaluations, state=AttemptState.LIVE).order_by("leased_at")
    for attempt in live.select_related("shard"):
        liveness = launching.alive(handle=attempt.worker)
        view = AttemptView(
            id=attempt.pk,
            expires_at=attempt.expires_at,
            worker_dead=liveness.reason if has_lost(liveness, leased_at=attempt.leased_at) else "",
            disrupted=liveness.disrupted,
            stalls_at=attempt.stalls_at,
        )
        views[attempt.shard.evaluation_id].append(view)
    return views


def reconcile(evaluation_id: UUID) -> bool:
    """Take one step of an evaluation, and return whether another may be due at once.

    Before: nothing; the evaluation may be in any state, and another process may be doing the same.
    After: this process or another took a step, or none was due. A launch has requested a worker, and an aggregated
    evaluation was summarised.
    """
    evaluation = _evaluations().filter(pk=evaluation_id).first()
    if evaluation is None:
        return False
    launching = launcher()
    step = decide(look(evaluations=[evaluation], launching=launching)[evaluation.pk])
    return _act(step=step, evaluation=evaluation, launching=launching)


def refill(evaluation_id: UUID, *, launching: Launcher) -> None:
    """Replace a lost worker if the evaluation needs one or, where workers are pooled, if any evaluation does.

    `decide` would not replace it: a pool with other workers counts as running.
    """
    leasable = _evaluations().filter(state__in=states.LEASABLE)
    evaluation = leasable.filter(pk=evaluation_id).first()
    if evaluation is None and isinstance(launching, PoolsWorkers):
        # A planner that kills its worker may have failed its own evaluation.
        evaluation = leasable.filter(own_worker_run__isnull=True).order_by("created").first()
    if evaluation is not None:
        awaited = awaited_of([evaluation.pk]).get(evaluation.pk)
        steps.ensure_worker(evaluation=evaluation, launching=launching, awaited=awaited)


def _act(*, step: Step, evaluation: Evaluation, launching: Launcher) -> bool:
    match step.action:
        case Action.NOTHING:
            return False
        case Action.LAUNCH:
            return _launch(evaluation, launching=launching)
        case Action.ENSURE_WORKER:
            return steps.ensure_worker(evaluation=evaluation, launching=launching, awaited=step.awaited)
        case Action.LOSE_ATTEMPTS:
            return steps.lose_attempts(step.attempts)
        case Action.FOLLOW_RELEASE:
            return steps.follow_release(evaluation)
        case Action.GIVE_UP_SHARDS:
            return steps.give_up_shards(evaluation=evaluation, shard_ids=step.shards)
        case Action.SETTLE_CANARY:
            return steps.settle_canary(evaluation)
        case Action.WAIT_LONGER:
            note_progress(evaluation.pk)
            return True
        case Action.AGGREGATE:
            if not steps.aggregate(evaluation):
                return False
            evaluation.state, evaluation.reason = EvaluationState.AGGREGATING, EvaluationReason.AGGREGATING
            return _summarise(evaluation)
        case Action.SUMMARISE:
            return _summarise(evaluation)
        case Action.FAIL:
            return steps.fail_overdue(evaluation)
        case Action.ABANDON:
            return steps.abandon(evaluation)
        case Action.SETTLE_VERIFICATION:
            return verification.settle(evaluation.pk)


def _launch(evaluation: Evaluation, *, launching: Launcher) -> bool:
    """Launch an evaluation and request a worker, unless no shard waits for one."""
    if not steps.launch(evaluation):
        return False
    if not Shard.objects.filter(evaluation=evaluation, state=ShardState.PENDING).exists():
        return True
    evaluation.state, evaluation.reason = EvaluationState.LAUNCHING, EvaluationReason.STARTING_WORKER
    awaited = awaited_of([evaluation.pk]).get(evaluation.pk)
    return steps.ensure_worker(evaluation=evaluation, launching=launching, awaited=awaited)


def _summarise(evaluation: Evaluation) -> bool:
    # Only verifications have a next step.
    return steps.summarise(evaluation) and evaluation.verifies_id is not None


_BATCH = 100
_STEPS_TOGETHER = 5
SWEEP = "sweep"
"""Name of the lease that a sweep holds."""
SWEEP_BUDGET = timedelta(seconds=15)
"""After this time a sweep starts no further evaluation: it blocks one of few processes."""


def sweep(*, budget: timedelta = SWEEP_BUDGET) -> int:
    """Reconcile every unfinished evaluation and every verification without a verdict, and return their number.

    Only one sweep runs at a time: a second one returns 0, and one that has lost its lease ends early. Each sweep starts
    at a random evaluation, so that all are reached even if the budget is too small for one pass. An error in one
    evaluation is logged and does not affect the others.
    """
    with exclusive(SWEEP, lasting=timedelta(seconds=settings.SWEEP_LEASE_SECONDS)) as hold:
        if hold is None:
            return 0
        # By state: an index covers the open states, however many evaluations have ended.
        open_states = [state.value for state in EvaluationState if state not in states.FINAL]
        unfinished = Evaluation.runs.filter(state__in=open_states).order_by("created").values_list("pk", flat=True)
        waiting = [*unfinished, *verification.unsettled()]
        first = random.randrange(len(waiting)) if waiting else 0  # noqa: S311 - no secret
        until = time.monotonic() + budget.total_seconds()
        order = [*waiting[first:], *waiting[:first]]
        launching = launcher()
        if isinstance(launching, TendsPools):
            live = Attempt.objects.filter(state=AttemptState.LIVE).order_by()
            launching.tend(busy=set(live.values_list("worker", flat=True)))
        for start in range(0, len(order), _BATCH):
            for evaluation, step in _steps_of(order[start : start + _BATCH], launching=launching):
                if time.monotonic() >= until:
                    logger.warning("the sweep reached about %d of %d evaluations", start, len(waiting))
                    return len(waiting)
                if not hold.renew():
                    return len(waiting)
                try:
                    if _act(step=step, evaluation=evaluation, launching=launching):
                        reconcile_some(evaluation.pk)
                except SoftTimeLimitExceeded:
                    raise
                except Exception:  # the sweep is the last resort of all evaluations
                    logger.exception("reconciling evaluation %s failed", evaluation.pk)
        return len(waiting)


def _steps_of(evaluation_ids: Sequence[UUID], *, launching: Launcher) -> list[tuple[Evaluation, Step]]:
    """The evaluations for which a step is due, and that step."""
    known = _evaluations().in_bulk(evaluation_ids)
    evaluations = [known[pk] for pk in evaluation_ids if pk in known]
    try:
        views = look(evaluations=evaluations, launching=launching)
    except SoftTimeLimitExceeded:
        raise
    except Exception:  # an error of one evaluation must not affect the others
        if len(evaluations) == 1:
            logger.exception("reading evaluation %s failed", evaluation_ids[0])
            return []
        return [step for pk in evaluation_ids for step in _steps_of([pk], launching=launching)]
    steps_of = [(evaluation, decide(views[evaluation.pk])) for evaluation in evaluations]
    return [(evaluation, step) for evaluation, step in steps_of if step.action is not Action.NOTHING]


def reconcile_some(evaluation_id: UUID) -> bool:
    """Take up to `_STEPS_TOGETHER` steps of an evaluation, and return whether more may be due."""
    return all(reconcile(evaluation_id) for _ in range(_STEPS_TOGETHER))
