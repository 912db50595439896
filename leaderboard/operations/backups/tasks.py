"""Celery tasks of retention."""

import logging

from django.conf import settings

from leaderboard.operations.backups.garbage import RULES, collect_rows
from leaderboard.platform.celery import task

logger = logging.getLogger(__name__)


@task
def delete_old_rows() -> None:
    """Delete rows past their retention. Objects are deleted by the operator's command only, which reads all records.

    Before: nothing; it may run twice at once.
    After: none of these rows is left, unless `COLLECT_ROWS` is off, which it is by default.
    """
    if not settings.COLLECT_ROWS:
        return
    for rule in RULES:
        if (found := collect_rows(rule=rule, dry_run=False)).count:
            logger.info("deleted %d %s (%d bytes)", found.count, rule.name, found.size)
