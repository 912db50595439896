"""Queueing evaluations."""

from collections.abc import Sequence
from typing import Any

from leaderboard.catalog.hidden_data import check_open, facts_of, in_asking_order
from leaderboard.catalog.library import RunConditions, tasks_per_shard
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation, EvaluationReason, EvaluationState, Submission, sentence
from leaderboard.evaluations.states import deadline_of
from leaderboard.platform.database import database_now
from leaderboard.platform.tracing.evaluations import keep_trace
from leaderboard.queue import canary
from leaderboard.queue.shards import add_shards
from leaderboard.queue.stopping import enqueue_reconcile


def queue_tasks(
    *, submission: Submission, suite: Suite, conditions: RunConditions, keys: Sequence[str], **fields: Any
) -> Evaluation:
    """Queue an evaluation of these tasks, within the current transaction.

    After: it is `queued` with its shards; a reconcile is requested after the commit.

    Args:
        submission: what is evaluated.
        suite: on what.
        conditions: under which.
        keys: tasks that workers run, in order; hidden ones run in the order of their seed.
        fields: further fields of the evaluation.

    Raises:
        DataRefusedError: the hidden data have been published; the transaction must be rolled back.
    """
    now = database_now()
    keys = in_asking_order(keys, suite=suite, of=conditions)
    shards, leasable = canary.split(planner=submission.planner, keys=keys, size=tasks_per_shard(suite))
    evaluation = Evaluation.runs.create(
        submission=submission,
        suite=suite,
        **conditions._asdict(),
        state_since=now,
        state_deadline=deadline_of(EvaluationState.QUEUED, now=now),
        reason=EvaluationReason.WAITING,
        reason_text=sentence(EvaluationReason.WAITING),
        leasable_shards=leasable,
        provenance={
            "suite_digest": suite.digest,
            "profile_digest": conditions.profile_digest,
            "data_digest": conditions.data_digest,
            **facts_of(conditions, suite=suite),
            "workers": [],
        },
        **fields,
    )
    if evaluation.is_submitted:
        check_open(evaluation)
    add_shards(evaluation=evaluation, shards=shards)
    keep_trace(evaluation.pk)
    enqueue_reconcile(evaluation.pk)
    return evaluation
