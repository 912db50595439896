"""History of the site's status: checks of its parts by the hour, and outages, for the last 90 days.

About once a minute one process writes a check of every part. The web processes do so while they run; if none does, the
queue's processes check all parts but the pages. Time without checks is unknown, not up: the site, its database or its
host was down, or nobody measured.
"""

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from types import MappingProxyType

from django.db import connection, transaction
from django.db.models.functions import Now

from leaderboard.operations.models import Moment, Outage, Part, StatusHour
from leaderboard.operations.monitoring.facts import site_facts
from leaderboard.platform.database import database_now, give_connection_back
from leaderboard.platform.health import Code, Facts, Finding, Tone, health

KEPT_DAYS = 90
MOST_OUTAGES = 100
"""Outages that are shown."""
CHECK_SECONDS = 60
"""Interval of checks; each stands for one minute."""
_CLAIM = "status-check"
_PATIENCE = {True: timedelta(seconds=CHECK_SECONDS - 5), False: timedelta(seconds=2.5 * CHECK_SECONDS)}
"""Age of the last check from which a process checks, by whether it serves pages."""
_UNSEEN = timedelta(minutes=15)
"""An outage without a check for so long has an unknown end."""
_MINUTES_OF_HOUR, _MINUTES_OF_DAY = 60, 1440
_PART_OF: Mapping[Code, Part] = MappingProxyType(
    {
        Code.DISK_FULL: Part.STORE,
        Code.STORE_UNAVAILABLE: Part.STORE,
        Code.QUEUE_STOPPED: Part.QUEUE,
        Code.BROKER_DOWN: Part.QUEUE,
        Code.TASKS_LATE: Part.QUEUE,
        Code.MESSAGES_UNREAD: Part.QUEUE,
        Code.MESSAGES_LATE: Part.MESSAGES,
        Code.PAUSED: Part.SUITES,
        Code.NO_WORKERS: Part.WORKERS,
    }
)
"""The part that a finding is about. Without the database nothing is written."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Minutes:
    """Checked minutes of a part in some time, and minutes without a check."""

    up: int = 0
    degraded: int = 0
    down: int = 0
    unknown: int = 0

    @property
    def known(self) -> int:
        """Checked minutes."""
        return self.up + self.degraded + self.down

    @property
    def uptime(self) -> float | None:
        """Share of the checked minutes in which the part was not down, in [0, 1]; None without checks."""
        return (self.up + self.degraded) / self.known if self.known else None

    def __add__(self, other: "Minutes") -> "Minutes":
        return Minutes(
            up=self.up + other.up,
            degraded=self.degraded + other.degraded,
            down=self.down + other.down,
            unknown=self.unknown + other.unknown,
        )


_NONE = Minutes()


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """A part on one day, in UTC."""

    day: date
    minutes: Minutes

    @property
    def state(self) -> str:
        """The worst that happened: `down`, `degraded`, `unknown` if most of the day is, or `up`."""
        minutes = self.minutes
        if minutes.down:
            return "down"
        if minutes.degraded:
            return "degraded"
        return "up" if minutes.known > minutes.unknown else "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartHistory:
    """A part over the days of the history, the oldest first."""

    part: Part
    days: Sequence[Day]

    @property
    def total(self) -> Minutes:
        """All days together."""
        return sum((day.minutes for day in self.days), _NONE)


def check_status(*, serves_pages: bool) -> bool:
    """Write a check of every part, unless a process did so a moment ago. Whether this process did.

    Before: nothing; any number of processes may call it.
    After: the check counts in the hours of all parts; outages have begun, continued or ended; nothing is older than
    `KEPT_DAYS`.

    Args:
        serves_pages: whether this process serves pages, so that they are up.
    """
    if not _claimed(_PATIENCE[serves_pages]):
        return False
    facts = site_facts()
    if facts.work is None:
        return False
    record(facts, serves_pages=serves_pages)
    return True


def record(facts: Facts, *, serves_pages: bool) -> None:
    """Write a check with these facts.

    Args:
        facts: of the site now.
        serves_pages: as for `check_status`.
    """
    findings = [finding for finding in health(facts) if finding.code in _PART_OF]
    tones = {part: {finding.tone for finding in findings if _PART_OF[finding.code] == part} for part in Part}
    parts = [part for part in Part if part != Part.PAGES or serves_pages]
    table = StatusHour._meta.db_table
    sql = (
        f"INSERT INTO {table} AS known (part, hour, checks, degraded, down) "  # noqa: S608 - our own names
        "VALUES (%s, date_trunc('hour', statement_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC', 1, %s, %s) "
        "ON CONFLICT (part, hour) DO UPDATE SET checks = known.checks + 1, "
        "degraded = known.degraded + EXCLUDED.degraded, down = known.down + EXCLUDED.down"
    )
    with transaction.atomic(), connection.cursor() as cursor:
        for part in parts:
            is_down = Tone.ERROR in tones[part]
            cursor.execute(sql, [part.value, int(bool(tones[part]) and not is_down), int(is_down)])
        _follow_outages(findings)
        StatusHour.objects.filter(hour__lt=Now() - timedelta(days=KEPT_DAYS)).delete()
        Outage.objects.filter(seen__lt=Now() - timedelta(days=KEPT_DAYS)).delete()


def _claimed(patience: timedelta) -> bool:
    table = Moment._meta.db_table
    sql = (
        f"INSERT INTO {table} AS known (name, at) VALUES (%s, statement_timestamp()) "  # noqa: S608 - our own names
        "ON CONFLICT (name) DO UPDATE SET at = EXCLUDED.at "
        "WHERE known.at < statement_timestamp() - make_interval(secs => %s)"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [_CLAIM, patience.total_seconds()])
        return bool(cursor.rowcount)


def _follow_outages(findings: Sequence[Finding]) -> None:
    """Begin, continue and end outages. One that was not checked for a while ends at its last check."""
    now = database_now()
    current = {finding.code.value: finding for finding in findings}
    for outage in Outage.objects.select_for_update().filter(ended=None).order_by("pk"):
        finding = current.get(outage.code)
        if now - outage.seen > _UNSEEN:
            outage.ended, outage.is_end_known = outage.seen, False
        elif finding is None:
            outage.ended = now
        else:
            del current[outage.code]
            outage.seen = now
            outage.affected = ", ".join(sorted({*filter(None, outage.affected.split(", ")), *finding.subjects}))[:500]
        outage.save()
    Outage.objects.bulk_create(
        [
            Outage(
                part=_PART_OF[finding.code], code=finding.code, is_down=finding.tone == Tone.ERROR,
                affected=", ".join(finding.subjects)[:500], began=now, seen=now,
            )
            for finding in current.values()
        ],
        ignore_conflicts=True,
    )  # fmt: skip


def part_histories(*, now: datetime) -> list[PartHistory]:
    """The history of every part, in one query.

    Args:
        now: the time of the database's clock; its day is the last.
    """
    days = [now.date() - timedelta(days=back) for back in range(KEPT_DAYS - 1, -1, -1)]
    found: dict[tuple[str, date], Minutes] = {}
    rows = StatusHour.objects.filter(hour__date__gte=days[0]).values_list("part", "hour", "checks", "degraded", "down")
    for part, hour, checks, degraded, down in rows:
        key = part, hour.date()
        found[key] = found.get(key, _NONE) + _minutes(checks=checks, degraded=degraded, down=down)
    return [
        PartHistory(
            part=part,
            days=[
                Day(day=day, minutes=_with_gaps(found.get((part.value, day), _NONE), day=day, now=now)) for day in days
            ],
        )
        for part in Part
    ]


def _minutes(*, checks: int, degraded: int, down: int) -> Minutes:
    """The checks of one hour in minutes. Processes that overlap may check more often than once a minute."""
    if checks > _MINUTES_OF_HOUR:
        share = _MINUTES_OF_HOUR / checks
        # Scaling never rounds an outage down to nothing.
        degraded, down = (max(1, round(count * share)) if count else 0 for count in (degraded, down))
        checks = _MINUTES_OF_HOUR
    return Minutes(up=max(0, checks - degraded - down), degraded=degraded, down=down)


def _with_gaps(minutes: Minutes, *, day: date, now: datetime) -> Minutes:
    passed = _MINUTES_OF_DAY if day < now.date() else 60 * now.hour + now.minute
    return minutes + Minutes(unknown=max(0, passed - minutes.known))


def outages() -> list[Outage]:
    """The outages of the last 90 days, the newest first."""
    return list(Outage.objects.order_by("-began", "-pk")[:MOST_OUTAGES])


class Sampler:
    """A thread of a web process that checks the status about once a minute."""

    def __init__(self, *, seconds: float = CHECK_SECONDS) -> None:
        self._seconds, self._stopped = seconds, threading.Event()
        self._thread = threading.Thread(target=self._run, name="status-checks", daemon=True)

    def start(self) -> None:
        """Start; the thread ends with the process."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread, and wait for it."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        for _ in self._ticks():
            try:
                check_status(serves_pages=True)
            except Exception:  # the database may be down; the next check may succeed
                logger.warning("the status was not checked", exc_info=True)
            finally:
                give_connection_back()

    def _ticks(self) -> Iterator[None]:
        while not self._stopped.wait(self._seconds):
            yield
