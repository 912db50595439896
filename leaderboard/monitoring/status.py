"""What everybody may know of how the site is doing: whether evaluations move, and if not, why not."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Exists, F, Max, Min, OuterRef
from django.db.models.functions import Now

from leaderboard.boards.models import Snapshot
from leaderboard.evaluations import transitions
from leaderboard.evaluations.models import Attempt, Evaluation, EvaluationState
from leaderboard.notifications.models import Fault, Incident, OutboxMessage
from leaderboard.queue.estimates import Queue, queue_now
from leaderboard.site.clock import database_now
from leaderboard.site.storage.bucket import UNAVAILABLE, store_problem
from leaderboard.site.storage.disk_space import SENTENCE, full_volumes
from leaderboard.submissions.readiness import check_again

RECENTLY = timedelta(minutes=10)
"""A worker that leased something in this time counts as being there."""
PATIENCE = timedelta(minutes=5)
"""How long something may be due before the status says that it is late."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Evaluations in one state that is not final."""

    state: str
    label: str
    evaluations: int
    longest_seconds: float
    """How long the oldest of them has been in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteStatus:
    """How the site is doing at one moment."""

    at: datetime
    queue: Queue
    standing: Sequence[Standing]
    late_for: timedelta
    """For how long the state that has gone longest past its deadline has; negative if none has."""
    unsent_for: timedelta
    """The same of messages that wait to be sent; messages that failed wait for a later time, and are not late."""
    workers: int
    """Workers of the site that leased tasks within `RECENTLY`."""
    last_lease: datetime | None
    published: datetime | None
    """When a board was last published."""
    incidents: Sequence[Incident] = ()
    """Open faults of this installation; why is for operators only."""

    full_disks: Sequence[str] = ()
    """Volumes without room, as the process that answers finds them."""
    store_problem: str = ""
    """Why the bucket takes nothing, as that process finds it; empty if it does."""

    @property
    def paused(self) -> list[str]:
        """Slugs of suites that cannot be evaluated."""
        return [incident.suite for incident in self.incidents if incident.fault == Fault.NOT_READY]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The status in a sentence."""

    tone: str
    """`success`, `warning` or `error`."""
    code: str
    """`running`, `idle`, `no_workers`, `paused`, `messages_late`, `control_late`, `disk_full` or
    `store_unavailable`."""
    sentence: str


def site_status() -> SiteStatus:
    """The status now, by the database's clock, in eight queries."""
    now = database_now()
    under_way = [state for state in EvaluationState if state not in transitions.FINAL]
    rows = (
        Evaluation.objects.filter(state__in=under_way)
        .values_list("state")
        .annotate(Count("pk"), longest=Max(Now() - F("state_since")), deadline=Min("state_deadline"))
        .order_by()
    )
    found = {state: (number, longest, deadline) for state, number, longest, deadline in rows}
    # A state without a deadline is never late.
    limited = {state for state, lasts in transitions.DEADLINES.items() if lasts}
    deadlines = [deadline for state, (_, _, deadline) in found.items() if deadline and state in limited]
    waiting = OutboxMessage.objects.filter(sent_at=None, given_up_at=None).aggregate(oldest=Min("available_at"))
    # What runs on researchers' own workers says nothing of the site's.
    attempts = Attempt.objects.filter(shard__evaluation__own_worker_run__isnull=True)
    return SiteStatus(
        at=now,
        queue=queue_now(),
        standing=[
            Standing(state, EvaluationState(state).label, found[state][0], max(0.0, found[state][1].total_seconds()))
            for state in under_way
            if state in found
        ],
        late_for=now - min(deadlines, default=now + timedelta(1)),
        unsent_for=now - (waiting["oldest"] or now + timedelta(1)),
        workers=attempts.filter(leased_at__gte=now - RECENTLY).aggregate(found=Count("worker", distinct=True))["found"],
        last_lease=attempts.order_by("-leased_at").values_list("leased_at", flat=True).first(),
        published=Snapshot.objects.order_by("-pk").values_list("created", flat=True).first(),
        incidents=_open_incidents(),
        full_disks=full_volumes(),
        store_problem=store_problem(),
    )


def _open_incidents() -> list[Incident]:
    """Scores are computed again as soon as an evaluation of the suite completes."""
    later = Evaluation.objects.filter(
        suite__slug=OuterRef("suite"), state=EvaluationState.COMPLETED, finished__gt=OuterRef("seen")
    )
    still = Incident.objects.filter(over=None).exclude(Exists(later), fault=Fault.NO_SCORES)
    return list(still.order_by("since", "pk"))


def checked_status() -> SiteStatus:
    """The status now; suites that cannot be evaluated are checked again first."""
    found = site_status()
    return site_status() if found.paused and check_again() else found


def verdict(status: SiteStatus) -> Verdict:
    """What the figures come to, the worst first."""
    if status.full_disks:
        return Verdict("error", "disk_full", f"{SENTENCE} Without room: {', '.join(status.full_disks)}.")
    if status.store_problem:
        return Verdict("error", "store_unavailable", f"{UNAVAILABLE} Reason: {status.store_problem}.")
    if status.late_for > PATIENCE:
        return Verdict(
            "error",
            "control_late",
            "Evaluations are late: the queue processes should have advanced one "
            f"{_minutes(status.late_for)} ago. Nothing is lost; evaluations continue when these processes do.",
        )
    if status.unsent_for > PATIENCE:
        return Verdict(
            "warning",
            "messages_late",
            f"Emails and webhooks are late by {_minutes(status.unsent_for)}. Evaluations are not affected.",
        )
    if status.paused:
        return Verdict(
            "warning",
            "paused",
            f"Evaluation on {' and '.join(status.paused)} is paused: this site cannot evaluate at present. "
            "Submissions that are already queued go on.",
        )
    silent = status.last_lease is None or status.at - status.last_lease > PATIENCE
    if status.queue.shards and not status.queue.leased and silent:
        since = f" for {_minutes(status.at - status.last_lease)}" if status.last_lease else ""
        return Verdict(
            "warning",
            "no_workers",
            f"Tasks are queued, and no worker has leased any{since}. They keep their place in the queue.",
        )
    if status.queue.shards:
        return Verdict("success", "running", "All systems operational. Workers are processing the queue.")
    return Verdict("success", "idle", "All systems operational. The queue is empty.")


def _minutes(span: timedelta) -> str:
    minutes = max(1, round(span.total_seconds() / 60))
    return f"{minutes} minute{'' if minutes == 1 else 's'}" if minutes < 120 else f"{round(minutes / 60)} hours"
