"""Pages of worker tokens and webhooks, and what the submit form says before one submits."""

import re

import pytest
from django.test import Client
from django.utils import timezone

from leaderboard.audit.models import Action, AuditEntry
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.notifications import dispatching
from leaderboard.notifications.models import Kind, OutboxMessage, Webhook
from leaderboard.notifications.signing import opened, sealed
from leaderboard.queue.models import WorkerToken
from leaderboard.queue.workers.own import runs_on_own_worker
from tests.leaderboard.factories import (
    holder,
    make_evaluation,
    make_lease,
    make_season,
    make_suite,
    make_team,
    make_user,
)

pytestmark = pytest.mark.django_db
FORM = {"kind": "bundled", "bundled_name": "gold", "name": "mine"}


@pytest.fixture
def ada(client: Client):
    user = make_user("ada")
    client.force_login(user)
    return user


class TestWorkerTokens:
    def test_a_token_is_shown_once_in_a_command_that_is_ready_and_can_be_revoked(self, client, ada):
        page = client.post("/worker-tokens/", {"name": "desktop"})
        assert "no-store" in page.headers["Cache-Control"]
        command = re.search(r'id="new-command"[^>]*>([^<]+)<', page.content.decode())[1]
        token, rest = re.fullmatch(r"PLANARENA_WORKER_TOKEN=(\S+) (.+)", command).groups()
        assert rest == "./planarena worker --url http://testserver --device cuda"
        assert holder(token).owner_id == ada.pk
        listed = client.get("/worker-tokens/").content.decode()
        assert token not in listed
        assert "desktop" in listed
        row = WorkerToken.objects.get()
        client.force_login(make_user("eve"))
        client.post(f"/worker-tokens/{row.pk}/revoke/")
        assert holder(token)
        client.force_login(ada)
        client.post(f"/worker-tokens/{row.pk}/revoke/")
        assert holder(token) is None

    def test_a_wrong_name_is_told_beside_its_field(self, client, ada):
        page = client.post("/worker-tokens/", {"name": "x" * 81})
        assert page.status_code == 400
        assert "1 to 80 characters" in page.content.decode()


class TestMails:
    def test_a_choice_is_kept_and_shown(self, client, ada):
        page = client.get("/webhooks/").content.decode()
        (chosen,) = re.findall(r'<input[^>]*name="mails"[^>]*checked[^>]*>', page)
        assert 'value="needed"' in chosen
        assert client.post("/mails/", {"mails": "ended"}).status_code == 302
        ada.refresh_from_db()
        assert ada.mails == "ended"

    def test_what_is_no_choice_changes_nothing(self, client, ada):
        page = client.post("/mails/", {"mails": "always"}, follow=True)
        assert "Choose one of none, needed, ended" in page.content.decode()
        ada.refresh_from_db()
        assert ada.mails == "needed"

    def test_the_api_does_the_same(self, client, ada):
        assert client.get("/api/v1/mails/").json() == {"mails": "needed"}
        answer = client.put("/api/v1/mails/", {"mails": "none"}, content_type="application/json")
        assert (answer.status_code, answer.json()) == (200, {"mails": "none"})
        assert client.put("/api/v1/mails/", {"mails": "?"}, content_type="application/json").status_code == 400


