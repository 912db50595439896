"""Charging and refunding. Both belong into the transaction of what they are for."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from leaderboard.accounts.models import User
from leaderboard.evaluations.models import Evaluation
from leaderboard.quotas.models import ALL_SUITES, EntryReason, QuotaBalance, QuotaEntry

CHARGES_PER_QUOTA = 3
"""How many times its quota a user may submit in a day if all of it is refunded."""


class QuotaExceededError(Exception):
    """The user has none left today; nothing was changed. The message is a sentence for them."""

    def __init__(self, *, suite: str, limit: int, free_at: datetime) -> None:
        self.suite = suite
        self.limit = limit
        self.free_at = free_at
        of = f"of the suite {suite} " if suite else ""
        super().__init__(
            f"You have submitted all {limit} evaluations {of}that a user may submit in a day. "
            f"You can submit again from {free_at:%Y-%m-%d %H:%M} UTC."
        )

    def seconds_left(self) -> int:
        """How long until it is free again, at least 1."""
        return max(1, int((self.free_at - timezone.now()).total_seconds()) + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """What a user has used today of a suite, or of all."""

    suite: str
    limit: int | None
    """None: unlimited."""
    used: int
    free_at: datetime


def charge(*, user: User, evaluation: Evaluation) -> None:
    """Charge an evaluation to its user, for its suite and for the day.

    Before: the evaluation is not charged.
    After: it is, and no limit is exceeded, however many submit at once; or the caller's transaction must be rolled
    back.

    Raises:
        QuotaExceededError: a limit is reached.
    """
    day = today()
    slug = evaluation.suite.slug
    # One order for all (ALL_SUITES is the least), so that no two submissions wait for each other.
    for suite in (ALL_SUITES, slug):
        _charge_balance(user=user, suite=suite, day=day)
    QuotaEntry.objects.create(
        user=user, suite=slug, day=day, evaluation=evaluation, amount=1, reason=EntryReason.SUBMITTED
    )


def _charge_balance(*, user: User, suite: str, day: date) -> None:
    QuotaBalance.objects.bulk_create([QuotaBalance(user=user, suite=suite, day=day)], ignore_conflicts=True)
    balance = QuotaBalance.objects.filter(user=user, suite=suite, day=day)
    limit = limit_of(suite)
    if limit is not None:
        balance = balance.filter(used__lt=limit, charged__lt=limit * CHARGES_PER_QUOTA)
    # The database looks at the condition again after it has waited for another submission's row.
    if not balance.update(used=F("used") + 1, charged=F("charged") + 1):
        assert limit is not None
        raise QuotaExceededError(suite=suite, limit=limit, free_at=next_day(day))


def refund(*, evaluation_id: object, reason: EntryReason) -> bool:
    """Give back what an evaluation was charged with. False if it was not charged, or was refunded already.

    Before: nothing; several processes may call at once.
    After: the evaluation has exactly one refund, if it was charged.
    """
    with transaction.atomic():
        charged = QuotaEntry.objects.select_for_update().filter(evaluation=evaluation_id, amount=1).first()
        if charged is None or QuotaEntry.objects.filter(evaluation=evaluation_id, amount=-1).exists():
            return False
        QuotaEntry.objects.create(
            user_id=charged.user_id,
            suite=charged.suite,
            day=charged.day,
            evaluation_id=charged.evaluation_id,
            amount=-1,
            reason=reason,
        )
        for suite in (ALL_SUITES, charged.suite):
            QuotaBalance.objects.filter(user=charged.user_id, suite=suite, day=charged.day).update(used=F("used") - 1)
    return True


def quotas_of(*, user: User, suites: Sequence[str]) -> list[Quota]:
    """What the user has used today: first of all suites together, then of each of these."""
    day = today()
    used = dict(QuotaBalance.objects.filter(user=user, day=day).values_list("suite", "used"))
    return [
        Quota(suite=suite, limit=limit_of(suite), used=used.get(suite, 0), free_at=next_day(day))
        for suite in (ALL_SUITES, *suites)
    ]


def limit_of(suite: str) -> int | None:
    """How many evaluations of a suite, or of all, a user may submit in a day; None: any number."""
    limit: int = settings.QUOTA_PER_DAY if suite == ALL_SUITES else settings.QUOTA_PER_SUITE_AND_DAY
    return limit or None


def today() -> date:
    """The day in UTC, in which quotas are counted."""
    return timezone.now().astimezone(UTC).date()


def next_day(day: date) -> datetime:
    """When the next day begins."""
    return datetime.combine(day + timedelta(days=1), time(), tzinfo=UTC)
