"""Leases of shards: granted to workers, renewed by heartbeats, ended with the attempt or lost with the worker.

An evaluation stops when its tasks have killed or hung too many workers (`stop_after_losses`).
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from evaluator.core.records import Outcome, Reason, ResultRecord
from evaluator.core.storable import keepable_text
from evaluator.core.suites.hidden import HIDDEN
from gpu_jobs.contract import GivenUp, Phase
from gpu_jobs.redaction import Redactor
from leaderboard.evaluations import deadlines
from leaderboard.evaluations.models import (
    ATTRIBUTABLE,
    OWN_WORKER,
    Attempt,
    AttemptState,
    Evaluation,
    EvaluationReason,
    Loss,
    Shard,
    ShardState,
)
from leaderboard.evaluations.results.results import new_results, note_new_results
from leaderboard.evaluations.states import complete_shard, end_attempt, end_attempts_of, explain, move_shard
from leaderboard.planners.models import Planner
from leaderboard.planners.secret_headers import addresses_to_hide
from leaderboard.platform.database import database_now
from leaderboard.platform.problems import ProblemError
from leaderboard.platform.secret_keys import known_secrets
from leaderboard.queue import canary, unreachable
from leaderboard.queue.leasing import worker_pools
from leaderboard.queue.leasing.evaluation_locks import AttemptEndedError, locked_attempt
from leaderboard.queue.leasing.next_shard import Lease, hash_token, lease_next
from leaderboard.queue.leasing.turns import LeaseFilter
from leaderboard.queue.shards import asks_submitted_planner, end_waiting_shards, remaining_tasks
from leaderboard.queue.stopping import enqueue_reconcile, enqueue_replacement, enqueue_stop

_LONGEST_WAIT = timedelta(seconds=60)
_REFUSED_WAIT = timedelta(seconds=30)
_RELEASES_FORGIVEN = 200
"""Attempts at a shard after which a released one counts as a try. No cluster evicts so many workers; without a limit, a
self-hosted worker that leases and releases could create unlimited rows and logs."""
_SET_ASIDE_WAIT = timedelta(seconds=5)
"""Waiting shards are leased before the shard that gave way to them."""


class IncompleteError(ProblemError):
    """A worker reported an attempt as completed, but some of its tasks have no result."""

    code = "incomplete"

    def __init__(self, missing: list[str]) -> None:
        self.missing = missing
        super().__init__(f"tasks without a result: {', '.join(missing)}; post them first, or fail the attempt")

    def facts(self) -> dict[str, Any]:
        return {"missing": self.missing}


def lease(
    *,
    worker: str,
    suites: Sequence[str] | None = None,
    evaluation_id: UUID | None = None,
    scope: Q | None = None,
    token: str = "",
    pool: Sequence[str] = (),
) -> Lease | None:
    """Lease the next due shard in `scope`; None if there is none.

    Fair order: the user with the fewest leases relative to their weight, then priority, then the oldest evaluation,
    then the shard's number.

    Before: nothing; many workers may call at once.
    After: the shard is `leased`, has exactly one live attempt, and its evaluation is `running`; or nothing changed.

    Args:
        token: the token that the worker proposes for the attempt. A worker whose response was lost repeats the request
            with the same token, and gets the lease that it already holds.
        pool: suites for which it serves all users (`Attempt.pool`); empty: it serves one evaluation or user.
    """
    evaluations = LeaseFilter(suites=suites, evaluation_id=evaluation_id, scope=scope, pool=pool)
    take = partial(lease_next, worker=worker, evaluations=evaluations)
    try:
        if (leased := take(token=token)) or not token:
            return leased
    except IntegrityError:
        if not token or _held(token, scope=None) is None:
            raise
    held = _held(token, scope=scope)
    if held is not None and held.attempt.state != AttemptState.LIVE:
        # The lease with this token has ended: it needs another token.
        return take(token="")
    return held


def is_work_left(*, evaluation_id: UUID, suites: Sequence[str] | None = None, scope: Q | None = None) -> bool:
    """Whether an evaluation in `scope` has unfinished shards, including those that may not be leased now."""
    return LeaseFilter(suites=suites, evaluation_id=evaluation_id, scope=scope).unfinished().exists()


def _held(token: str, *, scope: Q | None) -> Lease | None:
    """The lease granted with this token, unless its evaluation is out of the worker's scope."""
    related = "shard__evaluation__suite", "shard__evaluation__submission__planner"
    attempt = Attempt.objects.select_related(*related).filter(token_hash=hash_token(token)).first()
    if attempt is None:
        return None
    if scope is not None and not Evaluation.runs.filter(scope, pk=attempt.shard.evaluation_id).exists():
        return None
    tasks = remaining_tasks(attempt.shard)
    return Lease(attempt=attempt, evaluation=attempt.shard.evaluation, tasks=tasks, token=token)


