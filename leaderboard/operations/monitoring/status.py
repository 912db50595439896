"""What everybody may know of how the site is doing: whether evaluations move, and if not, why not."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Exists, F, Max, OuterRef
from django.db.models.functions import Now
from django.utils import timezone

from leaderboard.boards.models import Snapshot
from leaderboard.evaluations import states
from leaderboard.evaluations.models import Attempt, Evaluation, EvaluationState
from leaderboard.messages.models import Fault, Incident
from leaderboard.operations.monitoring.facts import site_facts
from leaderboard.platform.database import database_now
from leaderboard.platform.health import Code, Facts, Finding, Tone, health
from leaderboard.queue.estimates import Queue, queue_now
from leaderboard.submissions.readiness import check_again

_EMPTY = Queue(0, 0, 0)
RECENTLY = timedelta(minutes=10)
"""A worker that leased something in this time counts as being there."""


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
    facts: Facts
    findings: Sequence[Finding]
    """What is wrong, the worst first."""
    queue: Queue = _EMPTY
    standing: Sequence[Standing] = ()
    workers: int = 0
    """Workers of the site that leased tasks within `RECENTLY`."""
    last_lease: datetime | None = None
    published: datetime | None = None
    """When a board was last published."""
    incidents: Sequence[Incident] = ()
    """Open faults of this installation; why is for operators only."""

    @property
    def is_known(self) -> bool:
        """Whether the database answers: without it there are no figures."""
        return self.facts.work is not None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The status in a sentence."""

    tone: str
    """`success`, `warning` or `error`."""
    code: str
    """`running`, `idle` or a `health.Code`."""
    sentence: str


def site_status() -> SiteStatus:
    """The status now, by the database's clock, in six queries."""
    facts = site_facts()
    findings = health(facts)
    if facts.work is None:
        return SiteStatus(at=timezone.now(), facts=facts, findings=findings)
    under_way = [state for state in EvaluationState if state not in states.FINAL]
    rows = (
        Evaluation.runs.filter(state__in=under_way)
        .values_list("state")
        .annotate(Count("pk"), longest=Max(Now() - F("state_since")))
        .order_by()
    )
    found = {state: (number, longest) for state, number, longest in rows}
    # What runs on researchers' own workers says nothing of the site's.
    attempts = Attempt.objects.filter(shard__evaluation__own_worker_run__isnull=True)
    recent = attempts.filter(leased_at__gte=Now() - RECENTLY)
    now = database_now()
    return SiteStatus(
        at=now,
        facts=facts,
        findings=findings,
        queue=queue_now(),
        standing=[
            Standing(state, EvaluationState(state).label, found[state][0], max(0.0, found[state][1].total_seconds()))
            for state in under_way
            if state in found
        ],
        workers=recent.aggregate(found=Count("worker", distinct=True))["found"],
        last_lease=None if facts.work.since_lease is None else now - facts.work.since_lease,
        published=Snapshot.objects.order_by("-pk").values_list("created", flat=True).first(),
        incidents=_open_incidents(),
    )


def _open_incidents() -> list[Incident]:
    """Scores are computed again as soon as an evaluation of the suite completes."""
    later = Evaluation.runs.filter(
        suite__slug=OuterRef("suite"), state=EvaluationState.COMPLETED, finished__gt=OuterRef("seen")
    )
    still = Incident.objects.filter(over=None).exclude(Exists(later), fault=Fault.NO_SCORES)
    return list(still.order_by("since", "pk"))


def checked_status() -> SiteStatus:
    """The status now; suites that cannot be evaluated are checked again first."""
    found = site_status()
    is_paused = any(finding.code == Code.PAUSED for finding in found.findings)
    return site_status() if is_paused and check_again() else found


def verdict(status: SiteStatus) -> Verdict:
    """What the worst finding says; without any, what the queue does."""
    if status.findings:
        worst = status.findings[0]
        return Verdict(worst.tone, worst.code, worst.sentence)
    if status.facts.work is not None and status.facts.work.shards:
        return Verdict(Tone.SUCCESS, "running", "All systems operational. Workers are processing the queue.")
    return Verdict(Tone.SUCCESS, "idle", "All systems operational. The queue is empty.")
