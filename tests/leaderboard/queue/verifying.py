"""Evaluations on own workers and their verifications, through the services and without HTTP."""

from collections.abc import Callable
from typing import Any

from evaluator.core.records import ResultRecord
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.results.objects import server_store
from leaderboard.people.models import User
from leaderboard.queue.leasing import leases
from leaderboard.queue.reconcile import sweep
from leaderboard.queue.workers.finishing import deliver
from leaderboard.submissions.services import SubmissionData, submit_for_own_worker, validate
from tests.leaderboard.factories import make_record, make_suite, make_user, planner_data

Answer = Callable[[str], ResultRecord]
"""The record of a task."""


def honest(suite: Suite, **changes: Any) -> Answer:
    """The same right plan for every task, with a score of 0.5."""
    return lambda task: make_record(task, suite=suite.slug).model_copy(update=changes)


def make_own(*, user: User | None = None, suite: Suite | None = None, **planner: Any) -> Evaluation:
    """An evaluation that waits for its owner's own worker."""
    data = SubmissionData(planner=planner_data(**planner), suites=[(suite or make_suite()).slug])
    valid = validate(user=user or make_user(), data=data)
    evaluation = submit_for_own_worker(valid).evaluations.get(verifies=None)
    sweep()
    return evaluation


def work_off(evaluation: Evaluation, *, answer: Answer | None = None) -> None:
    """Deliver a result for every task that may be leased, as a worker would."""
    answer = answer or honest(evaluation.suite)
    while lease := leases.lease(worker="w", evaluation_id=evaluation.pk):
        records = [answer(task) for task in lease.tasks]
        deliver(attempt_id=lease.attempt.pk, records=records, store=server_store(split="public"))
        leases.complete(lease.attempt.pk)


def run(evaluation: Evaluation, *, answer: Answer | None = None) -> Evaluation:
    """Work it off, to its end."""
    sweep()
    work_off(evaluation, answer=answer)
    # The second settles a verification that the first has completed or given up.
    sweep()
    sweep()
    evaluation.refresh_from_db()
    return evaluation


def completed_own(*, answer: Answer | None = None, **options: Any) -> Evaluation:
    """An evaluation whose results its owner's worker has sent: its verification is queued."""
    return run(make_own(**options), answer=answer)


def rerun_of(evaluation: Evaluation) -> Evaluation:
    """The newest further evaluation that verifies this one."""
    return evaluation.verifications.order_by("-created").first()
