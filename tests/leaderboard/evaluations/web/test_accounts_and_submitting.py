"""Pages for people with an account: submitting, tokens, worker tokens and webhooks; the error pages."""

import re

import pytest
from django.test import Client

from evaluator.core.suites.registry import suite_of
from leaderboard.catalog.services import register_suite
from leaderboard.evaluations.models import Evaluation
from leaderboard.messages.models import Webhook
from leaderboard.messages.webhooks import decrypt_secret
from leaderboard.planners.models import Planner
from leaderboard.platform.models import Action, AuditEntry
from leaderboard.queue.models import WorkerToken
from leaderboard.queue.workers.own import runs_on_own_worker
from tests.leaderboard.evaluations.web.factories import make_evaluation, make_planner, make_suite, make_user
from tests.leaderboard.factories import holder, make_season, make_team

pytestmark = pytest.mark.django_db
ENDPOINT = {
    "kind": "endpoint",
    "endpoint_url": "https://example.org/plan",
    "timeout_seconds": "20",
    "name": "remote",
    "suites": ["openagi"],
}
BUNDLED = {"kind": "bundled", "bundled_name": "gold", "name": "mine", "suites": ["openagi"]}


@pytest.fixture
def ada(client: Client):
    user = make_user()
    client.force_login(user)
    return user


def test_an_endpoint_is_submitted_and_its_evaluation_opens(client: Client, ada):
    make_suite()
    page = client.post("/submit/", ENDPOINT, follow=True)
    evaluation = Evaluation.runs.get()
    assert page.redirect_chain == [(f"/evaluations/{evaluation.pk}/", 302)]
    planner = evaluation.submission.planner
    assert (planner.owner, planner.endpoint_url, planner.timeout_seconds) == (ada, ENDPOINT["endpoint_url"], 20)


def test_who_submits_to_two_suites_learns_where_both_evaluations_are(client: Client, ada):
    make_suite()
    register_suite(suite_of("toolmini"))
    page = client.post("/submit/", {**ENDPOINT, "suites": ["openagi", "toolmini"]}, follow=True).content.decode()
    assert Evaluation.runs.count() == 2
    assert "This page follows the first of 2 evaluations; all are under Submissions." in page


def test_a_bundled_planner_is_submitted_whatever_was_typed_for_an_endpoint(client: Client, ada):
    make_suite()
    assert client.post("/submit/", {**ENDPOINT, "kind": "bundled", "bundled_name": "gold"}).status_code == 302
    assert Planner.objects.get().endpoint_url == ""


def test_a_site_that_cannot_evaluate_says_so_in_the_form_and_keeps_what_was_typed(client: Client, ada, settings):
    settings.EVALUATOR = "tests.fakes.evaluator.UnpreparedEvaluator"
    make_suite()
    page = client.post("/submit/", ENDPOINT)
    html = page.content.decode()
    assert (page.status_code, "This site cannot evaluate this suite at present" in html) == (503, True)
    assert 'value="https://example.org/plan"' in html
    assert not Planner.objects.exists()


def test_the_box_leaves_it_to_a_self_hosted_worker_unless_only_ours_may_see_the_data(client: Client, ada, settings):
    make_suite()
    settings.SPLIT = "hidden"
    make_season()
    page = client.post("/submit/", {**BUNDLED, "own_worker": "on"})
    assert page.status_code == 400
    assert "has hidden data on this site" in page.content.decode()
    settings.SPLIT = "public"
    client.post("/submit/", {**BUNDLED, "own_worker": "on"})
    assert runs_on_own_worker(Evaluation.runs.get().pk)


def test_teams_are_offered_to_their_members(client: Client, ada):
    make_suite()
    assert b'name="team"' not in client.get("/submit/bundled/").content
    make_team(ada, name="lab")
    make_team(name="others")
    html = client.get("/submit/bundled/").content.decode()
    assert '<option value="lab">' in html
    assert 'value="others"' not in html
    client.post("/submit/", {**BUNDLED, "team": "lab"})
    assert Evaluation.runs.get().submission.team.slug == "lab"


def test_submissions_show_scores_and_what_can_be_done(client: Client, ada):
    suite = make_suite()
    value = {"mean": 0.625, "low": None, "high": None, "tasks": 8}
    summary = {"metrics": {suite.ranking_column.key: value}, "outcomes": {}}
    make_evaluation(planner=make_planner(owner=ada, name="done"), suite=suite, state="completed", summary=summary)
    make_evaluation(planner=make_planner(owner=ada, name="held"), suite=suite, state="on_hold")
    make_evaluation(planner=make_planner(owner=ada, name="new"), suite=suite, state="queued")
    make_evaluation(planner=make_planner(owner=make_user("eve"), name="others"), suite=suite, state="queued")
    html = client.get("/submissions/").content.decode()
    found = dict(re.findall(r'class="planner-name"[^>]*>(\w+)</a>(.*?)</tbody>', html, re.S))
    offered = {name: re.findall(r"/evaluations/[^/]+/(\w+)/", row) for name, row in found.items()}
    assert offered == {"new": ["cancel"], "held": ["resume", "accept", "cancel"], "done": ["rerun"]}
    assert "0.625" in found["done"]


