"""The only code that writes the state of evaluations, shards and attempts: compare-and-set, each with its fence.

The fence of an evaluation is its `attempt`, that of a shard its number of `tries`, that of an attempt that it is live.
Transitions of an evaluation:

    queued -> launching -> running -> aggregating -> completed
                                      aggregating -> on_hold -> queued (resume) | aggregating (accept)
    queued -> running                 a worker was already running

Every state that is not final may also change to failed or cancelled; tasks that never ran then get a result.

Each change is announced by PostgreSQL's NOTIFY, delivered at commit. The data of an event:

    {"state", "state_label", "reason_text", "done", "total", "outcomes": {outcome: count},
     "results": [{"task", "outcome", "score"}]}      # results that are new with this event

Clients without events poll `GET /evaluations/<id>/progress/`: the same object with the last few results, and under
`waiting` a sentence on the evaluation's place in the queue, or nothing.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypedDict
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.db.models.expressions import Combinable
from django.db.models.functions import Now

from evaluator.core.records import Outcome, Reason
from leaderboard.catalog.models import Task
from leaderboard.evaluations.models import (
    Attempt,
    AttemptState,
    Evaluation,
    EvaluationReason,
    EvaluationState,
    Loss,
    Shard,
    ShardState,
    TaskResult,
    sentence,
)
from leaderboard.evaluations.results.figures import LEFT_OUT, UNASKED
from leaderboard.platform.hooks import Hook

_S = EvaluationState
_A = AttemptState
_H = ShardState

EVALUATION: Mapping[EvaluationState, frozenset[EvaluationState]] = {
    _S.QUEUED: frozenset({_S.LAUNCHING, _S.RUNNING, _S.FAILED, _S.CANCELLED}),
    _S.LAUNCHING: frozenset({_S.RUNNING, _S.AGGREGATING, _S.FAILED, _S.CANCELLED}),
    _S.RUNNING: frozenset({_S.AGGREGATING, _S.FAILED, _S.CANCELLED}),
    _S.AGGREGATING: frozenset({_S.COMPLETED, _S.ON_HOLD, _S.FAILED, _S.CANCELLED}),
    _S.ON_HOLD: frozenset({_S.QUEUED, _S.AGGREGATING, _S.FAILED, _S.CANCELLED}),
    _S.COMPLETED: frozenset(),
    _S.FAILED: frozenset(),
    _S.CANCELLED: frozenset(),
}

ATTEMPT: Mapping[AttemptState, frozenset[AttemptState]] = {
    _A.LIVE: frozenset({_A.COMPLETED, _A.LOST, _A.FAILED, _A.CANCELLED}),
    _A.COMPLETED: frozenset(),
    _A.LOST: frozenset(),
    _A.FAILED: frozenset(),
    _A.CANCELLED: frozenset(),
}

SHARD: Mapping[ShardState, frozenset[ShardState]] = {
    _H.PENDING: frozenset({_H.LEASED, _H.DONE}),
    _H.LEASED: frozenset({_H.PENDING, _H.DONE}),
    _H.DONE: frozenset(),
}

_TABLES: Mapping[type, Mapping[Any, frozenset[Any]]] = {_S: EVALUATION, _A: ATTEMPT, _H: SHARD}
FINAL = frozenset(state for state, following in EVALUATION.items() if not following)
LAUNCHED = frozenset({_S.LAUNCHING, _S.RUNNING})
"""States in which a worker was requested."""
LEASABLE = LAUNCHED | {_S.QUEUED}
"""States in which workers may lease tasks: a running worker need not wait for a launch."""
CANCELLABLE = frozenset(state for state, following in EVALUATION.items() if _S.CANCELLED in following)

DEADLINES: Mapping[EvaluationState, timedelta | None] = {
    _S.QUEUED: timedelta(hours=24),
    _S.LAUNCHING: None,
    _S.RUNNING: timedelta(hours=6),
    _S.AGGREGATING: timedelta(minutes=15),
    _S.ON_HOLD: timedelta(days=30),
    _S.COMPLETED: None,
    _S.FAILED: None,
    _S.CANCELLED: None,
}
"""Maximum duration of a state; every result restarts that of `running`. `decisions.decide` handles expired states.

