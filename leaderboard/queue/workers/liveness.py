"""Whether evaluations have workers, and attempts theirs."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from gpu_jobs.launchers.base import Launcher, Liveness
from leaderboard.evaluations.models import Attempt, Evaluation
from leaderboard.evaluations.reasons import EvaluationReason
from leaderboard.queue.agents.presence import waiting_for_agent_among
from leaderboard.queue.workers.own import own_among

_CLOCKS_DIFFER = timedelta(seconds=20)
"""Between a machine of the cluster and PostgreSQL, at most."""
_LATELY = timedelta(minutes=10)
"""An evaluation of which a worker held a shard so recently is worked on: a slow planner has time slices."""


def lacks_worker(evaluation: Evaluation) -> bool:
    """Whether an evaluation without a live attempt has done nothing for minutes but wait for a worker of the site. Only
    asked where its time is over."""
    now = evaluation.now  # type: ignore[attr-defined]  # annotated by `_evaluations`
    if evaluation.state_deadline is None or evaluation.state_deadline > now:
        return False
    lately = Attempt.objects.filter(shard__evaluation=evaluation, ended_at__gte=now - _LATELY)
    return not awaited_of([evaluation.pk]) and not lately.exists()


def awaited_of(evaluation_ids: Sequence[UUID]) -> Mapping[UUID, EvaluationReason]:
    """Those of these evaluations for which no worker of the site is to be started, and what they wait for instead. Two
    queries, however many they are."""
    if not evaluation_ids:
        return {}
    agents = dict.fromkeys(waiting_for_agent_among(evaluation_ids), EvaluationReason.WAITING_FOR_AGENT)
    return agents | dict.fromkeys(own_among(evaluation_ids), EvaluationReason.WAITING_FOR_OWN_WORKER)


def worker_runs(evaluation: Evaluation, *, launching: Launcher) -> bool:
    """Whether the launcher knows of a living worker. After a failed launch it is asked again, which corrects what the
    owner reads: workers are shared, and one may have started for another evaluation."""
    if not evaluation.launch_handle or evaluation.reason == EvaluationReason.LAUNCH_FAILED:
        return False
    return launching.alive(handle=evaluation.launch_handle).alive is True


def has_lost(liveness: Liveness, *, leased_at: datetime) -> bool:
    """Whether a worker has lost what it leased at this time: it is gone, or was started again since. Pure."""
    if liveness.alive is False:
        return True
    return liveness.started_at is not None and leased_at + _CLOCKS_DIFFER < liveness.started_at
