"""Health of the site, for probes, the status page, metrics and the reasons shown for waiting evaluations.

`health` is pure. Facts come from the database, the broker and the disks (`operations/monitoring/facts.py`).
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from django.conf import settings

from leaderboard.platform.lru_cache import SharedCache

PATIENCE = timedelta(minutes=5)
"""How long something may be due, or a message may wait, before it counts as late."""
TASK_INTERVALS = 3
"""A periodic task is late if it has not succeeded for this many intervals plus `PATIENCE`."""
MOST_MESSAGES = 1000
"""Number of messages at the broker above which nobody seems to consume them."""
SWEEP = "sweep"
"""The periodic task that advances evaluations."""


class Code(StrEnum):
    """Kinds of problems, worst first."""

    DATABASE_DOWN = "database_down"
    DISK_FULL = "disk_full"
    STORE_UNAVAILABLE = "store_unavailable"
    QUEUE_STOPPED = "queue_stopped"
    BROKER_DOWN = "broker_down"
    TASKS_LATE = "tasks_late"
    MESSAGES_UNREAD = "messages_unread"
    MESSAGES_LATE = "messages_late"
    PAUSED = "paused"
    NO_WORKERS = "no_workers"


class Tone(StrEnum):
    """Severity, which determines the colour on pages."""

    ERROR = "error"
    WARNING = "warning"
    SUCCESS = "success"


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The state of the site's work, from the database."""

    tasks: Mapping[str, timedelta] = field(default_factory=dict)
    """Time since the last success of each periodic task, or since the start of this process."""
    intervals: Mapping[str, timedelta] = field(default_factory=dict)
    """Intervals of the periodic tasks."""
    late_for: timedelta | None = None
    """Maximum time by which an evaluation's state has exceeded its deadline; None or negative: none has."""
    unsent_for: timedelta | None = None
    """Maximum delay of messages that are due to be sent."""
    evaluations: int = 0
    """Number of evaluations with unfinished shards for the site's workers."""
    shards: int = 0
    """Number of these shards."""
    leased: int = 0
    """Number of these that are leased."""
    since_lease: timedelta | None = None
    """Time since the last lease of these workers; None: there was none."""
    paused: Sequence[str] = ()
    """Suites that cannot be evaluated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The state of the site at one moment."""

    database_problem: str = ""
    """Why the database does not answer, as a phrase; empty if it does."""
    full_disks: Sequence[str] = ()
    """Full volumes."""
    store_problem: str = ""
    """Why the bucket does not accept data, as a phrase; empty if it does."""
    broker_problem: str = ""
    """Why the broker does not answer, as a phrase; empty if it does."""
    waiting_messages: int = 0
    """Number of messages at the broker."""
    oldest_message: timedelta | None = None
    """Age of the oldest of them; None if unknown."""
    work: Work | None = None
    """None if the database does not answer, or was not queried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A problem of the site."""

    code: Code
    tone: Tone
    sentence: str
    """The problem and its consequences, for everyone."""
    detail: str
    """A short form for probes and operators."""
    subjects: Sequence[str] = ()
    """Names of the affected volumes, tasks or suites."""


DISK_FULL = (
    "The site's disk is full. Workers keep their results and send them once the operator has made room; "
    "nothing that was stored is lost."
)
STORE_UNAVAILABLE = (
    "The site's object store does not take data at present. Workers keep their results and send them once it does; "
    "nothing that was stored is lost."
)
STORAGE = frozenset({Code.DISK_FULL, Code.STORE_UNAVAILABLE})
"""Problems that prevent storing data: pages are served, and workers keep their results."""
QUEUE = frozenset({Code.QUEUE_STOPPED})
"""Problems that stop evaluations from advancing."""


def health(facts: Facts) -> tuple[Finding, ...]:
    """The site's problems, worst first. Pure."""
    return tuple(_findings(facts))


def is_ready(findings: Sequence[Finding], *, disks: bool) -> bool:
    """Whether a process with these findings can serve requests. Pure.

    Args:
        findings: of `health`.
        disks: whether it must be able to store data. A site with a full disk serves pages, and tells workers to keep
            their results.
    """
    return not {finding.code for finding in findings} & ({Code.DATABASE_DOWN} | (STORAGE if disks else frozenset()))


def late_tasks(work: Work) -> list[str]:
    """Names of overdue periodic tasks. Pure."""
    return sorted(
        name for name, since in work.tasks.items() if since > TASK_INTERVALS * work.intervals[name] + PATIENCE
    )