`launching` has no limit, because a cluster may be full or wait for quota for days. Its reason says what it waits for;
only its owner, or a launcher that gives up, ends it."""


class IllegalTransitionError(Exception):
    """A transition that is not in the table: a bug in the caller."""


def check_transition(
    *, source: EvaluationState | ShardState | AttemptState, target: EvaluationState | ShardState | AttemptState
) -> None:
    """Check a transition against the table of its states.

    Raises:
        IllegalTransitionError: it is not in the table.
    """
    following = _TABLES[type(source)][source]
    if target not in following:
        allowed = ", ".join(sorted(following)) or "none, it is final"
        raise IllegalTransitionError(f"{type(source).__name__} cannot go from {source} to {target}; allowed: {allowed}")


NEVER_RAN = Q(outcome=Outcome.CANCELLED) | Q(outcome=Outcome.NOT_RUN, reason__in=LEFT_OUT)
"""Results of tasks that were left out. They do not count as ended."""
OPEN_FAULTS = Q(outcome=Outcome.INFRA_FAULT) | Q(outcome=Outcome.NOT_RUN, reason__in=UNASKED)
"""Results without a score that the owner resumes or accepts: infrastructure faults, and tasks that were not sent to the
planner because of them."""

_OUTCOMES = {
    EvaluationState.FAILED: (Outcome.NOT_RUN, Reason.EVALUATION_FAILED),
    EvaluationState.CANCELLED: (Outcome.CANCELLED, ""),
}


def is_open_fault(*, outcome: str, reason: str) -> bool:
    """Whether a result with this outcome and reason is one of `OPEN_FAULTS`."""
    return outcome == Outcome.INFRA_FAULT or (outcome == Outcome.NOT_RUN and reason in UNASKED)


def close_open_tasks(*, evaluation_id: UUID, target: EvaluationState, why: str) -> None:
    """Insert results for tasks without one, in the transaction in which the evaluation enters `target`.

    Before: any state; for states other than `failed` and `cancelled` nothing happens.
    After: each task of the evaluation has a result. `why` is the reason of new results of a failed evaluation.
    """
    if target not in _OUTCOMES:
        return
    outcome, reason = _OUTCOMES[target]
    evaluation = Evaluation.runs.only("suite_id", "verifies_id", "member_of_id").get(pk=evaluation_id)
    tasks = Task.objects.filter(suite=evaluation.suite_id).exclude(results__evaluation=evaluation_id)
    if not evaluation.is_submitted:
        shards = Shard.objects.filter(evaluation=evaluation_id).values_list("task_keys", flat=True)
        tasks = tasks.filter(key__in={key for keys in shards for key in keys})
    text = why if target == EvaluationState.FAILED else ""
    TaskResult.objects.bulk_create(
        [
            TaskResult(evaluation=evaluation, task=task, outcome=outcome, reason=reason, reason_text=text, causes=[])
            for task in tasks.order_by("position")
        ],
        ignore_conflicts=True,
    )


CHANNEL = "planarena_evaluations"
_RESULTS_PER_EVENT = 40
"""PostgreSQL refuses payloads of 8,000 bytes; a result takes up to 125."""
LATEST = 5
"""Number of recently ended tasks on the page of a running evaluation."""
_LONGEST_TEXT = 1600
"""Maximum size of the reason as JSON in bytes; a character of a worker's or planner's message takes up to twelve."""


_STANDS = """
SELECT state, reason_text, tasks_total, (
    SELECT json_build_object('outcomes', coalesce(json_object_agg(outcome, count), '{}'), 'left', sum(left_out))::text
    FROM (SELECT outcome, count(*),
                 count(*) FILTER (WHERE outcome = 'cancelled' OR outcome = 'not_run' AND reason = ANY(%s)) AS left_out
          FROM evaluations_taskresult WHERE evaluation_id = e.id GROUP BY outcome) counted
) FROM evaluations_evaluation e WHERE id = %s
"""


class NewResult(TypedDict):
    """One result in an event."""

    task: str
    outcome: str
    score: float | None


def describe(evaluation_id: UUID) -> dict[str, Any]:
    """The state of an evaluation without single results."""
    # A single raw query, because every change runs it.
    with connection.cursor() as cursor:
        cursor.execute(_STANDS, [sorted(LEFT_OUT), evaluation_id])
        row = cursor.fetchone()
    if row is None:
        raise Evaluation.DoesNotExist
    state, reason_text, total, counted = row
    counts = json.loads(counted)
    outcomes: dict[str, int] = dict(sorted(counts["outcomes"].items()))
    return {
        "state": state,
        "state_label": str(EvaluationState(state).label),
        "reason_text": _truncated(reason_text),
        # Without tasks that were left out (`NEVER_RAN`).
        "done": sum(outcomes.values()) - (counts["left"] or 0),
        "total": total,
        "outcomes": outcomes,
    }


def _truncated(text: str) -> str:
    """Truncate a text to the room in an event."""
    text = text[:400]
    while len(json.dumps(text)) > _LONGEST_TEXT:
        text = text[: len(text) * 3 // 4]
    return text


def snapshot(evaluation_id: UUID) -> dict[str, Any]:
    """The state of an evaluation with all results so far, in order of arrival: the first event of a listener."""
    results = TaskResult.objects.filter(evaluation=evaluation_id).order_by("updated", "task__position")
    return {
        **describe(evaluation_id),
        "results": [
            NewResult(task=task, outcome=outcome, score=score)
            for task, outcome, score in results.values_list("task__key", "outcome", "score")
        ],
    }


def announce(*, evaluation_id: UUID, results: Sequence[NewResult] = ()) -> None:
    """Notify all listeners of the evaluation's state when the transaction commits."""
    state = describe(evaluation_id)
    for start in range(0, max(len(results), 1), _RESULTS_PER_EVENT):
        _notify(evaluation_id, event={**state, "results": list(results[start : start + _RESULTS_PER_EVENT])})