def test_a_token_is_shown_once_works_and_can_be_revoked(client: Client, ada):
    page = client.post("/tokens/", {"name": "nightly pipeline", "days": "30", "scopes": ["read"]})
    assert "no-store" in page.headers["Cache-Control"]
    token = re.search(r'id="new-token"[^>]*>([^<]+)<', page.content.decode())[1]
    listed = client.get("/tokens/").content.decode()
    assert token not in listed
    assert "nightly pipeline" in listed
    bearer = {"Authorization": f"Bearer {token}"}
    token_id = re.search(r"/tokens/([^/]+)/revoke/", listed)[1]
    other = Client()
    other.force_login(make_user("eve"))
    other.post(f"/tokens/{token_id}/revoke/")
    assert Client().get("/api/v1/tokens/", headers=bearer).status_code == 200
    client.post(f"/tokens/{token_id}/revoke/")
    assert Client().get("/api/v1/tokens/", headers=bearer).status_code in {401, 403}


def test_a_token_with_an_impossible_life_or_name_is_refused_beside_the_field(client: Client, ada):
    wrong = [("days", days) for days in ("0", "366", "soon", "")]
    wrong += [("name", name) for name in ("", " ", "x" * 81, "two\nlines")]
    for field, value in wrong:
        page = client.post("/tokens/", {"name": "ci", "days": "30", "scopes": ["read"], field: value})
        assert (page.status_code, list(page.context["form"].errors)) == (400, [field]), value


def test_a_worker_token_is_shown_once_in_a_command_that_is_ready_and_can_be_revoked(client, ada):
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


def test_mails_are_chosen_on_the_page_and_through_the_api(client, ada):
    (chosen,) = re.findall(r'<input[^>]*name="mails"[^>]*checked[^>]*>', client.get("/webhooks/").content.decode())
    assert 'value="needed"' in chosen
    assert client.post("/mails/", {"mails": "ended"}).status_code == 302
    assert client.get("/api/v1/mails/").json() == {"mails": "ended"}
    assert client.put("/api/v1/mails/", {"mails": "none"}, content_type="application/json").status_code == 200
    assert client.put("/api/v1/mails/", {"mails": "?"}, content_type="application/json").status_code == 400
    ada.refresh_from_db()
    assert ada.mails == "none"


def test_a_webhook_is_added_its_secret_shown_once_and_removed(client, ada):
    page = client.post("/webhooks/", {"url": "https://example.org/hook"})
    webhook = Webhook.objects.get()
    assert (webhook.owner, webhook.url) == (ada, "https://example.org/hook")
    secret = decrypt_secret(webhook.secret)
    assert secret in page.content.decode()
    assert secret not in client.get("/webhooks/").content.decode()
    client.post(f"/webhooks/{webhook.pk}/remove/")
    assert not Webhook.objects.exists()
    actions = list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))
    assert actions == [Action.WEBHOOK_ADDED, Action.WEBHOOK_REMOVED]
    assert secret not in str(list(AuditEntry.objects.values()))


def test_sign_up_sign_out_and_sign_in(client: Client):
    form = {"username": "newcomer", "email": "new@example.org", "password1": "a long pass phrase"}
    page = client.post("/accounts/signup/", {**form, "password2": "a long pass phrase"}, follow=True)
    assert b"Submissions" in page.content
    client.post("/accounts/logout/")
    assert b"Sign in" in client.get("/").content
    wrong = client.post("/accounts/login/", {"login": "newcomer", "password": "wrong"})
    assert b"not correct" in wrong.content
    page = client.post("/accounts/login/?next=/tokens/", {"login": "newcomer", "password": "a long pass phrase"})
    assert page.headers["Location"] == "/tokens/"


def test_no_page_needs_inline_script_or_style_or_another_host(client: Client, ada):
    make_suite()
    for address in ("/", "/docs/", "/accounts/login/", "/submit/", "/tokens/", "/nothing/"):
        html = client.get(address, follow=True).content.decode()
        for unwanted in (r"<style|\sstyle=|\son\w+=", r"<script(?![^>]*\ssrc=)", r'(?:src|href)="(?:https?:)?//'):
            assert not re.search(unwanted, html), (address, unwanted)


def test_a_form_without_its_token_and_an_error_on_our_side_get_the_designed_pages(client: Client, monkeypatch):
    page = Client(enforce_csrf_checks=True).post("/submit/", ENDPOINT)
    assert (page.status_code, b"This form has expired" in page.content) == (403, True)
    client.raise_request_exception = False
    monkeypatch.setattr("leaderboard.boards.web.home_views.latest_snapshots", lambda **_: 1 / 0)
    page = client.get("/")
    assert (page.status_code, b"Server error" in page.content) == (500, True)
