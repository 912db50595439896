"""Scores of a few plans on a training split: a job that executes them once in a process with limits on memory and time.
Its seconds count towards a separate daily quota, whether or not it succeeds.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from django.conf import settings
from django.db import transaction

from evaluator.core.canonical_json import JsonValue
from evaluator.core.suggestions import as_sentence, no_such
from evaluator.rewards.function import Proposal
from evaluator.rewards.process import WALL_SECONDS
from evaluator.sandbox.limited_process import LimitExceededError
from leaderboard.catalog.library import RewardsRefusedError, library
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.visibility import sees_gold
from leaderboard.people.models import User
from leaderboard.platform.database import give_connection_back
from leaderboard.platform.problems import FieldErrors, ProblemError
from leaderboard.queue.jobs import JobKind, accept
from leaderboard.queue.models import Job, JobState
from leaderboard.quotas.services import charge_rewards, settle_rewards

MOST_PLANS = 64
"""Maximum number of plans per call."""
SAMPLES = 4
"""Number of data points on which each plan is executed."""
LONGEST_SECONDS = math.ceil(WALL_SECONDS)
"""Maximum duration of a call: charged when it is accepted, and settled when it ends."""


class RewardsTooCostlyError(ProblemError):
    """Executing the plans took too much time or memory; the seconds are charged."""

    status = 503
    code = "too_costly"

    def __init__(self) -> None:
        super().__init__(
            "Executing these plans took too long. What was executed is kept: send them again, or fewer at once."
        )


def accept_rewards(*, user: User, suite: str, proposals: Sequence[Proposal]) -> Job:
    """Accept plans to be scored on the suite's training split.

    Before: nothing.
    After: the job waits, and its maximum duration is charged to the user's quota of rewards.

    Raises:
        FieldErrors: the suite or a task cannot be rewarded.
        RewardQuotaExceededError: the user has too little quota left.
        TooManyJobsError: the user has as many unfinished calls as a user may have.
        NotReadyError: this installation cannot execute plans at present.
    """
    known = Suite.objects.filter(slug=suite, current=True).first()
    if known is None:
        current = Suite.objects.filter(current=True).order_by("slug").values_list("slug", flat=True)
        raise FieldErrors({"suite": [as_sentence(no_such("suite", suite, current))]})
    if not sees_gold(reader=user, suite=known):
        # Gold plans are the same on each split, and scores would reveal how close a plan is to them.
        why = f"This site evaluates {suite} on hidden data, whose gold plans are withheld: it gives no rewards for it."
        raise FieldErrors({"suite": [f"{why} `evaluator.rewards` computes them on your machine."]})
    try:
        split = library().check_rewards(
            suite=suite, profile=settings.PROFILE, tasks=list(dict.fromkeys(task for task, _ in proposals))
        )
    except RewardsRefusedError as error:
        raise FieldErrors({error.field: [str(error)]}) from None
    with transaction.atomic():
        day = charge_rewards(user=user, seconds=LONGEST_SECONDS)
        plans: Any = [[task, plan] for task, plan in proposals]
        request: Mapping[str, JsonValue] = {
            "suite": suite, "split": split, "plans": plans, "day": day.isoformat(),
        }  # fmt: skip
        return accept(kind=REWARDS, owner=user, request=dict(request))


def charged_seconds(job: Job) -> int:
    """The cost of an ended call: the seconds from its start to its end, even if it was stopped; 0 if it failed for
    reasons other than its plans."""
    is_own = job.state == JobState.DONE or (job.problem or {}).get("code") == RewardsTooCostlyError.code
    if not is_own or job.started is None or job.finished is None:
        return 0
    return min(LONGEST_SECONDS, max(1, math.ceil((job.finished - job.started).total_seconds())))


def _run(user: User, request: Any) -> JsonValue:  # noqa: ARG001 - of a job
    """Execute the plans.

    Raises:
        RewardsTooCostlyError: they exceed the limits.
    """
    give_connection_back()
    proposals = [(task, plan) for task, plan in request["plans"]]
    try:
        rewards: Any = library().rewards(
            suite=request["suite"], profile=settings.PROFILE, samples=SAMPLES, proposals=proposals
        )
    except LimitExceededError:
        raise RewardsTooCostlyError from None
    return {"suite": request["suite"], "split": request["split"], "samples": SAMPLES, "rewards": rewards}


def _settle(job: Job, request: Any) -> None:
    settle_rewards(
        user=job.owner, day=date.fromisoformat(request["day"]), charged=LONGEST_SECONDS, used=charged_seconds(job)
    )


REWARDS = JobKind(
    name="rewards",
    noun="calls for rewards",
    run=_run,
    seconds=WALL_SECONDS,
    at_once=1,
    share=1,
    unfinished=4,
    ended=_settle,
)
