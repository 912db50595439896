"""Charging and refunding evaluations, daily quotas, and the limit of a planner on hidden data. All run in the
transaction of what they charge.

The evaluations of a planner on the same hidden data are limited, since many tries would fit it to them. What counts is
what the planner is (`planners.services.identity_of`), for the user who submits it and for the team: neither another
name nor another member gives further tries. They are counted from the ledger: charges without refunds. An operator's
own re-runs are not charged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, TypedDict
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet, Sum
from django.utils import timezone

from evaluator.core.canonical_json import framed
from leaderboard.catalog.hidden_data import planner_limit
from leaderboard.evaluations.models import Attempt, Evaluation, EvaluationReason, EvaluationState
from leaderboard.evaluations.states import Entered
from leaderboard.people.models import Team, User
from leaderboard.planners.models import Planner
from leaderboard.planners.services import identity_of
from leaderboard.platform.coordination.locks import Lock, lock_until_commit
from leaderboard.platform.problems import ProblemError
from leaderboard.quotas.models import ALL_SUITES, REWARDS, EntryReason, QuotaBalance, QuotaEntry

CHARGES_PER_QUOTA = 3
"""Limit of charges per day in quotas, whatever is refunded."""


class QuotaExceededError(ProblemError):
    """The user or team has no quota left today; nothing was changed. The message is a sentence for the user."""

    status = 429
    code = "quota_exceeded"

    def __init__(self, *, suite: str, limit: int, free_at: datetime, team: Team | None = None) -> None:
        self.suite = suite
        self.limit = limit
        self.free_at = free_at
        self.team = team
        of = f"of the suite {suite} " if suite else ""
        who, one = ("You have", "user") if team is None else (f"The team {team.name} has", "team")
        super().__init__(
            f"{who} submitted all {limit} evaluations {of}that a {one} may submit in a day. "
            f"You can submit again from {free_at:%Y-%m-%d %H:%M} UTC."
        )

    def seconds_left(self) -> int:
        """Seconds until the quota is renewed, at least 1."""
        return max(1, int((self.free_at - timezone.now()).total_seconds()) + 1)

    def facts(self) -> dict[str, Any]:
        return {
            "suite": self.suite,
            "team": self.team.slug if self.team else "",
            "limit": self.limit,
            "free_at": self.free_at.isoformat(),
        }

    def headers(self) -> Mapping[str, str]:
        return {"Retry-After": str(self.seconds_left())}


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """Today's quota of a user or team, for a suite or for all."""

    team: str
    """Slug; empty: the quota is the user's."""
    suite: str
    limit: int | None
    """None: unlimited."""
    used: int
    free_at: datetime

    @property
    def left(self) -> int | None:
        """Remaining evaluations; None: unlimited."""
        return None if self.limit is None else max(0, self.limit - self.used)


def charge(*, user: User, evaluation: Evaluation, team: Team | None = None, amount: int = 1) -> None:
    """Charge an evaluation to its user and its team, for its suite and for the day, as this many.

    Before: within a transaction, which must be rolled back after an error; the evaluation is not charged.
    After: it is charged, and no limit is exceeded, also with concurrent submissions.

    Raises:
        QuotaExceededError: a limit is reached.
    """
    day = today()
    slug = evaluation.suite.slug
    # Always in this order, against deadlocks: the user before the team, and ALL_SUITES before the suite. Locking the
    # first row of a user or team protects its other rows.
    payers: list[_Payer] = [{"user": user}] if team is None else [{"user": user}, {"team": team}]
    for whose in payers:
        for suite in (ALL_SUITES, slug):
            _charge_balance(whose=whose, suite=suite, day=day, amount=amount)
        QuotaEntry.objects.create(
            **whose, suite=slug, day=day, evaluation=evaluation, amount=amount, reason=EntryReason.SUBMITTED
        )


class _Payer(TypedDict, total=False):
    """The owner of a row: one of the fields is set."""

    user: User
    team: Team


def _charge_balance(*, whose: _Payer, suite: str, day: date, amount: int) -> None:
    QuotaBalance.objects.bulk_create([QuotaBalance(**whose, suite=suite, day=day)], ignore_conflicts=True)
    balance = QuotaBalance.objects.filter(**whose, suite=suite, day=day)
    team = whose.get("team")
    limit = limit_of(suite) if team is None else team_limit_of(suite)
    if limit is not None:
        balance = balance.filter(used__lte=limit - amount, charged__lte=limit * CHARGES_PER_QUOTA - amount)
    # PostgreSQL evaluates the condition again after waiting for a concurrent update of the row.
    if not balance.update(used=F("used") + amount, charged=F("charged") + amount):
        assert limit is not None
        raise QuotaExceededError(suite=suite, limit=limit, free_at=next_day(day), team=team)


