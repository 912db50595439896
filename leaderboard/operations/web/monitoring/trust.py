"""The page `/trust/`: who runs this arena, how results are decided, contested and kept, and how reliably it runs.

Everything comes from settings in force and from measurements. What the operator declared nothing about says so.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from leaderboard.boards.signing.keys import public_keys
from leaderboard.messages.dispatching import KEEP_GIVEN_UP, KEEP_SENT
from leaderboard.operations.models import Moment
from leaderboard.operations.monitoring.facts import BACKUP
from leaderboard.operations.monitoring.history import KEPT_DAYS, outages, part_histories
from leaderboard.operations.web.monitoring.history import outage_row, part_row
from leaderboard.people.web.profiles.services import planners_seen_by
from leaderboard.planners.models import Planner
from leaderboard.platform.database import database_now
from leaderboard.platform.http.well_known import contact_link
from leaderboard.queue.jobs import KEPT as KEPT_JOBS

MOST_PLANNERS = 50
"""Listed planners of the operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long some data are kept."""

    what: str
    how_long: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """What the operator declared; empty texts and 0: nothing."""

    name: str
    contact: str
    contact_link: str
    legal: str
    conflicts: str
    appeal_days: int

    @property
    def legal_link(self) -> str:
        """The legal notice as a link, if it is an address."""
        return self.legal if self.legal.startswith("https://") else ""


def operator() -> Operator:
    """The declarations in the settings."""
    return Operator(
        name=settings.OPERATOR,
        contact=settings.CONTACT,
        contact_link=contact_link(),
        legal=settings.LEGAL,
        conflicts=settings.CONFLICTS,
        appeal_days=settings.APPEAL_DAYS,
    )


def retention() -> list[Retention]:
    """The retention periods in force."""
    return [Retention(what=what, how_long=how_long) for what, how_long in _retention()]


def _retention() -> Iterator[tuple[str, str]]:
    by_hand = "" if settings.COLLECT_ROWS else ", when the operator collects garbage"
    yield "Published boards, their rows and signatures", "unlimited"
    yield (
        "Logs and attempts of evaluations that were never ranked",
        f"{_days(settings.KEEP_ATTEMPT_DAYS)} after their end{by_hand}",
    )
    yield (
        "Stored objects that no result refers to",
        f"at least {_span(timedelta(hours=settings.GARBAGE_GRACE_HOURS))} after their last use",
    )
    yield (
        "Uploaded checkpoints that are not submitted",
        _span(timedelta(hours=settings.UNUSED_CHECKPOINT_HOURS)),
    )
    yield "Results of test calls and rewards", f"{_span(KEPT_JOBS)} after they ended"
    yield (
        "Emails and webhook messages",
        f"{_span(KEEP_SENT)} after they were sent, {_span(KEEP_GIVEN_UP)} if they could not be",
    )
    yield "Sign-ins", _span(timedelta(seconds=settings.SESSION_COOKIE_AGE))
    yield "History of the status", _days(KEPT_DAYS)


def _days(days: int) -> str:
    return f"{days} day{'' if days == 1 else 's'}"


def _span(span: timedelta) -> str:
    hours = round(span.total_seconds() / 3600)
    return _days(hours // 24) if hours >= 24 and hours % 24 == 0 else f"{hours} hour{'' if hours == 1 else 's'}"


def operators_planners() -> Sequence[Planner]:
    """Planners of accounts with operator rights that have evaluations which everybody can see, at most one more than
    `MOST_PLANNERS`."""
    seen = planners_seen_by(AnonymousUser()).filter(owner__is_staff=True, owner__is_active=True)
    return list(seen.order_by("name", "pk")[: MOST_PLANNERS + 1])


def last_backup() -> datetime | None:
    """When a complete backup last succeeded; None if none is known."""
    return Moment.objects.filter(name=BACKUP).values_list("at", flat=True).first()


@require_safe
@cache_control(private=True, max_age=30)
def trust(request: HttpRequest) -> HttpResponse:
    """Who runs this arena, and why its results can be trusted."""
    planners, now = operators_planners(), database_now()
    context = {
        "operator": operator(),
        "keys": sorted(public_keys()),
        "verify_tasks": settings.VERIFY_TASKS,
        "planners": planners[:MOST_PLANNERS],
        "more_planners": len(planners) > MOST_PLANNERS,
        "retention": retention(),
        "backup": last_backup(),
        "parts": [part_row(part) for part in part_histories(now=now)],
        "outages": [outage_row(outage, now=now) for outage in outages()],
        "kept_days": KEPT_DAYS,
    }
    return render(request, "operations/trust.html", context)
