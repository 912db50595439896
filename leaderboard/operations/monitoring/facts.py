"""The facts that `platform/health.py` decides by: of the database in one statement, of the broker and of the disks."""

import json
import time
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection

from leaderboard.evaluations import states
from leaderboard.evaluations.models import Attempt, Evaluation, EvaluationState, Shard, ShardState
from leaderboard.messages.models import Fault, Incident, OutboxMessage
from leaderboard.operations.models import Moment
from leaderboard.operations.monitoring.messages import BROKER
from leaderboard.operations.monitoring.moments import TASK
from leaderboard.platform.health import Facts, Work
from leaderboard.platform.probes import DATABASE, STORAGE
from leaderboard.queue.estimates import UNDER_WAY
from leaderboard.queue.models import OwnWorkerRun

_STARTED = time.monotonic()
_OF_SITE = f"NOT EXISTS (SELECT FROM {OwnWorkerRun._meta.db_table} own WHERE own.evaluation_id = shard.evaluation_id)"
"""What runs on researchers' own workers says nothing of the site's."""
_WORK = f"""
WITH shards AS (
    SELECT count(*) AS open, count(*) FILTER (WHERE shard.state = %(leased)s) AS leased
    FROM {Shard._meta.db_table} shard JOIN {Evaluation._meta.db_table} evaluation ON evaluation.id = evaluation_id
    WHERE evaluation.state = ANY(%(under_way)s) AND shard.state <> %(done)s AND {_OF_SITE}
)
SELECT
    (SELECT coalesce(jsonb_object_agg(name, extract(epoch FROM statement_timestamp() - at)), '{{}}')
     FROM {Moment._meta.db_table}),
    (SELECT statement_timestamp() - min(state_deadline) FROM {Evaluation._meta.db_table}
     WHERE state = ANY(%(limited)s)),
    (SELECT statement_timestamp() - min(available_at) FROM {OutboxMessage._meta.db_table}
     WHERE sent_at IS NULL AND given_up_at IS NULL),
    (SELECT open FROM shards), (SELECT leased FROM shards),
    (SELECT statement_timestamp() - leased_at FROM {Attempt._meta.db_table} attempt
     JOIN {Shard._meta.db_table} shard ON shard.id = shard_id WHERE {_OF_SITE} ORDER BY leased_at DESC LIMIT 1),
    (SELECT coalesce(jsonb_agg(suite ORDER BY since, id), '[]') FROM {Incident._meta.db_table}
     WHERE over IS NULL AND fault = %(not_ready)s)
"""  # noqa: S608 - our own names


def site_facts() -> Facts:
    """What is known of the site now. Takes one query, and at most the seconds of the probes where something does not
    answer."""
    broker, storage, problem = BROKER.result(), STORAGE.result(), DATABASE.result()
    work = None
    if not problem:
        try:
            work = _work()
        except DatabaseError as error:
            problem = type(error).__name__
    return Facts(
        database_problem=problem,
        full_disks=storage.full_disks,
        store_problem=storage.problem,
        broker_problem=broker.problem,
        waiting_messages=broker.messages or 0,
        oldest_message=None if broker.oldest is None else timedelta(seconds=broker.oldest),
        work=work,
    )


def _work() -> Work:
    open_states = [state for state in EvaluationState if state not in states.FINAL]
    given: dict[str, Any] = {
        "leased": ShardState.LEASED.value,
        "done": ShardState.DONE.value,
        "under_way": [state.value for state in UNDER_WAY],
        # A state without a deadline is never late.
        "limited": [state.value for state in open_states if states.DEADLINES[state]],
        "not_ready": Fault.NOT_READY.value,
    }
    with connection.cursor() as cursor:
        cursor.execute(_WORK, given)
        ages, late_for, unsent_for, shards, leased, since_lease, paused = cursor.fetchone()
    # Django leaves JSON as text.
    ages, running = json.loads(ages), time.monotonic() - _STARTED
    return Work(
        tasks={
            name: timedelta(seconds=max(0.0, float(ages.get(TASK + name, running))))
            for name in settings.CELERY_BEAT_SCHEDULE
        },
        intervals={name: entry["schedule"] for name, entry in settings.CELERY_BEAT_SCHEDULE.items()},
        late_for=late_for,
        unsent_for=unsent_for,
        shards=shards,
        leased=leased,
        since_lease=since_lease,
        paused=tuple(json.loads(paused)),
    )
