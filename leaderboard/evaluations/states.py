"""The only code that writes the state of evaluations, shards and attempts: compare-and-set, each with its fence.

The fence of an evaluation is its `attempt`, that of a shard its number of `tries`, that of an attempt that it is live.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import QuerySet
from django.db.models.expressions import Combinable
from django.db.models.functions import Now

from leaderboard.evaluations import transitions, unfinished
from leaderboard.evaluations.events import NewResult, announce, fits_one_event, notification
from leaderboard.evaluations.models import Attempt, AttemptState, Evaluation, EvaluationState, Loss, Shard, ShardState
from leaderboard.evaluations.reasons import EvaluationReason, sentence
from leaderboard.platform.hooks import Hook


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """An evaluation is in another state than before."""

    evaluation_id: UUID
    state: EvaluationState
    reason: EvaluationReason


entered: Hook[Entered] = Hook()
"""Called in the transaction that brings an evaluation into another state."""


def deadline_of(state: EvaluationState, *, now: datetime | Combinable) -> datetime | Combinable | None:
    """When the reconciler must act on an evaluation that enters `state` now, by the database's clock."""
    lasts: timedelta | None = transitions.DEADLINES[state]
    return None if lasts is None else now + lasts


def advance(
    evaluation: Evaluation,
    *,
    target: EvaluationState,
    reason: EvaluationReason,
    facts: dict[str, object] | None = None,
    raise_fence: bool = False,
    only_overdue: bool = False,
    **fields: Any,
) -> bool:
    """Take an evaluation to `target` if its state and `attempt` are still those that were read.

    Before: nothing is assumed; another process may have been faster.
    After: either the row has the new state, reason and deadline, tasks that `failed` and `cancelled` leave without a
    result have one that says so, and an event and what its owner is told go out with the commit (True), or nothing
    changed (False). With `raise_fence` its attempt is one higher, so that steps decided before do nothing. With
    `only_overdue` nothing changes unless the state has lasted too long still: whoever decided that may have looked
    before a result came, which gives a running evaluation its full time again.

    Raises:
        IllegalTransitionError: the table does not allow it.
    """
    transitions.check(source=EvaluationState(evaluation.state), target=target)
    now, text = Now(), sentence(reason, **(facts or {}))
    if raise_fence:
        fields["attempt"] = evaluation.attempt + 1
    if target in transitions.FINAL:
        fields.setdefault("finished", now)
    with transaction.atomic(savepoint=False):
        wanted = Evaluation.objects.filter(pk=evaluation.pk, state=evaluation.state, attempt=evaluation.attempt)
        if only_overdue:
            wanted = wanted.filter(state_deadline__lte=now)
        changed = wanted.update(
            state=target,
            state_since=now,
            state_deadline=deadline_of(target, now=now),
            reason=reason,
            reason_text=text,
            **fields,
        )
        if changed:
            # Before it is announced, so that the counts that go out are those of the end.
            unfinished.close_open_tasks(evaluation_id=evaluation.pk, target=target, why=text)
            announce(evaluation_id=evaluation.pk)
            entered.call(Entered(evaluation_id=evaluation.pk, state=target, reason=reason))
    return bool(changed)


def explain(
    evaluation_id: UUID,
    *,
    reason: EvaluationReason,
    source: EvaluationState = EvaluationState.RUNNING,
    **facts: object,
) -> bool:
    """Change the reason that is shown while an evaluation stays in `source`, with the facts that its sentence needs.
    False if it is shown already."""
    text = sentence(reason, **facts)
    with transaction.atomic(savepoint=False):
        changed = (
            Evaluation.objects.filter(pk=evaluation_id, state=source)
            .exclude(reason=reason, reason_text=text)
            .update(reason=reason, reason_text=text)
        )
        if changed:
            announce(evaluation_id=evaluation_id)
    return bool(changed)


def note_progress(evaluation_id: UUID) -> None:
    """Give a running evaluation its full time again, because a task has ended."""
    Evaluation.objects.filter(pk=evaluation_id, state=EvaluationState.RUNNING).update(
        state_deadline=deadline_of(EvaluationState.RUNNING, now=Now())
    )


def move_shard(
    *,
    shard_id: int,
    source: ShardState,
    target: ShardState,
    tries: int,
    tries_after: int | None = None,
    **fields: Any,
) -> bool:
    """Take a shard from `source` to `target` if it still is in `source` after this number of `tries`.

    Before: nothing is assumed.
    After: the row has the new state, `fields`, and `tries_after` if given (True), or nothing changed (False).

    Raises:
        IllegalTransitionError: the table does not allow it.
    """
    transitions.check(source=source, target=target)
    if tries_after is not None:
        fields["tries"] = tries_after
    return bool(Shard.objects.filter(pk=shard_id, state=source, tries=tries).update(state=target, **fields))


