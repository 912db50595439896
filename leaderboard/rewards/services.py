"""Scoring a few plans on a training split: executed once, at once, and nothing but the quota is kept.

Plans are executed in a process of their own with limits on memory and time. One runs at a time for each process of the
site, a few more wait, and others are refused.
"""

from collections.abc import Mapping, Sequence

from django.conf import settings
from django.db import connection

from evaluator.limited_process import LimitExceededError
from evaluator.rewards.executed import Proposal
from leaderboard.accounts.models import User
from leaderboard.catalog.library import RewardsRefusedError, library
from leaderboard.catalog.models import Suite
from leaderboard.planners.places import NoPlaceError, Places
from leaderboard.quotas.services import charge_rewards, refund_rewards
from leaderboard.site.field_errors import FieldErrors
from leaderboard.site.problems import ProblemError

MOST_PLANS = 64
"""Of one call."""
SAMPLES = 4
"""Data points that each plan is executed on."""
RETRY_SECONDS = 30

_places = Places(at_once=1, waiting=4, wait_seconds=20.0)


class RewardsBusyError(ProblemError):
    """Too many rewards are being computed; nothing was executed or charged."""

    status = 503
    code = "busy"

    def __init__(self) -> None:
        super().__init__("Too many rewards are being computed at the moment: try again in half a minute.")

    def headers(self) -> Mapping[str, str]:
        return {"Retry-After": str(RETRY_SECONDS)}


class RewardsTooCostlyError(ProblemError):
    """Executing the plans took too much time or memory; nothing was charged."""

    status = 503
    code = "too_costly"

    def __init__(self) -> None:
        super().__init__(
            "Executing these plans took too long. What was executed is kept: send them again, or fewer at once."
        )


def rewards_of(*, user: User, suite: str, proposals: Sequence[Proposal]) -> tuple[str, list[float | None]]:
    """The training split, and the reward of each plan on it.

    After: the plans are charged to the user's quota of rewards, unless an error says otherwise.

    Raises:
        FieldErrors: the suite or a task cannot be rewarded; nothing was executed or charged.
        RewardQuotaExceededError: the user has no quota left for so many plans.
        RewardsBusyError: nothing was executed or charged.
        RewardsTooCostlyError: nothing was charged.
        NotReadyError: this installation cannot execute plans at present; nothing was charged.
    """
    if not Suite.objects.filter(slug=suite, current=True).exists():
        raise FieldErrors({"suite": [f"There is no suite {suite!r}."]})
    try:
        split = library().check_rewards(
            suite=suite, profile=settings.PROFILE, tasks=list(dict.fromkeys(task for task, _ in proposals))
        )
    except RewardsRefusedError as error:
        raise FieldErrors({error.field: [str(error)]}) from None
    day = charge_rewards(user=user, plans=len(proposals))
    if not connection.in_atomic_block:
        # Back into the pool: executing takes longer than all that this call asks of the database.
        connection.close()
    try:
        with _places.taken():
            found = library().rewards(suite=suite, profile=settings.PROFILE, samples=SAMPLES, proposals=proposals)
    except Exception as error:
        refund_rewards(user=user, plans=len(proposals), day=day)
        if isinstance(error, NoPlaceError):
            raise RewardsBusyError from None
        if isinstance(error, LimitExceededError):
            raise RewardsTooCostlyError from None
        raise
    return split, found
