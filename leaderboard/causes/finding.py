"""Causes of results that have none yet, or whose gold scores were measured later."""

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
from leaderboard.evaluations.causes import GOLD, RAN, beside, find_causes_of, record_of_fault
from leaderboard.evaluations.models import Evaluation, EvaluationState, TaskResult
from leaderboard.evaluations.results.objects import read_record, server_store
from leaderboard.evaluations.states import Entered
from leaderboard.platform.celery import send_on_commit

BATCH = 200
_log = logging.getLogger(__name__)


class Batch(NamedTuple):
    """What became of some results."""

    found: int
    missed: int
    """Those whose record is lost, or whose causes no rule could find; they stay as they are."""


def find_causes(*, batch: int = BATCH, again: bool = False) -> Iterator[Batch]:
    """Find the causes of all results that have none or outdated ones; each batch is saved before the next one is read.

    Args:
        batch: results that are read and saved at once.
        again: whether results that have causes get new ones.
    """
    outdated = _outdated()
    wanted = Q() if again else Q(causes__isnull=True) | Q(evaluation__in=list(outdated))
    yield from _found(TaskResult.objects.filter(wanted, evaluation__perturbation=""), batch=batch)
    for pk, since in outdated.items():
        # Gold scores that arrived meanwhile keep it outdated.
        Evaluation.runs.filter(pk=pk, causes_outdated_since=since).update(causes_outdated_since=None)


def _outdated() -> dict[UUID, datetime | None]:
    """Since when the causes of evaluations are outdated, of those that this process can find causes of."""
    found = {}
    for evaluation in Evaluation.runs.filter(causes_outdated_since__isnull=False).select_related("suite"):
        with suppress(NoSeedError):
            seed_of(evaluation)
            found[evaluation.pk] = evaluation.causes_outdated_since
    return found


def find_causes_beside(evaluation: Evaluation) -> None:
    """Find the causes of all evaluations with the conditions of an evaluation of `gold` again, whose scores are known
    now. A process without the seeds of hidden data only notes that they are outdated."""
    try:
        if evaluation.split == HIDDEN:
            seed_of(evaluation)
    except SeedElsewhereError:
        count = beside(evaluation).update(causes_outdated_since=Now())
        _log.info("causes of %d hidden evaluations are left to find_causes in the web process's environment", count)
        return
    for _ in _found(TaskResult.objects.filter(evaluation__in=beside(evaluation)), batch=BATCH):
        pass


def renew_causes(entered: Entered) -> None:
    """Where `gold` has completed, send the message for `find_causes_beside`. A lost message costs what `find_causes`
    with `again` makes up for."""
    if entered.state != EvaluationState.COMPLETED:
        return
    gold = Evaluation.objects.filter(pk=entered.evaluation_id, submission__planner__bundled_name=GOLD)
    if gold.exists():
        send_on_commit("leaderboard.causes.tasks.find_causes_beside", str(entered.evaluation_id))


def _found(wanted: QuerySet[TaskResult], *, batch: int) -> Iterator[Batch]:
    related = "task", "evaluation__suite", "evaluation__submission__planner"
    after = Q()
    # By evaluation, whose gold scores are read once for each batch.
    ordered = wanted.order_by("evaluation", "pk").select_related(*related)
    while rows := list(ordered.filter(after)[:batch]):
        last = rows[-1]
        after = Q(evaluation__gt=last.evaluation_id) | Q(evaluation=last.evaluation_id, pk__gt=last.pk)
        for _, group in groupby(rows, key=lambda row: row.evaluation_id):
            _set_causes(list(group))
        done = [row for row in rows if row.causes is not None]
        # Without `updated`, which says when the task ended.
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
    found = find_causes_of(evaluation=rows[0].evaluation, records=[record for _, record in records])
    for (row, _), causes in zip(records, found, strict=True):
        row.causes = causes if causes is not None else row.causes


def _record(row: TaskResult) -> ResultRecord | None:
    if not row.record_digest:
        suite, outcome, reason = row.evaluation.suite.slug, Outcome(row.outcome), Reason(row.reason)
        return record_of_fault(task=row.task, suite=suite, outcome=outcome, reason=reason)
    record = read_record(digest=row.record_digest, store=server_store(split=row.evaluation.split))
    if record is None:
        _log.warning("no causes found: the record of %s is not in the store", row)
    return record
