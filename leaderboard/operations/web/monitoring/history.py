"""The history of the status as pages and the API show it: bars by day, and outages in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from leaderboard.operations.models import Outage
from leaderboard.operations.monitoring.history import Day, Minutes, PartHistory
from leaderboard.platform.health import Code

_DAY_WIDTH = 4
WORDS: Mapping[str, str] = {
    Code.DISK_FULL: "A disk was full; workers kept their results",
    Code.STORE_UNAVAILABLE: "The object store took no data; workers kept their results",
    Code.QUEUE_STOPPED: "Evaluations did not advance",
    Code.BROKER_DOWN: "The queue's broker did not answer; evaluations took longer",
    Code.TASKS_LATE: "Periodic tasks were late",
    Code.MESSAGES_UNREAD: "Messages of the queue waited; evaluations took longer",
    Code.MESSAGES_LATE: "Emails and webhooks were late",
    Code.PAUSED: "Suites could not be evaluated",
    Code.NO_WORKERS: "No worker took the queued tasks",
}
_STATES = {"up": "up", "degraded": "impaired", "down": "down", "unknown": "not measured"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A day as a bar."""

    x: int
    state: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRow:
    """A part with its bars."""

    part: str
    label: str
    uptime: str
    """Share in words, such as `99.95 %`; `not measured` without checks."""
    note: str
    """Down, impaired and unmeasured time; empty if there is none."""
    bars: Sequence[Bar]
    width: int
    """Of all bars."""
    exceptions: Sequence[Bar]
    """The days on which it was not up all day, the newest first."""

    @property
    def summary(self) -> str:
        """All in one sentence, in place of the bars."""
        return f"{self.label}: {self.uptime} up{f'; {self.note}' if self.note else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutageRow:
    """An outage in words."""

    what: str
    part: str
    affected: str
    began: datetime
    ended: datetime | None
    is_end_known: bool
    is_down: bool
    lasted: str
    """Such as `2 h 5 min`; until now if it goes on."""


def part_row(history: PartHistory) -> PartRow:
    """A part for the page."""
    bars = [Bar(x=place * _DAY_WIDTH, state=day.state, words=_day_words(day)) for place, day in enumerate(history.days)]
    total = history.total
    return PartRow(
        part=history.part.value,
        label=str(history.part.label),
        uptime=uptime_words(total),
        note=_note(total),
        bars=bars,
        width=len(bars) * _DAY_WIDTH,
        exceptions=[bar for bar, day in zip(reversed(bars), reversed(history.days), strict=True) if _is_exception(day)],
    )


def outage_row(outage: Outage, *, now: datetime) -> OutageRow:
    """An outage for the page."""
    end = outage.ended or now
    return OutageRow(
        what=WORDS.get(outage.code, outage.code),
        part=str(outage.get_part_display()),
        affected=outage.affected,
        began=outage.began,
        ended=outage.ended,
        is_end_known=outage.is_end_known,
        is_down=outage.is_down,
        lasted=span(max(1, round((end - outage.began).total_seconds() / 60))),
    )


def uptime_words(minutes: Minutes) -> str:
    """The uptime in words. It is rounded down, so that 100 % is never said of less."""
    if minutes.uptime is None:
        return "not measured"
    if not minutes.down:
        return "100 %"
    return f"{int(minutes.uptime * 10_000) / 100:.2f} %"


def span(minutes: int) -> str:
    """A time in words, such as `45 min`, `2 h 5 min` or `3 days 4 h`."""
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h" + (f" {rest} min" if rest else "")
    days, hours = divmod(hours, 24)
    return f"{days} days" + (f" {hours} h" if hours else "")


def _note(minutes: Minutes) -> str:
    parts = [
        f"{span(count)} {_STATES[state]}"
        for state, count in (("down", minutes.down), ("degraded", minutes.degraded), ("unknown", minutes.unknown))
        if count
    ]
    return ", ".join(parts)


def _is_exception(day: Day) -> bool:
    """Whether the day needs a line: not up, or with more than an hour unmeasured of those measured at all."""
    return day.state in {"down", "degraded"} or (bool(day.minutes.known) and day.minutes.unknown > 60)


def _day_words(day: Day) -> str:
    if not day.minutes.known:
        return f"{day.day:%Y-%m-%d}: not measured"
    note = _note(day.minutes)
    return f"{day.day:%Y-%m-%d}: {uptime_words(day.minutes)} up{f', {note}' if note else ''}"