def refund(*, evaluation_id: UUID, reason: EntryReason) -> bool:
    """Refund an evaluation. False if it was not charged, or was refunded already.

    Before: nothing; concurrent calls are safe.
    After: the evaluation has exactly one refund for each charge, that of the user and that of the team.
    """
    with transaction.atomic():
        charges = QuotaEntry.objects.select_for_update().filter(evaluation=evaluation_id, amount__gt=0)
        # The user's before the team's, as in `charge`.
        charged = list(charges.order_by(F("team").asc(nulls_first=True)))
        if not charged or QuotaEntry.objects.filter(evaluation=evaluation_id, amount__lt=0).exists():
            return False
        for entry in charged:
            whose = {"user_id": entry.user_id, "team_id": entry.team_id}
            QuotaEntry.objects.create(
                **whose,
                suite=entry.suite,
                day=entry.day,
                evaluation_id=evaluation_id,
                amount=-entry.amount,
                reason=reason,
            )
            for suite in (ALL_SUITES, entry.suite):
                QuotaBalance.objects.filter(**whose, suite=suite, day=entry.day).update(used=F("used") - entry.amount)
    return True


class RewardQuotaExceededError(ProblemError):
    """The user has not enough seconds of rewards left today; nothing was changed."""

    status = 429
    code = "quota_exceeded"

    def __init__(self, *, limit: int, seconds: int, day: date) -> None:
        self._seconds = max(1, int((next_day(day) - timezone.now()).total_seconds()) + 1)
        super().__init__(
            f"Of the {limit} seconds in a day that your plans may be executed for rewards, fewer are left than the "
            f"{seconds} that a call may take."
        )

    def headers(self) -> Mapping[str, str]:
        return {"Retry-After": str(self._seconds)}


def charge_rewards(*, user: User, seconds: int) -> date:
    """Charge the most seconds that executing plans for rewards may take. Returns the day of the charge.

    Before: nothing.
    After: they are charged until `settle_rewards`, and the limit is not exceeded, also with concurrent calls.

    Raises:
        RewardQuotaExceededError: fewer seconds are left.
    """
    day = today()
    QuotaBalance.objects.bulk_create([QuotaBalance(user=user, suite=REWARDS, day=day)], ignore_conflicts=True)
    balance = QuotaBalance.objects.filter(user=user, suite=REWARDS, day=day)
    limit: int = settings.REWARD_SECONDS_PER_DAY
    if limit:
        balance = balance.filter(used__lte=limit - seconds, charged__lte=limit * CHARGES_PER_QUOTA - seconds)
    if not balance.update(used=F("used") + seconds, charged=F("charged") + seconds):
        raise RewardQuotaExceededError(limit=limit, seconds=seconds, day=day)
    return day


def settle_rewards(*, user: User, day: date, charged: int, used: int) -> None:
    """Refund the unused seconds of a call. Call it once for each charge.

    A call that used none, because of a fault of the site, counts towards the limit of refunds.
    """
    rest = charged - used
    balance = QuotaBalance.objects.filter(user=user, suite=REWARDS, day=day)
    balance.update(used=F("used") - rest, charged=F("charged") - (rest if used else 0))


def quotas_of(*, user: User, suites: Sequence[str]) -> list[Quota]:
    """The user's quotas of today: first for all suites together, then for each of these."""
    day = today()
    used = dict(QuotaBalance.objects.filter(user=user, day=day).values_list("suite", "used"))
    return [
        Quota(team="", suite=suite, limit=limit_of(suite), used=used.get(suite, 0), free_at=next_day(day))
        for suite in (ALL_SUITES, *suites)
    ]


def quotas_of_teams(*, teams: Sequence[Team], suites: Sequence[str]) -> list[Quota]:
    """The same for each of these teams, in one query."""
    day = today()
    balances = QuotaBalance.objects.filter(team__in=teams, day=day).values_list("team", "suite", "used")
    used = {(team, suite): count for team, suite, count in balances}
    return [
        Quota(
            team=team.slug,
            suite=suite,
            limit=team_limit_of(suite),
            used=used.get((team.pk, suite), 0),
            free_at=next_day(day),
        )
        for team in teams
        for suite in (ALL_SUITES, *suites)
    ]


def limit_of(suite: str) -> int | None:
    """Evaluations of a suite, or of all, that a user may submit per day; None: unlimited."""
    limit: int = settings.QUOTA_PER_DAY if suite == ALL_SUITES else settings.QUOTA_PER_SUITE_AND_DAY
    return limit or None


