"""Pages of worker tokens and webhooks, and what the submit form says before one submits."""

import re

import pytest
from django.test import Client

from leaderboard.audit.models import Action, AuditEntry
from leaderboard.evaluations.models import Evaluation
from leaderboard.notifications.models import Webhook
from leaderboard.notifications.signing import opened
from leaderboard.queue.models import WorkerToken
from leaderboard.queue.workers.own import runs_on_own_worker
from tests.leaderboard.factories import (
    holder,
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


class TestMails:
    def test_a_choice_is_kept_and_shown(self, client, ada):
        page = client.get("/webhooks/").content.decode()
        (chosen,) = re.findall(r'<input[^>]*name="mails"[^>]*checked[^>]*>', page)
        assert 'value="needed"' in chosen
        assert client.post("/mails/", {"mails": "ended"}).status_code == 302
        ada.refresh_from_db()
        assert ada.mails == "ended"

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
