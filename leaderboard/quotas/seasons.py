"""How often a planner may be evaluated on the hidden data of one season: many tries would fit it to them.

Counted from the ledger: what was charged and not refunded. An operator's own re-runs are not charged.
"""

from typing import Any

from django.conf import settings
from django.db.models import Q, Sum

from evaluator.suites.hidden import HIDDEN
from leaderboard.catalog.seasons import open_seasons
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.submitted import submitted
from leaderboard.planners.models import Planner
from leaderboard.quotas.services import CHARGES_PER_QUOTA
from leaderboard.site.problems import ProblemError


class SeasonQuotaError(ProblemError):
    """The planner has none left of a season; nothing was changed. The message is a sentence for the user."""

    code = "season_quota_exceeded"

    def __init__(self, *, planner: str, suite: str, season: str, limit: int, used: int) -> None:
        self._facts = {"suite": suite, "season": season, "limit": limit, "used": used}
        super().__init__(
            f"{planner} has used {used} of the {limit} evaluations of the suite {suite} that a planner may have on the "
            f"hidden data of season {season}. The next season begins with none used; an evaluation that is refunded is "
            "free again, but not without end."
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
    # Simultaneous submissions of one planner wait for each other here, and see each other's charges.
    planner = Planner.objects.select_for_update(no_key=True).get(pk=evaluation.submission.planner_id)
    others = (
        Evaluation.objects.filter(
            submitted(),
            submission__planner=planner,
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
            planner=planner.name, suite=slug, season=str(evaluation.season_id), limit=limit, used=used
        )
