"""The privacy page: what it says is true of this software, and it names the operator where there is one."""

import re
from datetime import timedelta

from django.conf import settings as site
from django.test import Client

from leaderboard.accounts.addresses import KEEP_UNCONFIRMED
from leaderboard.docs_pages.chapters import DOCS
from leaderboard.jobs.services import KEPT
from leaderboard.notifications.dispatching import KEEP_GIVEN_UP, KEEP_SENT

TEXT = " ".join((DOCS / "privacy.md").read_text().split())


def page() -> str:
    answer = Client().get("/docs/privacy/")
    assert answer.status_code == 200
    return answer.content.decode()


def test_it_names_the_operator_and_their_contact(settings):
    settings.OPERATOR, settings.CONTACT = "Institute <of Planning>", "privacy@arena.example"
    assert "Institute &lt;of Planning&gt;" in page()
    assert 'href="mailto:privacy@arena.example"' in page()


def test_the_times_that_it_tells_are_those_of_the_code():
    days = site.SESSION_COOKIE_AGE // 86_400
    assert f"as whom | staying signed in | {days} days" in TEXT
    assert timedelta(days=1) == KEEP_SENT
    assert f"a day after they were sent, {KEEP_GIVEN_UP.days} days if they could not be" in TEXT
    assert f"{site.UNUSED_CHECKPOINT_HOURS} hours if you do not submit them" in TEXT
    assert timedelta(hours=1) == KEPT
    assert "the result | an hour after they ended" in TEXT
    assert timedelta(days=7) == KEEP_UNCONFIRMED
    assert "not confirmed within seven days" in TEXT


def test_it_names_every_cookie_that_the_site_sets(client, db):
    client.get("/accounts/login/")
    named = set(re.findall(r"`(\w+)`", TEXT))
    assert {site.SESSION_COOKIE_NAME, site.CSRF_COOKIE_NAME, "messages"} <= named
    assert set(client.cookies) <= named