def heartbeat(attempt_id: UUID, *, phase: Phase | None = None) -> None:
    """Renew the lease of an attempt. Its deadline for progress does not change (`evaluations/deadlines.py`).

    Args:
        attempt_id: the attempt.
        phase: the phase that its worker reports.

    Raises:
        AttemptEndedError: it is not live; or it has made no progress in time and is now `lost`; or its time slice is
            over while other work waits, and its shard waits for the next turn.
    """
    attempt = None if phase is None else Attempt.objects.annotate(now=Now()).filter(pk=attempt_id).first()
    if phase is not None and attempt is not None:
        deadlines.enter_phase(attempt=attempt, phase=phase)
    expires = Now() + timedelta(seconds=settings.LEASE_SECONDS)
    in_time = Attempt.objects.filter(pk=attempt_id, state=AttemptState.LIVE).exclude(stalls_at__lte=Now())
    if in_time.update(expires_at=expires):
        if attempt is None or not worker_pools.must_give_way(attempt):
            return
        set_aside(attempt_id)
    else:
        lose_overdue(attempt_id)
    raise AttemptEndedError(AttemptState(Attempt.objects.values_list("state", flat=True).get(pk=attempt_id)))


def set_aside(attempt_id: UUID) -> bool:
    """End an attempt whose worker gives way to other users' work.

    Before: nothing; the attempt may have ended meanwhile.
    After: it is `failed`, which does not count as a try. Its shard can be leased again with the tasks that have no
    result, and its evaluation counts as slow (True); or it had ended and nothing changed (False).
    """
    with transaction.atomic():
        try:
            attempt = locked_attempt(attempt_id)
        except AttemptEndedError:
            return False
        evaluation_id = attempt.shard.evaluation_id
        held = round((database_now() - attempt.leased_at).total_seconds())
        end_attempt(
            attempt_id=attempt.pk,
            target=AttemptState.FAILED,
            reason=f"{GivenUp.RELEASED}: its planner kept the worker for {held} seconds, and other users' tasks waited",
        )
        _free_shard(attempt.shard, wait=_SET_ASIDE_WAIT, counts=attempt.number > _RELEASES_FORGIVEN)
        Evaluation.runs.filter(pk=evaluation_id).update(times_set_aside=F("times_set_aside") + 1, set_aside_at=Now())
        explain(evaluation_id, reason=EvaluationReason.SET_ASIDE, seconds=held)
        enqueue_reconcile(evaluation_id)
    return True


def complete(attempt_id: UUID) -> None:
    """Complete an attempt whose tasks all have results.

    Before: the attempt is live.
    After: it is `completed`, its shard is `done`, and a reconcile is requested if needed. A canary with an
    `infra_fault` is not done but waits for a retry; one that is done has opened the other shards or ended the
    evaluation.

    Raises:
        AttemptEndedError: it is not live.
        IncompleteError: a task has no result; nothing changed.
    """
    with transaction.atomic():
        complete_locked(locked_attempt(attempt_id))


def complete_locked(attempt: Attempt, *, delivered: Sequence[ResultRecord] = ()) -> None:
    """`complete` for an attempt from `locked_attempt`.

    Args:
        attempt: the attempt.
        delivered: results that this transaction has stored and not announced yet, which saves reading them again.

    Raises:
        IncompleteError: a task has no result; nothing changed.
    """
    has_all = {record.task for record in delivered} >= set(attempt.shard.task_keys)
    if not has_all and (missing := remaining_tasks(attempt.shard)):
        raise IncompleteError(missing)
    shard, evaluation = attempt.shard, attempt.shard.evaluation
    _note_proven(attempt)
    if canary.ran_into_infra_fault(shard):
        end_attempt(attempt_id=attempt.pk, target=AttemptState.COMPLETED)
        note_new_results(evaluation_id=shard.evaluation_id, records=delivered)
        rest = canary.rest_after_fault(shard)
        canary.forget_faults(shard)
        _free_shard(shard, wait=max(rest, _wait_after(shard)), counts=True)
        enqueue_reconcile(shard.evaluation_id)
        return
    others_open = complete_shard(attempt=attempt, results=new_results(delivered))
    acted = canary.act_on_canaries(evaluation)
    # The shard's own results are the latest: if they show that the planner is reachable, no query is needed.
    if not acted and not (has_all and unreachable.is_reached(delivered)):
        acted = unreachable.stop_if_unreachable(evaluation)
    # While shards are open, the periodic sweep is soon enough.
    if acted or not others_open:
        enqueue_reconcile(evaluation.pk)