def end_attempt(*, attempt_id: UUID, target: AttemptState, reason: str = "", loss: Loss | None = None) -> bool:
    """End a live attempt. False if it had ended already; then nothing changed.

    Raises:
        IllegalTransitionError: `target` is not an end.
    """
    attempts = Attempt.objects.filter(pk=attempt_id)
    return bool(_end_attempts(attempts, target=target, reason=reason, loss=loss or ""))


def end_attempts_of(*, evaluation_id: UUID, target: AttemptState) -> int:
    """End every live attempt of an evaluation, and return how many there were.

    Raises:
        IllegalTransitionError: `target` is not an end.
    """
    return _end_attempts(Attempt.objects.filter(shard__evaluation=evaluation_id), target=target, reason="")


def _end_attempts(attempts: QuerySet[Attempt], *, target: AttemptState, reason: str, loss: str = "") -> int:
    transitions.check(source=AttemptState.LIVE, target=target)
    live = attempts.filter(state=AttemptState.LIVE)
    return live.update(state=target, reason=reason, loss=loss, ended_at=Now())


_LEASE = """
WITH moved AS (
    UPDATE evaluations_shard SET state = 'leased', tries = tries + 1
    WHERE id = %s AND state = 'pending' AND tries = %s RETURNING id
)
INSERT INTO evaluations_attempt ({columns}) SELECT {values} FROM moved
"""


def lease_shard(*, attempt: Attempt, tries: int) -> bool:
    """Insert an attempt, new and live, at a shard that is pending after this number of `tries`, and lease the shard.

    One statement: the shard is leased if and only if the attempt is there. False if the shard is not what was read;
    then nothing changed.

    Raises:
        IntegrityError: there is an attempt with this token.
    """
    transitions.check(source=ShardState.PENDING, target=ShardState.LEASED)
    fields = Attempt._meta.concrete_fields
    values = [field.get_db_prep_save(getattr(attempt, field.attname), connection=connection) for field in fields]
    sql = _LEASE.format(
        columns=", ".join(f'"{field.column}"' for field in fields), values=", ".join(["%s"] * len(fields))
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [attempt.shard_id, tries, *values])
        is_leased = bool(cursor.rowcount)
    # As Django leaves what it has inserted: to be saved from now on is to be updated.
    attempt._state.adding, attempt._state.db = not is_leased, connection.alias
    return is_leased


_COMPLETE = """
WITH ended AS (
    UPDATE evaluations_attempt SET state = 'completed', reason = '', loss = '', ended_at = STATEMENT_TIMESTAMP()
    WHERE id = %(attempt)s AND state = 'live' RETURNING 1
),
moved AS (
    UPDATE evaluations_shard SET state = 'done'
    WHERE id = %(shard)s AND state = 'leased' AND tries = %(tries)s RETURNING 1
),
progressed AS (
    UPDATE evaluations_evaluation SET state_deadline = STATEMENT_TIMESTAMP() + %(lasts)s
    WHERE id = %(evaluation)s AND state = 'running' AND %(is_progress)s
)
SELECT (SELECT count(*) FROM ended) + (SELECT count(*) FROM moved),
       EXISTS(SELECT 1 FROM evaluations_shard WHERE evaluation_id = %(evaluation)s AND state <> 'done'
              AND id <> %(shard)s),
       {notification}
"""


def complete_shard(*, attempt: Attempt, results: Sequence[NewResult]) -> bool:
    """End a live attempt as `completed` and its shard as `done`, and return whether other shards are not done.

    Before: evaluation, shard and attempt are locked, in this order, and were read after that.
    After: the same as `end_attempt`, `move_shard` and, if there are results, `note_progress` and `announce`, in one
    statement.

    Args:
        attempt: which, with its shard and evaluation.
        results: those that this transaction has inserted.
    """
    transitions.check(source=AttemptState(attempt.state), target=AttemptState.COMPLETED)
    transitions.check(source=ShardState(attempt.shard.state), target=ShardState.DONE)
    evaluation = attempt.shard.evaluation
    told = results if fits_one_event(results) else ()
    notify = notification(evaluation=evaluation, results=told)
    parameters: dict[str, Any] = {
        "attempt": attempt.pk,
        "shard": attempt.shard_id,
        "tries": attempt.shard.tries,
        "lasts": transitions.DEADLINES[EvaluationState.RUNNING],
        "evaluation": evaluation.pk,
        "is_progress": bool(results),
    }
    sql = _COMPLETE.format(notification=notify.sql if told else "NULL")
    with connection.cursor() as cursor:
        cursor.execute(sql, {**parameters, **notify.parameters})
        changed, others_open, _ = cursor.fetchone()
    assert changed == len((attempt, attempt.shard)), "both are locked"
    if results and not told:
        announce(evaluation_id=evaluation.pk, results=results)
    return bool(others_open)