def _findings(facts: Facts) -> Iterator[Finding]:
    if facts.database_problem:
        yield Finding(
            code=Code.DATABASE_DOWN,
            tone=Tone.ERROR,
            sentence="The site's database does not answer. Workers keep their results and send them once it does; "
            "nothing that was stored is lost.",
            detail=f"no database: {facts.database_problem}",
        )
    if facts.full_disks:
        volumes = ", ".join(facts.full_disks)
        yield Finding(
            code=Code.DISK_FULL,
            tone=Tone.ERROR,
            sentence=f"{DISK_FULL} Without room: {volumes}.",
            detail=f"disk full: {volumes}",
            subjects=facts.full_disks,
        )
    if facts.store_problem:
        yield Finding(
            code=Code.STORE_UNAVAILABLE,
            tone=Tone.ERROR,
            sentence=f"{STORE_UNAVAILABLE} Reason: {facts.store_problem}.",
            detail=f"store: {facts.store_problem}",
        )
    late = late_tasks(facts.work) if facts.work else []
    if facts.work and (stopped := _stopped(facts.work, late=late)):
        yield Finding(
            code=Code.QUEUE_STOPPED,
            tone=Tone.ERROR,
            sentence=f"Evaluations are late: {stopped} {_why_stopped(facts)} Nothing is lost; evaluations continue "
            "when the queue does.",
            detail=f"the queue has stopped: {stopped}",
        )
    if facts.broker_problem:
        yield Finding(
            code=Code.BROKER_DOWN,
            tone=Tone.WARNING,
            sentence="The broker of the queue does not answer the site. Evaluations take longer until it does; nothing "
            "is lost.",
            detail=f"no broker: {facts.broker_problem}",
        )
    if late and SWEEP not in late:
        yield Finding(
            code=Code.TASKS_LATE,
            tone=Tone.WARNING,
            sentence=f"Periodic tasks of the site are late: {', '.join(late)}.",
            detail=f"late tasks: {', '.join(late)}",
            subjects=late,
        )
    if facts.waiting_messages > MOST_MESSAGES or (facts.oldest_message or timedelta()) > PATIENCE:
        oldest = f", the oldest for {_span(facts.oldest_message)}" if facts.oldest_message else ""
        yield Finding(
            code=Code.MESSAGES_UNREAD,
            tone=Tone.WARNING,
            sentence=f"Messages wait for the queue's processes, which take them too slowly or not at all "
            f"({facts.waiting_messages}{oldest}). Evaluations take longer; nothing is lost.",
            detail=f"{facts.waiting_messages} messages wait at the broker{oldest}",
        )
    if facts.work:
        yield from _of_work(facts.work)


def _stopped(work: Work, *, late: Sequence[str]) -> str:
    """Why the queue counts as stopped, as a sentence; empty if it runs."""
    if SWEEP in late:
        return f"the queue processes have not completed a sweep for {_span(work.tasks[SWEEP])}."
    if (work.late_for or timedelta()) > PATIENCE:
        assert work.late_for is not None
        return f"the queue processes should have advanced one {_span(work.late_for)} ago."
    return ""


def _why_stopped(facts: Facts) -> str:
    if facts.broker_problem:
        return "Their broker does not answer."
    if facts.waiting_messages:
        return "Messages wait for them, and none takes any."
    return "No messages wait for them: the scheduler sends none, or they are busy."


def _of_work(work: Work) -> Iterator[Finding]:
    if (work.unsent_for or timedelta()) > PATIENCE:
        late = _span(work.unsent_for)
        yield Finding(
            code=Code.MESSAGES_LATE,
            tone=Tone.WARNING,
            sentence=f"Emails and webhooks are late by {late}. Evaluations are not affected.",
            detail=f"emails and webhooks are late by {late}",
        )
    if work.paused:
        yield Finding(
            code=Code.PAUSED,
            tone=Tone.WARNING,
            sentence=f"Evaluation on {' and '.join(work.paused)} is paused: this site cannot evaluate at present. "
            "Submissions that are already queued go on.",
            detail=f"paused: {', '.join(work.paused)}",
            subjects=work.paused,
        )
    is_silent = work.since_lease is None or work.since_lease > PATIENCE
    if work.shards and not work.leased and is_silent:
        since = f" for {_span(work.since_lease)}" if work.since_lease else ""
        yield Finding(
            code=Code.NO_WORKERS,
            tone=Tone.WARNING,
            sentence=f"Tasks are queued, and no worker has leased any{since}. They keep their place in the queue.",
            detail=f"no worker has leased a task{since}",
        )


def _span(span: timedelta | None) -> str:
    minutes = max(1, round((span or timedelta()).total_seconds() / 60))
    return f"{minutes} minute{'' if minutes == 1 else 's'}" if minutes < 120 else f"{round(minutes / 60)} hours"


SOURCES: list[Callable[[], Facts]] = []
"""Functions of a room above that read the facts; `wiring/callbacks.py` registers them."""
_current: SharedCache[str, tuple[float, tuple[Finding, ...]]] = SharedCache(maxsize=1)


def current_health() -> tuple[Finding, ...]:
    """The site's problems, cached for a few seconds (`KEEP_HEALTH_SECONDS`)."""
    cached = _current.get("now")
    if cached is not None and time.monotonic() - cached[0] < settings.KEEP_HEALTH_SECONDS:
        return cached[1]
    findings = tuple(finding for read in SOURCES for finding in health(read()))
    _current.put("now", (time.monotonic(), findings))
    return findings
