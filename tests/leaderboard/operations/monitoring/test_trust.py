"""The page about the operator: declarations, what is in force, and what was measured. Nothing is invented."""

import pytest
from django.urls import reverse
from django.utils import timezone

from leaderboard.operations.models import Moment
from leaderboard.operations.monitoring.facts import BACKUP
from leaderboard.people.models import User
from tests.leaderboard.factories import make_submission, make_suite, make_user

pytestmark = pytest.mark.django_db


def text_of(client):
    return " ".join(client.get(reverse("trust")).content.decode().split())


def test_what_the_operator_left_empty_is_not_declared(client):
    page = text_of(client)
    assert page.count("not declared by the operator") == 6
    assert "none on record" in page
    assert "No incident is on record." in page
    assert "not measured" in page


def test_declarations_and_periods_in_force_are_shown_escaped(client, settings):
    settings.OPERATOR, settings.CONTACT = "Lab <A>", "arena@example.org"
    settings.LEGAL, settings.CONFLICTS, settings.APPEAL_DAYS = "https://example.org/legal", "we rank our own", 14
    settings.KEEP_ATTEMPT_DAYS, settings.COLLECT_ROWS = 30, True
    Moment.objects.create(name=BACKUP, at=timezone.now())
    page = text_of(client)
    assert "not declared by the operator" not in page
    assert "Lab &lt;A&gt;" in page
    assert 'href="mailto:arena@example.org"' in page
    assert 'href="https://example.org/legal"' in page
    assert "The operator declares: we rank our own" in page
    assert "<dd>14 days</dd>" in page
    assert "<dd>30 days after their end</dd>" in page
    assert "none on record" not in page
    settings.COLLECT_ROWS = False
    assert "<dd>30 days after their end, when the operator collects garbage</dd>" in text_of(client)


def test_only_public_planners_of_operators_are_listed_and_marked(client):
    operator, other = make_user(), make_user()
    User.objects.filter(pk=operator.pk).update(is_staff=True)
    suite = make_suite()
    shown = make_submission(user=operator, suite=suite, name="of-the-operator").planner
    make_submission(user=operator, suite=suite, name="private-one", seen={"visibility": "private"})
    theirs = make_submission(user=other, suite=suite, name="of-a-user").planner
    page = text_of(client)
    assert "of-the-operator" in page
    assert "private-one" not in page
    assert "of-a-user" not in page
    assert "operator's own" in client.get(reverse("profiles:planner", args=[shown.pk])).content.decode()
    assert "operator's own" not in client.get(reverse("profiles:planner", args=[theirs.pk])).content.decode()


def test_every_page_links_to_it(client):
    assert f'href="{reverse("trust")}"' in client.get(reverse("boards:home")).content.decode()
