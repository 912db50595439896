"""The public status of the site: whether evaluations make progress, and if not, why."""

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
from leaderboard.platform.health import Code, Facts, Finding, Tone, Work, health
from leaderboard.queue.estimates import Queue
from leaderboard.submissions.readiness import check_again

RECENTLY = timedelta(minutes=10)
"""Workers with a lease in this period count as active."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Evaluations in one state that is not final."""

    state: str
    label: str
    evaluations: int
    longest_seconds: float
    """How long the oldest of them has been in this state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteStatus:
    """The status of the site at one time."""

    at: datetime
    facts: Facts
    findings: Sequence[Finding]
    """Problems, the worst first."""
    standing: Sequence[Standing] = ()
    workers: int = 0
    """Workers of the site that leased tasks within `RECENTLY`."""
    last_lease: datetime | None = None
    published: datetime | None = None
    """When a board was last published."""
    incidents: Sequence[Incident] = ()
    """Open faults of this installation; only operators may see the reasons."""

    @property
    def queue(self) -> Queue:
        """The unfinished work of the site's workers; nothing if it is not known."""
        work = self.facts.work or Work()
        return Queue(evaluations=work.evaluations, shards=work.shards, leased=work.leased)

    @property
    def is_known(self) -> bool:
        """Whether the database responds: without it there are no figures."""
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
    by_state = {state: (number, longest) for state, number, longest in rows}
    # Without self-hosted workers, which say nothing about the site.
    attempts = Attempt.objects.filter(shard__evaluation__own_worker_run__isnull=True)
    recent = attempts.filter(leased_at__gte=Now() - RECENTLY)
    # Without those whose scores have been computed again: another evaluation of the suite has completed.
    later = Evaluation.runs.filter(
        suite__slug=OuterRef("suite"), state=EvaluationState.COMPLETED, finished__gt=OuterRef("seen")
    )
    incidents = Incident.objects.filter(over=None).exclude(Exists(later), fault=Fault.NO_SCORES)
    now = database_now()
    return SiteStatus(
        at=now,
        facts=facts,
        findings=findings,
        standing=[
            Standing(state, EvaluationState(state).label, number, max(0.0, longest.total_seconds()))
            for state in under_way
            if state in by_state
            for number, longest in [by_state[state]]
        ],
        workers=recent.aggregate(workers=Count("worker", distinct=True))["workers"],
        last_lease=None if facts.work.since_lease is None else now - facts.work.since_lease,
        published=Snapshot.objects.order_by("-pk").values_list("created", flat=True).first(),
        incidents=list(incidents.order_by("since", "pk")),
    )


def checked_status() -> SiteStatus:
    """The current status, after checking again suites that could not be evaluated."""
    status = site_status()
    is_paused = any(finding.code == Code.PAUSED for finding in status.findings)
    return site_status() if is_paused and check_again() else status


def verdict(status: SiteStatus) -> Verdict:
    """The worst finding, or the state of the queue if there is none."""
    if status.findings:
        worst = status.findings[0]
        return Verdict(worst.tone, worst.code, worst.sentence)
    if status.facts.work is not None and status.facts.work.shards:
        return Verdict(Tone.SUCCESS, "running", "All systems operational. Workers are processing the queue.")
    return Verdict(Tone.SUCCESS, "idle", "All systems operational. The queue is empty.")