def _note_proven(attempt: Attempt) -> None:
    """Mark the planner of a completed attempt as proven if it answers in time."""
    submission = attempt.shard.evaluation.submission
    planner = submission.planner
    if planner.proven or attempt.is_by_own_worker or not asks_submitted_planner(submission):
        return
    answered = attempt.results.filter(outcome__in=[Outcome.SCORED, Outcome.PLANNER_FAULT])
    if answered.exclude(reason__in=canary.BROKEN).exists():
        Planner.objects.filter(pk=planner.pk).update(proven=True)


def give_up(*, attempt_id: UUID, how: GivenUp, detail: str) -> None:
    """End an attempt that its worker cannot finish.

    Before: the attempt is live.
    After: it is `failed`; its shard can be leased again, at once if the worker was stopped, else after a pause.

    Raises:
        AttemptEndedError: it is not live.
    """
    with transaction.atomic():
        attempt = locked_attempt(attempt_id)
        # The evaluation's page is public, and the detail may be the text of any error.
        planner = attempt.shard.evaluation.submission.planner
        detail = Redactor(secrets=known_secrets(), addresses=addresses_to_hide(planner))(keepable_text(detail))
        end_attempt(attempt_id=attempt.pk, target=AttemptState.FAILED, reason=f"{how}: {detail}"[:2000])
        wait = {
            GivenUp.RELEASED: timedelta(),
            GivenUp.REFUSED: _REFUSED_WAIT,
            GivenUp.FAILED: _wait_after(attempt.shard),
        }[how]
        counts = how is GivenUp.FAILED or (how is GivenUp.RELEASED and attempt.number > _RELEASES_FORGIVEN)
        _free_shard(attempt.shard, wait=wait, counts=counts)
        if how is not GivenUp.RELEASED:
            refused = how is GivenUp.REFUSED
            if not refused and attempt.shard.evaluation.split == HIDDEN:
                # Like the log, an error message could reveal hidden data.
                detail = "its log, which staff may read, says why"
            explain(
                attempt.shard.evaluation_id,
                reason=EvaluationReason.PROFILE_MISMATCH if refused else EvaluationReason.WORKER_FAILED,
                detail=detail[:300],
            )
        enqueue_reconcile(attempt.shard.evaluation_id)


def lose(*, attempt_id: UUID, detail: str, loss: Loss = Loss.TAKEN) -> bool:
    """Take a live attempt from its worker.

    Before: nothing; the attempt may have ended meanwhile.
    After: it is `lost` and its shard can be leased at once, with the tasks that have no result (True); or it had
    ended and nothing changed (False). After a loss that the tasks may have caused (`ATTRIBUTABLE`) a canary is not
    retried, and an evaluation that has lost too many workers waits for its owner.

    Args:
        attempt_id: the attempt.
        detail: why, as part of a sentence.
        loss: how its worker was lost.
    """
    with transaction.atomic():
        try:
            _lose(locked_attempt(attempt_id), detail=detail, loss=loss)
        except AttemptEndedError:
            return False
    return True


def lose_overdue(attempt_id: UUID) -> bool:
    """`lose` an attempt if its lease or its deadline for progress has passed. Checked under the lock: a heartbeat or a
    result may have arrived since the caller's decision. False if nothing changed."""
    with transaction.atomic():
        try:
            attempt = locked_attempt(attempt_id)
        except AttemptEndedError:
            return False
        now = database_now()
        # A worker that lost contact before the deadline may have made progress that did not arrive.
        if attempt.stalls_at is not None and attempt.stalls_at <= min(now, attempt.expires_at):
            detail = deadlines.stalled_in_words(phase=attempt.phase, allowed=attempt.allowances)
            _lose(attempt, detail=detail, loss=Loss.STALLED)
        elif attempt.expires_at <= now:
            loss = Loss.DISRUPTED if others_fell_silent(attempt, now=now) else Loss.SILENT
            _lose(attempt, detail="it lost contact with the site", loss=loss)
        else:
            return False
    return True


