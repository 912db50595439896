"""The facts for `platform/health.py`: of the database in one statement, of the broker and of the disks.

The database stores the times of the last periodic tasks and backups, because other processes report them.
"""

import json
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.db import DatabaseError, connection
from kombu import Connection
from kombu.exceptions import OperationalError

from leaderboard.evaluations import states
from leaderboard.evaluations.models import Attempt, Evaluation, EvaluationState, Shard, ShardState
from leaderboard.messages.models import Fault, Incident, OutboxMessage
from leaderboard.operations.models import Moment
from leaderboard.platform.bounded_check import BoundedCheck
from leaderboard.platform.celery import SENT_HEADER, app
from leaderboard.platform.health import Facts, Work
from leaderboard.platform.probes import DATABASE, STORAGE
from leaderboard.queue.estimates import UNDER_WAY
from leaderboard.queue.models import OwnWorkerRun

_TIMEOUT_SECONDS = 2
"""Timeout of a connection to the broker."""
_DEADLINE_SECONDS = 4
"""Deadline of the whole probe."""
_UNKNOWN_QUEUE = "404"


class BrokerState(NamedTuple):
    """The state of the broker."""

    problem: str = ""
    """Why it does not respond; empty if it does."""
    messages: int | None = None
    """Number of messages that no process has received yet."""
    oldest: float | None = None
    """Age of the oldest of them in seconds; None if unknown."""


def _probe_broker() -> BrokerState:
    queue = app.conf.task_default_queue
    limits = {"socket_timeout": _TIMEOUT_SECONDS, "socket_connect_timeout": _TIMEOUT_SECONDS}
    options = {**settings.CELERY_BROKER_TRANSPORT_OPTIONS, **limits}
    with app.connection_for_read(transport_options=options, connect_timeout=_TIMEOUT_SECONDS) as broker:
        errors = (*broker.connection_errors, *broker.channel_errors)
        away: tuple[type[BaseException], ...] = (OSError, OperationalError, *errors)
        try:
            broker.ensure_connection(max_retries=1, timeout=_TIMEOUT_SECONDS)
            messages = _waiting(broker=broker, queue=queue)
            return BrokerState(messages=messages, oldest=_oldest(broker=broker, queue=queue))
        except away as error:
            # Without the message, which has the broker's address.
            return BrokerState(problem=type(error).__name__)


BROKER = BoundedCheck(
    _probe_broker,
    name="broker-probe",
    deadline=_DEADLINE_SECONDS,
    late=BrokerState(problem=f"no answer within {_DEADLINE_SECONDS} seconds"),
    keep=lambda: settings.KEEP_HEALTH_SECONDS,
)
"""What the broker says."""


def _waiting(*, broker: Connection, queue: str) -> int:
    channel: Any = broker.default_channel
    try:
        return int(channel.queue_declare(queue, passive=True).message_count)
    except Exception as error:
        # For Redis an empty list is none.
        if str(getattr(error, "reply_code", "")) == _UNKNOWN_QUEUE:
            return 0
        raise


def _oldest(*, broker: Connection, queue: str) -> float | None:
    """Seconds; 0 if no message waits, None if unknown."""
    transport = broker.transport.driver_type
    if transport == "filesystem":
        folder = Path(settings.CELERY_BROKER_TRANSPORT_OPTIONS["data_folder_in"])
        times = [modified for path in folder.glob(f"*.{queue}.msg") if (modified := _modified(path)) is not None]
        return max(0.0, time.time() - min(times)) if times else 0.0
    if transport == "redis":
        channel: Any = broker.default_channel
        return _age(channel.client.lindex(queue, -1))
    return None


def _modified(path: Path) -> float | None:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        # Received by a process.
        return None


def _age(message: bytes | None) -> float | None:
    if message is None:
        return 0.0
    sent = json.loads(message).get("headers", {}).get(SENT_HEADER)
    return max(0.0, time.time() - sent) if isinstance(sent, int | float) else None


BACKUP = "backup"
TASK = "task:"
"""Prefix of the names of periodic tasks."""
_NOTE_SECONDS = 5.0
"""Minimum interval between two notes of a task by the same process."""
_noted: dict[str, float] = {}


def note_task(task: str, clock: Callable[[], float] = time.monotonic) -> None:
    """Note that a scheduled task has succeeded; other tasks are ignored.

    Args:
        task: its full name.
        clock: monotonic clock in seconds.
    """
    now = clock()
    for name, entry in settings.CELERY_BEAT_SCHEDULE.items():
        if entry["task"] == task and now - _noted.get(name, float("-inf")) >= _NOTE_SECONDS:
            _note(TASK + name)
            _noted[name] = now


def note_backup(folder: Path) -> None:  # noqa: ARG001 - the event of a hook
    """Note a new whole backup."""
    _note(BACKUP)


def _note(name: str) -> None:
    table = Moment._meta.db_table
    sql = (
        f"INSERT INTO {table} (name, at) VALUES (%s, statement_timestamp()) "  # noqa: S608 - our own name
        "ON CONFLICT (name) DO UPDATE SET at = EXCLUDED.at"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [name])


_STARTED = time.monotonic()
_OF_SITE = f"NOT EXISTS (SELECT FROM {OwnWorkerRun._meta.db_table} own WHERE own.evaluation_id = shard.evaluation_id)"
"""Excludes self-hosted workers, which say nothing about the site."""
_WORK = f"""
WITH shards AS (
    SELECT count(DISTINCT evaluation_id) AS evaluations, count(*) AS open,
        count(*) FILTER (WHERE shard.state = %(leased)s) AS leased
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
    (SELECT evaluations FROM shards), (SELECT open FROM shards), (SELECT leased FROM shards),
    (SELECT statement_timestamp() - leased_at FROM {Attempt._meta.db_table} attempt
     JOIN {Shard._meta.db_table} shard ON shard.id = shard_id WHERE {_OF_SITE} ORDER BY leased_at DESC LIMIT 1),
    (SELECT coalesce(jsonb_agg(suite ORDER BY since, id), '[]') FROM {Incident._meta.db_table}
     WHERE over IS NULL AND fault = %(not_ready)s)
"""  # noqa: S608 - our own names


def site_facts() -> Facts:
    """The current facts, in one query. Probes have a deadline."""
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
    parameters: dict[str, Any] = {
        "leased": ShardState.LEASED.value,
        "done": ShardState.DONE.value,
        "under_way": [state.value for state in UNDER_WAY],
        # A state without a deadline is never late.
        "limited": [state.value for state in open_states if states.DEADLINES[state]],
        "not_ready": Fault.NOT_READY.value,
    }
    with connection.cursor() as cursor:
        cursor.execute(_WORK, parameters)
        ages, late_for, unsent_for, evaluations, shards, leased, since_lease, paused = cursor.fetchone()
    # Django returns JSON as text.
    ages, running = json.loads(ages), time.monotonic() - _STARTED
    return Work(
        tasks={
            name: timedelta(seconds=max(0.0, float(ages.get(TASK + name, running))))
            for name in settings.CELERY_BEAT_SCHEDULE
        },
        intervals={name: entry["schedule"] for name, entry in settings.CELERY_BEAT_SCHEDULE.items()},
        late_for=late_for,
        unsent_for=unsent_for,
        evaluations=evaluations,
        shards=shards,
        leased=leased,
        since_lease=since_lease,
        paused=tuple(json.loads(paused)),
    )
