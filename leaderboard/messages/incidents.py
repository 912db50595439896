"""Incidents: faults of this installation, reported to operators by email and on the status page."""

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now
from django.urls import reverse

from leaderboard.messages.models import Fault, Incident, Kind
from leaderboard.messages.outbox import enqueue, mail_payload
from leaderboard.people.models import User
from leaderboard.platform.database import database_now

MAIL_EVERY = timedelta(hours=1)
"""Interval of emails about one fault and suite."""


def open_incident(*, fault: Fault, suite: str, why: str) -> None:
    """Record a fault, and notify the operators.

    After: the incident is open; each operator with an address gets an email if none was sent within `MAIL_EVERY`.
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
    """Close an incident, unless the fault has occurred again meanwhile."""
    Incident.objects.filter(pk=incident.pk, seen=incident.seen).update(over=Now())


def claim_checks(*, fault: Fault, every: timedelta) -> list[Incident]:
    """Claim open incidents whose last check is older than `every`; the caller checks them."""
    due = Incident.objects.filter(fault=fault, over=None, checked__lte=Now() - every)
    return [incident for incident in due if due.filter(pk=incident.pk).update(checked=Now())]


def _mail_operators(incident: Incident) -> None:
    operators = User.objects.filter(is_active=True, is_staff=True).exclude(email="").order_by("pk")
    what = f"{incident.suite} {incident.get_fault_display()}"
    paragraphs = [
        f"The suite {what} since {incident.since:%Y-%m-%d %H:%M} UTC.",
        incident.why,
        f"Open the status page: {settings.SITE_URL}{reverse('status')}" if settings.SITE_URL else "",
    ]
    footer = "You get this email because you operate this site. While the fault persists, it is repeated every hour."
    for address in dict.fromkeys(operators.values_list("email", flat=True)):
        payload = mail_payload(to=address, subject=f"The suite {what}", paragraphs=paragraphs, footer=footer)
        enqueue(kind=Kind.MAIL, payload=payload, dedup_key=f"incident:{incident.pk}:{address}"[:200])
