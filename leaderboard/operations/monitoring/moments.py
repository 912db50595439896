"""When the queue's tasks and backups were last done: in the database, since other processes do them than tell it."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from django.conf import settings
from django.db import connection
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from leaderboard.operations.models import Moment

BACKUP = "backup"
TASK = "task:"
"""Begins the names of periodic tasks."""
_AGAIN_SECONDS = 5.0
"""A process notes a task at most so often."""
_noted: dict[str, float] = {}


def note_task(task: str, clock: Callable[[], float] = time.monotonic) -> None:
    """Note that a task has been done; tasks that no schedule names are not noted.

    Args:
        task: its full name.
        clock: what tells the seconds between two notes.
    """
    now = clock()
    for name, entry in settings.CELERY_BEAT_SCHEDULE.items():
        if entry["task"] == task and now - _noted.get(name, float("-inf")) >= _AGAIN_SECONDS:
            _note(TASK + name)
            _noted[name] = now


def note_backup(folder: Path) -> None:  # noqa: ARG001 - the event of a hook
    """Note that a whole backup has been made."""
    _note(BACKUP)


def moment_figures() -> Iterator[Metric]:
    """Times of tasks and backups, in one query."""
    found = {moment.name: moment.at.timestamp() for moment in Moment.objects.all()}
    backup = GaugeMetricFamily(
        "planarena_backup_last_success_timestamp_seconds", "When the last whole backup was made; 0 if none was."
    )
    backup.add_metric([], found.get(BACKUP, 0.0))
    last = GaugeMetricFamily(
        "planarena_task_last_success_timestamp_seconds", "When a periodic task last ended well.", labels=["task"]
    )
    interval = GaugeMetricFamily("planarena_task_interval_seconds", "How often a task is due.", labels=["task"])
    for name, entry in settings.CELERY_BEAT_SCHEDULE.items():
        interval.add_metric([name], entry["schedule"].total_seconds())
        # One that has never run may not be due yet.
        if (at := found.get(TASK + name)) is not None:
            last.add_metric([name], at)
    yield from (backup, last, interval)


def _note(name: str) -> None:
    table = Moment._meta.db_table
    sql = (
        f"INSERT INTO {table} (name, at) VALUES (%s, statement_timestamp()) "  # noqa: S608 - our own name
        "ON CONFLICT (name) DO UPDATE SET at = EXCLUDED.at"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [name])
