"""Celery tasks of retention."""

import logging

from django.conf import settings

from leaderboard.operations.backups.garbage import RULES, collect_rows
from leaderboard.platform.celery import task

logger = logging.getLogger(__name__)


@task
def delete_old_rows() -> None:
    """Delete rows past their retention period. Only the operator's command, which reads all records, deletes objects.

    Before: nothing; the task may run concurrently with itself.
    After: none of these rows is left, unless `COLLECT_ROWS` is off, the default.
    """
    if not settings.COLLECT_ROWS:
        return
    for rule in RULES:
        if (garbage := collect_rows(rule=rule, dry_run=False)).count:
            logger.info("deleted %d %s (%d bytes)", garbage.count, rule.name, garbage.size)
