"""Causes of results that have none yet, or whose gold scores have changed."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import groupby
from typing import NamedTuple
from uuid import UUID

from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from evaluator.core.records import Outcome, Reason, ResultRecord
from evaluator.core.suites.hidden import HIDDEN
from leaderboard.catalog.hidden_data import NoSeedError, SeedElsewhereError, seed_of
from leaderboard.evaluations.causes import RAN
from leaderboard.evaluations.finding_causes import GOLD, beside, find_causes_of, record_of_fault
from leaderboard.evaluations.models import Evaluation, EvaluationState, TaskResult
from leaderboard.evaluations.results.objects import read_record, server_store
from leaderboard.evaluations.states import Entered
from leaderboard.platform.celery import send_on_commit

BATCH = 200
_log = logging.getLogger(__name__)


class Batch(NamedTuple):
    """Counts of some results."""

    found: int
    missed: int
    """Unchanged results: the record is lost, or no rule could find causes."""


def find_causes(*, batch: int = BATCH, again: bool = False) -> Iterator[Batch]:
    """Find the causes of all results with no or outdated causes; each batch is saved before the next one is read.

    Args:
        batch: number of results that are read and saved at once.
        again: whether to find the causes of all results again.
    """
    outdated: dict[UUID, datetime | None] = {}
    for evaluation in Evaluation.runs.filter(causes_outdated_since__isnull=False).select_related("suite"):
        with suppress(NoSeedError):
            # Skips evaluations whose hidden data this process cannot make.
            seed_of(evaluation)
            outdated[evaluation.pk] = evaluation.causes_outdated_since
    selected = Q() if again else Q(causes__isnull=True) | Q(evaluation__in=list(outdated))
    yield from _batches(TaskResult.objects.filter(selected, evaluation__perturbation=""), size=batch)
    for pk, since in outdated.items():
        # Unless more gold scores have arrived.
        Evaluation.runs.filter(pk=pk, causes_outdated_since=since).update(causes_outdated_since=None)


def find_causes_beside(evaluation: Evaluation) -> None:
    """Find the causes of all evaluations under the conditions of a completed evaluation of `gold` again. A process
    without the seeds of hidden data only marks them as outdated."""
    try:
        if evaluation.split == HIDDEN:
            seed_of(evaluation)
    except SeedElsewhereError:
        count = beside(evaluation).update(causes_outdated_since=Now())
        _log.info("causes of %d hidden evaluations are left to find_causes in the web process's environment", count)
        return
    for _ in _batches(TaskResult.objects.filter(evaluation__in=beside(evaluation)), size=BATCH):
        pass


def renew_causes(entered: Entered) -> None:
    """Send the message for `find_causes_beside` when `gold` has completed. If the message is lost, `find_causes` with
    `again` does the same."""
    if entered.state != EvaluationState.COMPLETED:
        return
    gold = Evaluation.objects.filter(pk=entered.evaluation_id, submission__planner__bundled_name=GOLD)
    if gold.exists():
        send_on_commit("leaderboard.causes.tasks.find_causes_beside", str(entered.evaluation_id))


def _batches(results: QuerySet[TaskResult], *, size: int) -> Iterator[Batch]:
    related = "task", "evaluation__suite", "evaluation__submission__planner"
    after = Q()
    # Ordered by evaluation, because each batch reads the gold scores of its evaluations once.
    ordered = results.order_by("evaluation", "pk").select_related(*related)
    while rows := list(ordered.filter(after)[:size]):
        last = rows[-1]
        after = Q(evaluation__gt=last.evaluation_id) | Q(evaluation=last.evaluation_id, pk__gt=last.pk)
        for _, group in groupby(rows, key=lambda row: row.evaluation_id):
            _set_causes(list(group))
        done = [row for row in rows if row.causes is not None]
        # Without `updated`, the time when the task ended.
        TaskResult.objects.bulk_update(done, ["causes"])
        yield Batch(found=len(done), missed=len(rows) - len(done))


def _set_causes(rows: Sequence[TaskResult]) -> None:
    """Set the causes of results of one evaluation."""
    records = []
    for row in rows:
        if row.outcome not in RAN:
            row.causes = []
        elif (record := _record(row)) is not None:
            records.append((row, record))
    findings = find_causes_of(evaluation=rows[0].evaluation, records=[record for _, record in records])
    for (row, _), causes in zip(records, findings, strict=True):
        row.causes = causes if causes is not None else row.causes


def _record(row: TaskResult) -> ResultRecord | None:
    if not row.record_digest:
        suite, outcome, reason = row.evaluation.suite.slug, Outcome(row.outcome), Reason(row.reason)
        return record_of_fault(task=row.task, suite=suite, outcome=outcome, reason=reason)
    record = read_record(digest=row.record_digest, store=server_store(split=row.evaluation.split))
    if record is None:
        _log.warning("no causes found: the record of %s is not in the store", row)
    return record