class Notification(NamedTuple):
    """An SQL expression that notifies all listeners, for use within a statement of the transaction."""

    sql: str
    parameters: dict[str, Any]


_NOTIFY = """
(SELECT pg_notify(%(channel)s, jsonb_build_object('evaluation', %(evaluation)s::text, 'event', %(event)s::jsonb
        || jsonb_build_object('outcomes', coalesce(jsonb_object_agg(outcome, of_outcome), '{}'),
                              'done', coalesce(sum(of_outcome - left_out), 0)))::text)
 FROM (SELECT outcome, count(*) AS of_outcome,
              count(*) FILTER (WHERE outcome = 'cancelled' OR outcome = 'not_run' AND reason = ANY(%(never)s))
              AS left_out
       FROM evaluations_taskresult WHERE evaluation_id = %(evaluation)s GROUP BY outcome) counted)
"""


def fits_one_event(results: Sequence[NewResult]) -> bool:
    """Whether the results fit into one `notification`."""
    return len(results) <= _RESULTS_PER_EVENT


def notification(*, evaluation: Evaluation, results: Sequence[NewResult]) -> Notification:
    """`announce` as part of another statement, for an evaluation that was locked and then read. It counts the results
    inserted by earlier statements."""
    event = {
        "state": evaluation.state,
        "state_label": str(EvaluationState(evaluation.state).label),
        "reason_text": _truncated(evaluation.reason_text),
        "total": evaluation.tasks_total,
        "results": list(results),
    }
    parameters = {
        "channel": CHANNEL,
        "evaluation": evaluation.pk,
        "event": json.dumps(event),
        "never": sorted(LEFT_OUT),
    }
    return Notification(_NOTIFY, parameters)


def request_resync(evaluation_id: UUID) -> None:
    """Make every listener request the whole state again, which checks its access, after a change of visibility."""
    _notify(evaluation_id, event={})


def _notify(evaluation_id: UUID, *, event: dict[str, Any]) -> None:
    payload = json.dumps({"evaluation": str(evaluation_id), "event": event}, separators=(",", ":"))
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, payload])


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """An evaluation has changed its state."""

    evaluation_id: UUID
    state: EvaluationState
    reason: EvaluationReason


entered: Hook[Entered] = Hook()
"""Called in the transaction that changes an evaluation's state."""


def deadline_of(state: EvaluationState, *, now: datetime | Combinable) -> datetime | Combinable | None:
    """When the reconciler must act on an evaluation that enters `state` now, by the database's clock."""
    duration: timedelta | None = DEADLINES[state]
    return None if duration is None else now + duration


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
    """Change an evaluation's state to `target` if its state and `attempt` are still the ones that were read.

    Before: nothing is assumed; another process may have been faster.
    After: either the row has the new state, reason and deadline, each task of a failed or cancelled evaluation has a
    result, and listeners and the owner are notified at commit (True), or nothing changed (False).

    Args:
        raise_fence: increment `attempt`, so that steps decided before have no effect.
        only_overdue: change nothing unless the deadline has passed. A result may have extended it since the decision.

    Raises:
        IllegalTransitionError: the table does not allow it.
    """
    check_transition(source=EvaluationState(evaluation.state), target=target)
    now, text = Now(), sentence(reason, **(facts or {}))
    if raise_fence:
        fields["attempt"] = evaluation.attempt + 1
    if target in FINAL:
        fields.setdefault("finished", now)
    with transaction.atomic(savepoint=False):
        unchanged = Evaluation.runs.filter(pk=evaluation.pk, state=evaluation.state, attempt=evaluation.attempt)
        if only_overdue:
            unchanged = unchanged.filter(state_deadline__lte=now)
        changed = unchanged.update(
            state=target,
            state_since=now,
            state_deadline=deadline_of(target, now=now),
            reason=reason,
            reason_text=text,
            **fields,
        )
        if changed:
            # Before the announcement, so that it has the final counts.
            close_open_tasks(evaluation_id=evaluation.pk, target=target, why=text)
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
    """Change the reason of an evaluation in `source`, with the facts of its sentence. False if nothing changed."""
    text = sentence(reason, **facts)
    with transaction.atomic(savepoint=False):
        changed = (
            Evaluation.runs.filter(pk=evaluation_id, state=source)
            .exclude(reason=reason, reason_text=text)
            .update(reason=reason, reason_text=text)
        )
        if changed:
            announce(evaluation_id=evaluation_id)
    return bool(changed)


