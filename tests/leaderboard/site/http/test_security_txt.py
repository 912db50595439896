"""Where to report a vulnerability."""

from datetime import datetime, timedelta

from django.test import Client
from django.utils import timezone

from leaderboard.site.environment import is_contact


def fields(settings, **values) -> dict[str, str]:
    for name, value in values.items():
        setattr(settings, name, value)
    answer = Client().get("/.well-known/security.txt")
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    return dict(line.split(": ", 1) for line in answer.content.decode().splitlines())


def test_it_names_the_contact_of_the_site_and_expires_within_a_year(settings):
    found = fields(settings, CONTACT="security@arena.example", SITE_URL="https://arena.example")
    assert found["Contact"] == "mailto:security@arena.example"
    assert found["Canonical"] == "https://arena.example/.well-known/security.txt"
    left = datetime.fromisoformat(found["Expires"]) - timezone.now()
    assert timedelta(days=30) < left < timedelta(days=365)
    page = "https://arena.example/report"
    assert fields(settings, CONTACT=page)["Contact"] == page
    settings.CONTACT = ""
    assert Client().get("/.well-known/security.txt").status_code == 404


def test_what_is_a_contact():
    for text in ("", "a@b.example", "https://arena.example/contact?about=security"):
        assert is_contact(text)
    forged = ("a@b.example\nContact: x@y.example", "javascript:alert(1)@b.example")
    for text in ("nobody", "http://arena.example", "a b@c.d", *forged):
        assert not is_contact(text)
