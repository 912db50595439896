"""What the database refuses, whoever writes: each violation is tried in SQL."""

import pytest
from django.db import IntegrityError, connection, transaction

from evaluator.execution.engine.store import MemoryStore
from leaderboard.evaluations.models import EvaluationState
from leaderboard.queue.leasing import leases
from leaderboard.queue.workers.finishing import deliver
from leaderboard.submissions import services
from tests.leaderboard.factories import make_evaluation, make_lease, make_record

pytestmark = pytest.mark.django_db


def execute(sql: str, *values: object) -> None:
    """Run SQL as a transaction of its own, with what is checked at its commit."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, values)
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")


def refused(constraint: str, sql: str, *values: object) -> None:
    with pytest.raises(IntegrityError) as caught:
        execute(sql, *values)
    assert caught.value.__cause__.diag.constraint_name == constraint


@pytest.fixture
def lease(launcher) -> leases.Lease:
    return make_lease(make_evaluation(state=EvaluationState.LAUNCHING))


@pytest.mark.parametrize("final", ["completed", "failed", "cancelled"])
def test_an_evaluation_that_has_ended_stays_so(final):
    evaluation = make_evaluation()
    execute("UPDATE evaluations_evaluation SET state = %s, summary = '{}' WHERE id = %s", final, evaluation.pk)
    change = "UPDATE evaluations_evaluation SET state = 'queued' WHERE id = %s"
    refused("final_states_of_evaluations_stay", change, evaluation.pk)
    # What is not the state may still change: provenance arrives after the last result.
    execute("UPDATE evaluations_evaluation SET launch_handle = 'x', state = state WHERE id = %s", evaluation.pk)


NEW_ATTEMPT = (
    "INSERT INTO evaluations_attempt (id, shard_id, number, state, worker, token_hash, leased_at, expires_at, reason)"
    " SELECT gen_random_uuid(), id, 2, 'live', 'w', 'h2', now(), now(), '' FROM evaluations_shard"
)


@pytest.mark.parametrize("final", ["completed", "lost", "failed", "cancelled"])
def test_an_attempt_that_has_ended_stays_so(final, lease):
    with connection.cursor() as cursor:
        cursor.execute("UPDATE evaluations_attempt SET state = %s", [final])
        cursor.execute("UPDATE evaluations_shard SET state = 'pending'")
    refused("final_states_of_attempts_stay", "UPDATE evaluations_attempt SET state = 'live'")


@pytest.mark.parametrize("state", ["pending", "leased"])
def test_a_shard_that_is_done_stays_so(state, lease):
    services.cancel(lease.evaluation)
    execute("UPDATE evaluations_shard SET state = 'done'")
    refused("final_states_of_shards_stay", "UPDATE evaluations_shard SET state = %s", state)


def test_a_task_of_an_evaluation_has_one_result_at_most(lease):
    record = make_record(lease.tasks[0], suite=lease.evaluation.suite.slug)
    deliver(attempt_id=lease.attempt.pk, records=[record], store=MemoryStore())
    refused(
        "one_result_per_evaluation_and_task",
        "INSERT INTO evaluations_taskresult (evaluation_id, task_id, outcome, reason, reason_text, seconds,"
        " plan_summary, record_digest, accepted, updated, indicators) SELECT evaluation_id, task_id, outcome, reason,"
        " reason_text, seconds, plan_summary, record_digest, accepted, updated, indicators FROM evaluations_taskresult",
    )


def test_a_live_attempt_cannot_begin_on_a_shard_that_is_not_leased():
    make_evaluation()
    refused("a_live_attempt_holds_a_leased_shard", NEW_ATTEMPT)


@pytest.mark.parametrize(
    ("constraint", "change"),
    [
        ("one_live_attempt_per_shard", NEW_ATTEMPT),
        ("a_live_attempt_holds_a_leased_shard", "UPDATE evaluations_shard SET state = 'pending'"),
        ("a_live_attempt_holds_a_leased_shard", "UPDATE evaluations_shard SET state = 'done'"),
        ("a_leased_shard_has_a_live_attempt", "UPDATE evaluations_attempt SET state = 'lost'"),
        ("an_evaluation_has_a_known_state", "UPDATE evaluations_evaluation SET state = 'finished'"),
        ("an_evaluation_has_a_known_reason", "UPDATE evaluations_evaluation SET reason = 'because'"),
        ("a_shard_has_a_known_state", "UPDATE evaluations_shard SET state = 'lost'"),
        ("an_attempt_has_a_known_state", "UPDATE evaluations_attempt SET state = 'running'"),
        ("a_completed_evaluation_has_a_summary", "UPDATE evaluations_evaluation SET state = 'completed'"),
    ],
)
def test_beside_a_live_attempt_it_is_refused(constraint, change, lease):
    refused(constraint, change)
