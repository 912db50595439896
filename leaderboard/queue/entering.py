"""Queueing evaluations."""

from collections.abc import Sequence
from typing import Any

from evaluator.core.suites.hidden import asking_order
from leaderboard.catalog.library import RunConditions, tasks_per_shard
from leaderboard.catalog.models import Season, Suite
from leaderboard.catalog.seasons import check_open, checked_seed, commitment_of
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
    """Queue an evaluation of these tasks, within the present transaction.

    Raises SeasonRefusedError if their season was closed meanwhile; the transaction must be rolled back.

    After: it is `queued` with its shards; a reconcile is requested after the commit.

    Args:
        submission: what is evaluated.
        suite: on what.
        conditions: under which.
        keys: of the tasks that workers run, in order; in a season they run in the order of its seed.
        fields: what else is known of it.
    """
    now = database_now()
    keys = in_asking_order(keys, suite=suite, season=conditions.season)
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
            **_season_recorded(suite=suite, conditions=conditions),
            "workers": [],
        },
        **fields,
    )
    if conditions.season is not None and evaluation.is_submitted:
        # Read again, now that the new row keeps the season from being closed.
        check_open(Season.objects.get(pk=conditions.season.pk))
    add_shards(evaluation=evaluation, shards=shards)
    keep_trace(evaluation.pk)
    enqueue_reconcile(evaluation.pk)
    return evaluation


def in_asking_order(keys: Sequence[str], *, suite: Suite, season: Season | None) -> Sequence[str]:
    """The keys in the order in which planners are asked, which in a season says nothing about the tasks. It decides
    which tasks share a shard, too, so that neither does the time of a request.

    Raises:
        NoSeedError: the season's seed cannot be given.
    """
    if season is None:
        return keys
    return asking_order(keys, suite=suite.slug, seed=checked_seed(season=season.pk, suite=suite.slug))


def _season_recorded(*, suite: Suite, conditions: RunConditions) -> dict[str, str]:
    if conditions.season is None:
        return {}
    season = conditions.season.name
    return {"season": season, "commitment": commitment_of(season=season, suite=suite.slug)}