def _lose(attempt: Attempt, *, detail: str, loss: Loss) -> None:
    """End an attempt from `locked_attempt` as lost."""
    shard, evaluation = attempt.shard, attempt.shard.evaluation
    end_attempt(attempt_id=attempt.pk, target=AttemptState.LOST, reason=detail, loss=loss)
    explain(evaluation.pk, reason=EvaluationReason.WORKER_LOST, detail=detail)
    counts = loss in ATTRIBUTABLE and not attempt.is_by_own_worker
    if counts and canary.is_canary(shard):
        canary.end_lost(shard, why=detail)
    else:
        _free_shard(shard, wait=timedelta(), counts=True)
        if counts:
            stop_after_losses(evaluation, why=detail)
    if loss in ATTRIBUTABLE:
        enqueue_replacement(worker=attempt.worker, evaluation_id=evaluation.pk)
    enqueue_reconcile(evaluation.pk)


def others_fell_silent(attempt: Attempt, *, now: datetime) -> bool:
    """Whether other evaluations lost contact with their workers at about the same time.

    Then the site or its network was down, and the tasks are not the cause. Self-hosted workers do not count: their
    owners may switch them off at any time.
    """
    since = now - timedelta(seconds=2 * settings.LEASE_SECONDS)
    silent_now = Q(state=AttemptState.LIVE, expires_at__lte=now)
    recently_silent = Q(state=AttemptState.LOST, loss__in=[Loss.SILENT, Loss.DISRUPTED], ended_at__gte=since)
    others = Attempt.objects.exclude(shard__evaluation=attempt.shard.evaluation_id).exclude(
        worker__startswith=OWN_WORKER
    )
    # Other attempts of the same worker are no evidence.
    return others.filter(silent_now | recently_silent).exclude(worker=attempt.worker).exists()


def lost_workers(evaluation: Evaluation) -> int:
    """Number of workers that were lost with tasks of this evaluation, for reasons that the tasks may have caused.

    Workers that lost contact together count once: a site that was down for longer than a lease has lost contact with
    all workers, and all of them are this evaluation's if no other was running.
    """
    lost = Attempt.objects.filter(shard__evaluation=evaluation, state=AttemptState.LOST, loss__in=ATTRIBUTABLE)
    losses = list(lost.exclude(worker__startswith=OWN_WORKER).order_by("ended_at").values_list("loss", "ended_at"))
    silent = [at for loss, at in losses if loss == Loss.SILENT and at is not None]
    together = timedelta(seconds=settings.LEASE_SECONDS)
    repeated = sum(after - before <= together for before, after in pairwise(silent))
    return len(losses) - repeated


def stop_after_losses(evaluation: Evaluation, *, why: str) -> bool:
    """Stop an evaluation that has lost too many workers. False if it goes on.

    Before: the evaluation is locked and has just lost a worker; `why` is the reason, as part of a sentence.
    After: its waiting tasks are `infra_fault`, and once the others have ended it waits for its owner. After a resume, a
    single further loss stops it again.
    """
    lost = lost_workers(evaluation)
    if lost < settings.LOST_WORKERS:
        return False
    text = f"Not run: this evaluation has lost {lost} workers, the last one because {why}."
    end_waiting_shards(evaluation=evaluation, reason=Reason.WORKER_LOST, text=text)
    return True


def cancel_attempts(evaluation_id: UUID) -> None:
    """Cancel the live attempts of an evaluation that was cancelled or failed, and request a stop of its workers."""
    enqueue_stop(evaluation_id)
    end_attempts_of(evaluation_id=evaluation_id, target=AttemptState.CANCELLED)


def _free_shard(shard: Shard, *, wait: timedelta, counts: bool) -> None:
    """Return the shard of a live, locked attempt to the queue after `wait`; `counts`: whether this was a try."""
    moved = move_shard(
        shard_id=shard.pk,
        source=ShardState.LEASED,
        target=ShardState.PENDING,
        tries=shard.tries,
        available_at=Now() + wait,
        tries_after=shard.tries if counts else shard.tries - 1,
    )
    assert moved, f"shard {shard} had a live attempt and was not leased"


def _wait_after(shard: Shard) -> timedelta:
    return min(timedelta(seconds=2**shard.tries), _LONGEST_WAIT)
