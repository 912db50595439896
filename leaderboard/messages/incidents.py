"""Notifying operators of faults of this installation: by mail, and as rows that the status page shows."""

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now
from django.urls import reverse

from leaderboard.messages.models import Fault, Incident, Kind
from leaderboard.messages.outbox import enqueue
from leaderboard.people.models import User
from leaderboard.platform.database import database_now

MAIL_EVERY = timedelta(hours=1)
"""At most one mail per fault and suite in this time."""


def open_incident(*, fault: Fault, suite: str, why: str) -> None:
    """Note that a fault occurred, and notify the operators unless they were notified lately.

    After: the incident is open; each operator with an address gets a mail if none was sent within `MAIL_EVERY`.
    """
    with transaction.atomic():
        now = database_now()
        first = {"why": why, "since": now, "seen": now, "checked": now}
        Incident.objects.get_or_create(fault=fault, suite=suite, defaults=first)
        incident = Incident.objects.select_for_update().get(fault=fault, suite=suite)
        if incident.over is not None:
            incident.since, incident.over = now, None
        due = incident.mailed is None or now - incident.mailed >= MAIL_EVERY
        incident.why, incident.seen = why, now
        incident.mailed = now if due else incident.mailed
        incident.save()
        if due:
            _mail_operators(incident)


def close_incident(incident: Incident) -> None:
    """Note that the fault is over. One that occurred again meanwhile stays open."""
    Incident.objects.filter(pk=incident.pk, seen=incident.seen).update(over=Now())


def claim_checks(*, fault: Fault, every: timedelta) -> list[Incident]:
    """Open incidents that nobody has checked for so long; the caller is to check them now."""
    due = Incident.objects.filter(fault=fault, over=None, checked__lte=Now() - every)
    claimed = []
    for incident in due:
        claimed += [incident] if due.filter(pk=incident.pk).update(checked=Now()) else []
    return claimed


def _mail_operators(incident: Incident) -> None:
    operators = User.objects.filter(is_active=True, is_staff=True).exclude(email="").order_by("pk")
    lines = [
        f"Suite {incident.suite} {incident.get_fault_display()} since {incident.since:%Y-%m-%d %H:%M} UTC:",
        "",
        incident.why,
    ]
    if settings.SITE_URL:
        lines += ["", f"Status: {settings.SITE_URL}{reverse('status')}"]
    subject = f"PlanArena: suite {incident.suite} {incident.get_fault_display()}"
    for address in dict.fromkeys(operators.values_list("email", flat=True)):
        payload = {"to": address, "subject": subject, "text": "\n".join(lines) + "\n"}
        enqueue(kind=Kind.MAIL, payload=payload, dedup_key=f"incident:{incident.pk}:{address}"[:200])
