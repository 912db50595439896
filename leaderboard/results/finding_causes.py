"""Causes of results from before causes were kept."""

import logging
from collections.abc import Iterator
from typing import NamedTuple

from evaluator.canonical_json import JsonValue
from evaluator.records import Outcome, Reason
from leaderboard.evaluations.models import TaskResult
from leaderboard.results.cause_counts import RAN
from leaderboard.results.causes import causes_of_fault, causes_of_record
from leaderboard.results.objects import read_record, server_store

BATCH = 200
_log = logging.getLogger(__name__)


class Batch(NamedTuple):
    """What became of some results."""

    found: int
    missed: int
    """Those whose record is lost, or whose causes no rule could find; they stay as they are."""


def find_causes(*, batch: int = BATCH, again: bool = False) -> Iterator[Batch]:
    """Find the causes of all results that have none, oldest first; each batch is saved before the next one is read.

    Args:
        batch: results that are read and saved at once.
        again: whether results that have causes get new ones.
    """
    wanted = TaskResult.objects.all() if again else TaskResult.objects.filter(causes=None)
    last = 0
    while rows := list(wanted.filter(pk__gt=last).order_by("pk").select_related("task__suite", "evaluation")[:batch]):
        last = rows[-1].pk
        for row in rows:
            row.causes = _causes_of(row)
        done = [row for row in rows if row.causes is not None]
        # Without `updated`, which says when the task ended.
        TaskResult.objects.bulk_update(done, ["causes"])
        yield Batch(found=len(done), missed=len(rows) - len(done))


def _causes_of(row: TaskResult) -> list[dict[str, JsonValue]] | None:
    if row.outcome not in RAN:
        return []
    if not row.record_digest:
        return causes_of_fault(task=row.task, outcome=Outcome(row.outcome), reason=Reason(row.reason))
    record = read_record(digest=row.record_digest, store=server_store(split=row.evaluation.split))
    if record is None:
        _log.warning("no causes found: the record of %s is not in the store", row)
        return None
    return causes_of_record(record)
