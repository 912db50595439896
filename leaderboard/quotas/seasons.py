"""How often a planner may be evaluated on the hidden data of one season: many tries would fit it to them.

What counts is what the planner is (`planners/identity.py`), for the user who submits it and for the team: neither
another name nor another member gives further tries.
Counted from the ledger: what was charged and not refunded. An operator's own re-runs are not charged.
"""

from typing import Any

from django.conf import settings
from django.db.models import Q, Sum

from evaluator.core.canonical_json import framed
from evaluator.core.suites.hidden import HIDDEN
from leaderboard.catalog.seasons import open_seasons
from leaderboard.evaluations.models import Evaluation, Submission
from leaderboard.evaluations.submitted import submitted
from leaderboard.planners.identity import identity_of
from leaderboard.planners.models import Planner
from leaderboard.platform.coordination.locks import Lock, lock_until_commit
from leaderboard.platform.problems import ProblemError
from leaderboard.quotas.services import CHARGES_PER_QUOTA


class SeasonQuotaError(ProblemError):
    """The planner has none left of a season; nothing was changed. The message is a sentence for the user."""

    code = "season_quota_exceeded"

    def __init__(self, *, planner: str, suite: str, season: str, limit: int, used: int) -> None:
        self._facts = {"suite": suite, "season": season, "limit": limit, "used": used}
        super().__init__(
            f"{planner} has used {used} of the {limit} evaluations of the suite {suite} that a planner may have on the "
            f"hidden data of season {season}, those under other names included. The next season begins with none used; "
            "an evaluation that is refunded is free again, but not without end."
        )

    def facts(self) -> dict[str, Any]:
        return self._facts


def limit_of_open_seasons() -> int:
    """Evaluations that a planner may have of a suite on the hidden data of a season; 0: any number, or none is open."""
    limit: int = settings.QUOTA_PER_PLANNER_AND_SEASON
    return limit if limit and open_seasons().exists() else 0


def check_season(evaluation: Evaluation) -> None:
    """Refuse an evaluation that was queued and charged now if its planner has no more left in its season.

    Before: within the transaction that queued it.
    After: the limit holds, however many submit at once; or the caller's transaction must be rolled back.

    Raises:
        SeasonQuotaError: the limit is reached.
    """
    limit: int = settings.QUOTA_PER_PLANNER_AND_SEASON
    if not limit or evaluation.split != HIDDEN:
        return
    submission = evaluation.submission
    identity = identity_of(submission.planner)
    # Simultaneous submissions of one planner wait for each other here, and see each other's charges.
    lock_until_commit(Lock.SEASON_QUOTA, framed(*identity).hex())
    others = (
        Evaluation.objects.filter(
            submitted(),
            _of_the_same(submission),
            submission__planner__in=_same_planners(submission, identity=identity),
            suite__slug=evaluation.suite.slug,
            season=evaluation.season_id,
            split=HIDDEN,
        )
        .exclude(pk=evaluation.pk)
        .annotate(net=Sum("quota_entries__amount", filter=Q(quota_entries__user__isnull=False)))
        .filter(net__isnull=False)
    )
    charged = list(others.values_list("net", flat=True))
    used = sum(net > 0 for net in charged)
    if used >= limit or len(charged) >= limit * CHARGES_PER_QUOTA:
        slug = evaluation.suite.slug
        raise SeasonQuotaError(
            planner=submission.planner.name, suite=slug, season=str(evaluation.season_id), limit=limit, used=used
        )


def _of_the_same(submission: Submission) -> Q:
    """Submissions of the same user, or for the same team."""
    same = Q(submission__submitted_by=submission.submitted_by_id)
    return same if submission.team_id is None else same | Q(submission__team=submission.team_id)


def _same_planners(submission: Submission, *, identity: tuple[str, ...]) -> list[int]:
    """The planners of the same user or team that are the same, whatever they are called."""
    owned = Q(owner=submission.planner.owner_id) | Q(submissions__submitted_by=submission.submitted_by_id)
    if submission.team_id is not None:
        owned |= Q(submissions__team=submission.team_id)
    of_kind = Planner.objects.filter(owned, kind=submission.planner.kind).distinct()
    return [planner.pk for planner in of_kind if identity_of(planner) == identity]