class TestWebhooks:
    def test_one_is_added_its_secret_shown_once_and_removed(self, client, ada):
        page = client.post("/webhooks/", {"url": "https://example.org/hook"})
        webhook = Webhook.objects.get()
        assert (webhook.owner, webhook.url) == (ada, "https://example.org/hook")
        secret = opened(webhook.secret)
        assert secret in page.content.decode()
        assert secret not in client.get("/webhooks/").content.decode()
        client.post(f"/webhooks/{webhook.pk}/remove/")
        assert not Webhook.objects.exists()
        assert [entry.action for entry in AuditEntry.objects.order_by("pk")] == [
            Action.WEBHOOK_ADDED,
            Action.WEBHOOK_REMOVED,
        ]
        assert secret not in str(list(AuditEntry.objects.values()))

    @pytest.mark.parametrize(
        ("url", "sentence"),
        [
            ("ftp://example.org", "must begin with http"),
            ("http://private.example.org", "private"),
            ("https://exa mple.org", "Give an address"),
            ("https://example.org/hook", "already"),
        ],
    )
    def test_a_wrong_address_is_told_beside_its_field(self, client, ada, url, sentence):
        Webhook.objects.create(owner=ada, url="https://example.org/hook", secret="s")
        page = client.post("/webhooks/", {"url": url})
        assert page.status_code == 400
        assert sentence in " ".join(page.context["form"].errors["url"])
        assert Webhook.objects.count() == 1

    def test_there_are_only_so_many(self, client, ada, monkeypatch):
        monkeypatch.setattr("leaderboard.notifications.webhooks.MOST_WEBHOOKS", 1)
        client.post("/webhooks/", {"url": "https://example.org/one"})
        assert "the maximum" in client.post("/webhooks/", {"url": "https://example.org/2"}).content.decode()

    def test_a_test_is_sent_signed_and_what_became_of_it_is_shown(self, client, ada, monkeypatch):
        webhook = Webhook.objects.create(owner=ada, url="https://example.org/hook", secret=sealed("s"))
        posted = []
        monkeypatch.setattr("leaderboard.notifications.senders._post", lambda **call: posted.append(call) or (500, 0.0))
        client.post(f"/webhooks/{webhook.pk}/test/")
        client.post(f"/webhooks/{webhook.pk}/test/")
        assert OutboxMessage.objects.filter(kind=Kind.WEBHOOK).count() == 1
        dispatching.dispatch()
        assert posted[0]["url"] == webhook.url
        assert b'"event":"test"' in posted[0]["body"]
        html = client.get("/webhooks/").content.decode()
        assert "Waiting" in html
        assert "the receiver answered HTTP 500" in html

    def test_somebody_else_s_is_neither_tested_nor_removed_nor_shown(self, client, ada):
        webhook = Webhook.objects.create(owner=make_user(), url="https://example.org/hook", secret="s")
        client.post(f"/webhooks/{webhook.pk}/test/")
        client.post(f"/webhooks/{webhook.pk}/remove/")
        assert Webhook.objects.exists()
        assert not OutboxMessage.objects.exists()
        assert "example.org/hook" not in client.get("/webhooks/").content.decode()

    def test_what_was_sent_and_what_was_given_up_is_named_so(self, client, ada):
        webhook = Webhook.objects.create(owner=ada, url="https://example.org/hook", secret="s")
        event = {"event": "evaluation", "planner": "gold", "suite": "openagi", "state": "completed"}
        payload = {"webhook": str(webhook.pk), "event": event}
        now = timezone.now()
        OutboxMessage.objects.create(kind=Kind.WEBHOOK, payload=payload, sent_at=now)
        OutboxMessage.objects.create(kind=Kind.WEBHOOK, payload=payload, given_up_at=now, last_error="gone away")
        html = client.get("/webhooks/").content.decode()
        for text in ("Sent", "Given up", "gone away", "gold on openagi: completed"):
            assert text in html


class TestSubmitForm:
    def test_the_box_leaves_it_to_the_own_worker(self, client, ada):
        suite = make_suite()
        client.post("/submit/", {**FORM, "suites": [suite.slug], "own_worker": "on"})
        assert runs_on_own_worker(Evaluation.objects.get().pk)

    def test_what_only_our_workers_may_see_is_refused_beside_the_box(self, client, ada, settings):
        settings.SPLIT = "hidden"
        suite = make_suite()
        make_season()
        page = client.post("/submit/", {**FORM, "suites": [suite.slug], "own_worker": "on"})
        assert page.status_code == 400
        assert "has hidden data on this site" in page.content.decode()
        assert not Evaluation.objects.exists()

    def test_teams_are_offered_to_who_is_in_one(self, client, ada):
        suite = make_suite()
        assert b'name="team"' not in client.get("/submit/bundled/").content
        make_team(ada, name="lab")
        make_team(name="others")
        html = client.get("/submit/bundled/").content.decode()
        assert '<option value="lab">' in html
        assert 'value="others"' not in html
        client.post("/submit/", {**FORM, "suites": [suite.slug], "team": "lab"})
        assert Evaluation.objects.get().submission.team.slug == "lab"

    def test_the_quota_that_is_left_is_said(self, client, ada, settings):
        settings.QUOTA_PER_SUITE_AND_DAY, settings.QUOTA_PER_DAY = 3, 5
        settings.TEAM_QUOTA_PER_SUITE_AND_DAY, settings.TEAM_QUOTA_PER_DAY = 0, 7
        suite = make_suite(slug="openagi")
        make_team(ada, name="lab")
        make_evaluation(user=ada, suite=suite)
        html = client.get("/submit/bundled/").content.decode()
        assert "4 of 5 evaluations left" in html
        assert "openagi: 2 of 3 left" in html
        assert "7 of 7 evaluations left" in html

    def test_the_queue_is_said(self, client, ada, launcher):
        assert "Your evaluation starts when" in client.get("/submit/bundled/").content.decode()
        evaluation = make_evaluation(state=EvaluationState.LAUNCHING, suite=make_suite(runnable=20))
        make_lease(evaluation)
        assert "3 shards of 1 evaluation waiting, 1 of them leased" in client.get("/submit/bundled/").content.decode()