def note_progress(evaluation_id: UUID) -> None:
    """Restart the deadline of a running evaluation, because a task has ended."""
    Evaluation.runs.filter(pk=evaluation_id, state=EvaluationState.RUNNING).update(
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
    """Change a shard's state from `source` to `target` if it still is in `source` after this number of `tries`.

    Before: nothing is assumed.
    After: the row has the new state, `fields`, and `tries_after` unless it is None (True), or nothing changed (False).

    Raises:
        IllegalTransitionError: the table does not allow it.
    """
    check_transition(source=source, target=target)
    if tries_after is not None:
        fields["tries"] = tries_after
    return bool(Shard.objects.filter(pk=shard_id, state=source, tries=tries).update(state=target, **fields))


def end_attempt(*, attempt_id: UUID, target: AttemptState, reason: str = "", loss: Loss | None = None) -> bool:
    """End a live attempt. False if it had already ended.

    Raises:
        IllegalTransitionError: `target` is not an end.
    """
    attempts = Attempt.objects.filter(pk=attempt_id)
    return bool(_end_attempts(attempts, target=target, reason=reason, loss=loss or ""))


def end_attempts_of(*, evaluation_id: UUID, target: AttemptState) -> int:
    """End every live attempt of an evaluation, and return their number.

    Raises:
        IllegalTransitionError: `target` is not an end.
    """
    return _end_attempts(Attempt.objects.filter(shard__evaluation=evaluation_id), target=target, reason="")


def _end_attempts(attempts: QuerySet[Attempt], *, target: AttemptState, reason: str, loss: str = "") -> int:
    check_transition(source=AttemptState.LIVE, target=target)
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
    """Insert a live attempt at a shard that is pending after this number of `tries`, and lease the shard.

    A single statement, so that the shard is leased if and only if the attempt exists. False if the shard has changed
    since it was read.

    Raises:
        IntegrityError: an attempt has this token.
    """
    check_transition(source=ShardState.PENDING, target=ShardState.LEASED)
    fields = Attempt._meta.concrete_fields
    values = [field.get_db_prep_save(getattr(attempt, field.attname), connection=connection) for field in fields]
    sql = _LEASE.format(
        columns=", ".join(f'"{field.column}"' for field in fields), values=", ".join(["%s"] * len(fields))
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [attempt.shard_id, tries, *values])
        is_leased = bool(cursor.rowcount)
    # Like Django after an insert, so that `save` updates the row.
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

    Before: evaluation, shard and attempt were locked in this order and then read.
    After: the same as `end_attempt`, `move_shard` and, with results, `note_progress` and `announce`, in one statement.

    Args:
        attempt: with its shard and evaluation.
        results: inserted by this transaction.
    """
    check_transition(source=AttemptState(attempt.state), target=AttemptState.COMPLETED)
    check_transition(source=ShardState(attempt.shard.state), target=ShardState.DONE)
    evaluation = attempt.shard.evaluation
    announced = results if fits_one_event(results) else ()
    notify = notification(evaluation=evaluation, results=announced)
    parameters: dict[str, Any] = {
        "attempt": attempt.pk,
        "shard": attempt.shard_id,
        "tries": attempt.shard.tries,
        "lasts": DEADLINES[EvaluationState.RUNNING],
        "evaluation": evaluation.pk,
        "is_progress": bool(results),
    }
    sql = _COMPLETE.format(notification=notify.sql if announced else "NULL")
    with connection.cursor() as cursor:
        cursor.execute(sql, {**parameters, **notify.parameters})
        changed, others_open, _ = cursor.fetchone()
    assert changed == len((attempt, attempt.shard)), "both are locked"
    if results and not announced:
        announce(evaluation_id=evaluation.pk, results=results)
    return bool(others_open)
