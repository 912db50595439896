"""Where to report a vulnerability."""

from datetime import datetime, timedelta

import pytest
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


def test_the_contact_may_be_a_page(settings):
    assert fields(settings, CONTACT="https://arena.example/report")["Contact"] == "https://arena.example/report"


def test_without_a_contact_there_is_none(settings):
    settings.CONTACT = ""
    assert Client().get("/.well-known/security.txt").status_code == 404


@pytest.mark.parametrize("text", ["", "a@b.example", "https://arena.example/contact?about=security"])
def test_what_is_a_contact(text):
    assert is_contact(text)


@pytest.mark.parametrize(
    "text",
    ["nobody", "http://arena.example", "a@b.example\nContact: x@y.example", "javascript:alert(1)@b.example", "a b@c.d"],
)
def test_what_is_none(text):
    assert not is_contact(text)