def team_limit_of(suite: str) -> int | None:
    """The same for a team, over all its members."""
    limit: int = settings.TEAM_QUOTA_PER_DAY if suite == ALL_SUITES else settings.TEAM_QUOTA_PER_SUITE_AND_DAY
    return limit or None


def today() -> date:
    """The day in UTC, in which quotas are counted."""
    return timezone.now().astimezone(UTC).date()


def next_day(day: date) -> datetime:
    """When the next day begins."""
    return datetime.combine(day + timedelta(days=1), time(), tzinfo=UTC)


OWN_FAULT = frozenset({EvaluationReason.CANARY_FAILED, EvaluationReason.CANARY_ENDED_WORKERS})
"""Reasons of failures that are the planner's fault; all other failures are refunded."""
NOT_THE_PLANNERS = frozenset(
    {EvaluationReason.INFRA_FAULTS, EvaluationReason.PLANNER_UNAVAILABLE, EvaluationReason.WORKERS_LOST}
)
"""Reasons of waiting for the owner that are refunded."""
REFUNDING = frozenset({EvaluationState.ON_HOLD, EvaluationState.FAILED, EvaluationState.CANCELLED})


def refund_reason(*, target: EvaluationState, reason: EvaluationReason, anything_ran: bool) -> EntryReason | None:
    """The reason for a refund when an evaluation enters `target`; None: no refund. Pure."""
    if target == EvaluationState.ON_HOLD and reason in NOT_THE_PLANNERS:
        return EntryReason.NOT_THE_PLANNERS_FAULT
    if target == EvaluationState.FAILED and reason not in OWN_FAULT:
        return EntryReason.NOT_THE_PLANNERS_FAULT
    if target == EvaluationState.CANCELLED and not anything_ran:
        return EntryReason.NOTHING_RAN
    return None


def refund_if_due(event: Entered) -> None:
    """Refund an evaluation, in the transaction of its transition, if the new state requires it.

    A further run that a release with other rules ends refunds the evaluation that it belongs to, which completes with
    fewer runs than it was charged for. No other failure of a further run does: owners could cause it, and have
    evaluations for nothing.
    """
    if event.state not in REFUNDING:
        return
    if event.reason == EvaluationReason.OTHER_RULES:
        first = Evaluation.runs.filter(pk=event.evaluation_id, is_further_run=True).values_list("member_of", flat=True)
        for evaluation_id in first:
            assert evaluation_id is not None, "a constraint of the table"
            refund(evaluation_id=evaluation_id, reason=EntryReason.NOT_THE_PLANNERS_FAULT)
    anything_ran = Attempt.objects.filter(shard__evaluation=event.evaluation_id).exists()
    why = refund_reason(target=event.state, reason=event.reason, anything_ran=anything_ran)
    if why is not None:
        refund(evaluation_id=event.evaluation_id, reason=why)


def check_planner_limit(evaluation: Evaluation) -> None:
    """Refuse a newly queued and charged evaluation if its planner has reached its limit on these hidden data.

    Before: within the transaction that queued it, which must be rolled back after an error.
    After: the limit is not exceeded, also with concurrent submissions.

    Raises:
        PlannerLimitError: the limit is reached.
    """
    limit = planner_limit(evaluation)
    if limit is None:
        return
    submission = evaluation.submission
    identity = identity_of(submission.planner)
    # Concurrent submissions of one planner wait here, then see each other's charges.
    lock_until_commit(Lock.PLANNER_LIMIT, framed(*identity).hex())
    payer = Q(submission__submitted_by=submission.submitted_by_id)
    if submission.team_id is not None:
        payer |= Q(submission__team=submission.team_id)
    tries = Evaluation.objects.filter(payer, limit.same_data).exclude(pk=evaluation.pk)
    others = (
        tries.filter(submission__planner__in=_of_identity(identity, tries=tries))
        .annotate(net=Sum("quota_entries__amount", filter=Q(quota_entries__user__isnull=False)))
        .filter(net__isnull=False)
    )
    charged = list(others.values_list("net", flat=True))
    used = sum(net > 0 for net in charged)
    if used >= limit.most or len(charged) >= limit.most * CHARGES_PER_QUOTA:
        raise limit.error(planner=submission.planner.name, used=used)


def _of_identity(identity: tuple[str, ...], *, tries: QuerySet[Evaluation]) -> list[int]:
    """The planners of these evaluations with this identity, under any name and of any kind."""
    planners = Planner.objects.filter(pk__in=tries.values("submission__planner"))
    return [planner.pk for planner in planners if identity_of(planner) == identity]
