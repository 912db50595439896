"""Faults of the installation: who is notified of them, how often, and what the status page says."""

from datetime import timedelta

import pytest
from django.db.models import F
from django.test import Client

from leaderboard.catalog.library import NOT_READY
from leaderboard.evaluations.models import Evaluation, Submission
from leaderboard.messages.incidents import open_incident
from leaderboard.messages.models import Fault, Incident, OutboxMessage
from leaderboard.operations.monitoring.status import site_status, verdict
from leaderboard.queue.reconcile import sweep
from tests.leaderboard.factories import make_evaluation, make_suite, make_user
from tests.leaderboard.platform.api.helpers import client_of
from tests.leaderboard.queue.job_helpers import ended
from tests.leaderboard.queue.test_crash_points import run

pytestmark = pytest.mark.django_db
UNPREPARED = "tests.fakes.evaluator.UnpreparedEvaluator"
BODY = {"planner": {"name": "p", "kind": "bundled", "bundled_name": "gold"}, "suites": ["openagi"]}


@pytest.fixture
def operator(settings):
    settings.OPERATORS_NEED_SECOND_FACTOR = False
    user = make_user("operator")
    user.is_staff = True
    user.save()
    return user


def mails() -> list[tuple[str, str, str]]:
    messages = OutboxMessage.objects.filter(kind="mail").order_by("created")
    return [(one.payload["to"], one.payload["subject"], one.payload["text"]) for one in messages]


def hours_pass(hours: float) -> None:
    """Shift the times of all incidents back."""
    span = timedelta(hours=hours)
    Incident.objects.update(
        since=F("since") - span, seen=F("seen") - span, checked=F("checked") - span, mailed=F("mailed") - span
    )


def status_page(user=None) -> str:
    client = Client()
    if user:
        client.force_login(user)
    return " ".join(client.get("/status/").content.decode().split())


class TestASuiteThatCannotBeEvaluated:
    @pytest.fixture(autouse=True)
    def unprepared(self, settings):
        settings.EVALUATOR = UNPREPARED
        make_suite(slug="openagi")

    def submit(self):
        return client_of(make_user()).post("submissions/", BODY)

    def test_operators_and_nobody_else_get_at_most_one_mail_in_an_hour_and_for_each_suite(self, operator):
        for _ in range(3):
            refused = self.submit()
            assert (refused.status_code, refused.json()["code"]) == (503, "not_ready")
            assert refused.json()["detail"] == NOT_READY
        assert not Submission.objects.exists()
        [(to, subject, text)] = mails()
        assert (to, subject) == ("operator@example.org", "The suite openagi cannot be evaluated")
        assert "there are no weights" in text
        hours_pass(0.9)
        self.submit()
        assert len(mails()) == 1
        hours_pass(0.2)
        OutboxMessage.objects.update(sent_at=F("created"))
        self.submit()
        assert len(mails()) == 2
        open_incident(fault=Fault.NOT_READY, suite="tool100", why="there are no data")
        assert [subject for _, subject, _ in mails()][2:] == ["The suite tool100 cannot be evaluated"]

    def test_only_operators_read_why_on_the_status_page(self, operator):
        self.submit()
        line = "The site cannot evaluate suite openagi since"
        shown = status_page(operator)
        assert (line in shown, "there are no weights" in shown) == (True, True)
        for reader in (None, make_user()):
            shown = status_page(reader)
            assert (line in shown, "there are no weights" in shown) == (False, False)
            assert "Evaluation on openagi is paused" in shown
        assert Client().get("/api/v1/status/").json()["code"] == "paused"

    def test_the_status_page_finds_out_that_it_is_over(self, settings, operator):
        self.submit()
        hours_pass(0.1)
        assert "paused" in status_page()
        settings.EVALUATOR = "tests.fakes.evaluator.FakeEvaluator"
        hours_pass(0.001)
        assert "paused" in status_page()
        hours_pass(0.1)
        assert "paused" not in status_page(operator)
        assert "cannot evaluate" not in status_page(operator)

    def test_one_that_occurs_again_begins_anew_and_still_sends_one_mail_in_an_hour(self, operator):
        self.submit()
        hours_pass(0.5)
        before = Incident.objects.get()
        Incident.objects.update(over=F("seen"))
        assert verdict(site_status()).code == "idle"
        self.submit()
        after = Incident.objects.get()
        assert (after.over, after.since > before.since) == (None, True)
        assert len(mails()) == 1


def test_a_hub_that_is_away_is_no_fault_of_the_installation(settings, operator):
    settings.HUB_URL = "http://127.0.0.1:9"
    make_suite(slug="openagi")
    planner = {"name": "p", "kind": "hub", "model_id": "org/name", "strategy": "openagi/zero-shot"}
    api = client_of(make_user())
    job = ended(api, api.post("submissions/", {"planner": planner, "suites": ["openagi"]}))
    assert job["problem"]["code"] == "not_ready", job
    assert not Incident.objects.exists()
    assert not mails()


def test_scores_that_cannot_be_computed_notify_operators_until_an_evaluation_completes(launcher, settings, operator):
    settings.EVALUATOR = "tests.fakes.evaluator.UnsummarisingEvaluator"
    evaluation = make_evaluation()
    sweep()
    run(evaluation)
    sweep()
    Evaluation.objects.update(state_deadline=F("state_since"))
    sweep()
    evaluation.refresh_from_db()
    assert evaluation.reason == "aggregate_failed"
    assert "The operators have been notified." in evaluation.reason_text
    notified = [text for to, _, text in mails() if to == operator.email]
    assert len(notified) == 1
    assert f"evaluation {evaluation.pk} could not be computed" in notified[0]
    assert f"The site cannot compute scores of suite {evaluation.suite.slug} since" in status_page(operator)
    assert verdict(site_status()).code == "idle"
    settings.EVALUATOR = "tests.fakes.evaluator.FakeEvaluator"
    later = make_evaluation(suite=evaluation.suite)
    sweep()
    run(later)
    sweep()
    assert "cannot compute" not in status_page(operator)
