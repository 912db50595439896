"""Pages for people with an account, the docs and the error pages."""

import re

import pytest
from django.test import Client

from leaderboard.evaluations.models import Evaluation
from leaderboard.planners.models import Planner
from tests.leaderboard.pages.factories import make_evaluation, make_planner, make_suite, make_user

pytestmark = pytest.mark.django_db
ENDPOINT = {
    "kind": "endpoint",
    "endpoint_url": "https://example.org/plan",
    "timeout_seconds": "20",
    "name": "remote",
    "suites": ["openagi"],
}


@pytest.fixture
def ada(client: Client):
    user = make_user()
    client.force_login(user)
    return user


def test_an_endpoint_is_submitted_and_its_evaluation_opens(client: Client, ada):
    make_suite()
    page = client.post("/submit/", ENDPOINT, follow=True)
    evaluation = Evaluation.objects.get()
    assert page.redirect_chain == [(f"/evaluations/{evaluation.pk}/", 302)]
    planner = evaluation.submission.planner
    assert (planner.owner, planner.endpoint_url, planner.timeout_seconds) == (ada, ENDPOINT["endpoint_url"], 20)


def test_a_bundled_planner_is_submitted_whatever_was_typed_for_an_endpoint(client: Client, ada):
    make_suite()
    page = client.post("/submit/", {**ENDPOINT, "kind": "bundled", "bundled_name": "gold"})
    assert page.status_code == 302
    assert Planner.objects.get().endpoint_url == ""


@pytest.mark.parametrize(
    ("change", "field", "sentence"),
    [
        ({"endpoint_url": ""}, "endpoint_url", "Give the address of your endpoint"),
        ({"endpoint_url": "ftp://example.org"}, "endpoint_url", "must begin with http"),
        ({"endpoint_url": "http://private.example.org"}, "endpoint_url", "private"),
        ({"timeout_seconds": "0"}, "timeout_seconds", "1 to 300"),
        ({"timeout_seconds": "soon"}, "timeout_seconds", "whole number"),
        ({"name": ""}, "name", "required"),
        ({"name": "x" * 81}, "name", "80"),
        ({"suites": []}, "suites", "required"),
        ({"suites": ["nothing"]}, "suites", "nothing"),
        ({"kind": "bundled", "bundled_name": "other"}, "bundled_name", "other"),
    ],
)
def test_an_error_stands_beside_its_field_with_status_400(client: Client, ada, change, field, sentence):
    make_suite()
    page = client.post("/submit/", {**ENDPOINT, **change})
    assert page.status_code == 400
    assert sentence in " ".join(page.context["form"].errors[field])
    assert "Please correct the form." in page.content.decode()
    assert not Planner.objects.exists()


@pytest.mark.parametrize("kind", ["", "other"])
def test_without_a_kind_the_kinds_are_offered_with_status_400(client: Client, ada, kind):
    page = client.post("/submit/", {**ENDPOINT, "kind": kind})
    assert (page.status_code, b'href="/submit/endpoint/"' in page.content) == (400, True)
    for address in ("/submit/check/", "/submit/test/"):
        assert client.post(address, {**ENDPOINT, "kind": kind}).status_code == 400
    assert not Planner.objects.exists()


def test_what_was_typed_is_kept_after_an_error(client: Client, ada):
    make_suite()
    html = client.post("/submit/", {**ENDPOINT, "name": ""}).content.decode()
    assert 'value="https://example.org/plan"' in html
    assert 'aria-invalid="true"' in html


def test_a_site_that_cannot_evaluate_says_so_in_the_form_and_keeps_what_was_typed(client: Client, ada, settings):
    settings.EVALUATOR = "tests.fakes.evaluator.UnpreparedEvaluator"
    make_suite()
    page = client.post("/submit/", ENDPOINT)
    assert page.status_code == 503
    html = page.content.decode()
    assert "This site cannot evaluate this suite at present" in html
    assert 'value="https://example.org/plan"' in html
    assert not Planner.objects.exists()


@pytest.mark.parametrize(
    "address", ["/submit/", "/submissions/", "/tokens/", "/worker-tokens/", "/webhooks/", "/teams/"]
)
def test_pages_for_people_with_an_account_ask_to_sign_in(client: Client, address: str):
    page = client.get(address)
    assert page.status_code == 302
    assert page.headers["Location"] == f"/accounts/login/?next={address}"


def test_submissions_lists_only_ones_own(client: Client, ada, django_assert_max_num_queries):
    assert b"You have no submissions" in client.get("/submissions/").content
    suite = make_suite()
    for number in range(5):
        make_evaluation(planner=make_planner(owner=ada, name=f"mine {number}"), suite=suite)
    make_evaluation(planner=make_planner(owner=make_user("eve"), name="of somebody else"), suite=suite)
    with django_assert_max_num_queries(6):
        html = client.get("/submissions/").content.decode()
    assert re.findall(r'class="planner-name"[^>]*>(mine \d)', html) == [
        "mine 4",
        "mine 3",
        "mine 2",
        "mine 1",
        "mine 0",
    ]
    assert "of somebody else" not in html


def test_submissions_show_scores_and_what_can_be_done(client: Client, ada):
    suite = make_suite()
    value = {"mean": 0.625, "low": None, "high": None, "tasks": 8}
    summary = {"metrics": {suite.ranking_column.key: value}, "outcomes": {}}
    make_evaluation(planner=make_planner(owner=ada, name="done"), suite=suite, state="completed", summary=summary)
    make_evaluation(planner=make_planner(owner=ada, name="held"), suite=suite, state="on_hold")
    make_evaluation(planner=make_planner(owner=ada, name="new"), suite=suite, state="queued")
    html = client.get("/submissions/").content.decode()
    found = dict(re.findall(r'class="planner-name"[^>]*>(\w+)</a>(.*?)</tbody>', html, re.S))
    offered = {name: re.findall(r"/evaluations/[^/]+/(\w+)/", row) for name, row in found.items()}
    assert offered == {"new": ["cancel"], "held": ["resume", "accept", "cancel"], "done": ["rerun"]}
    assert "0.625" in found["done"]
    assert "no score" in found["new"]


def test_a_token_is_shown_once_works_and_can_be_revoked(client: Client, ada):
    page = client.post("/tokens/", {"name": "nightly pipeline", "days": "30", "scopes": ["read"]})
    assert "no-store" in page.headers["Cache-Control"]
    token = re.search(r'id="new-token"[^>]*>([^<]+)<', page.content.decode())[1]
    listed = client.get("/tokens/").content.decode()
    assert token not in listed
    assert "nightly pipeline" in listed
    assert "Never" in listed
    bearer = {"Authorization": f"Bearer {token}"}
    assert Client().get("/api/v1/tokens/", headers=bearer).status_code == 200
    token_id = re.search(r"/tokens/([^/]+)/revoke/", listed)[1]
    other = Client()
    other.force_login(make_user("eve"))
    other.post(f"/tokens/{token_id}/revoke/")
    assert Client().get("/api/v1/tokens/", headers=bearer).status_code == 200
    client.post(f"/tokens/{token_id}/revoke/")
    assert Client().get("/api/v1/tokens/", headers=bearer).status_code in {401, 403}


@pytest.mark.parametrize("days", ["0", "366", "soon", ""])
def test_a_token_with_an_impossible_life_is_refused_beside_the_field(client: Client, ada, days: str):
    page = client.post("/tokens/", {"name": "ci", "days": days, "scopes": ["read"]})
    assert page.status_code == 400
    assert page.context["form"].errors["days"]


@pytest.mark.parametrize("name", ["", " ", "x" * 81, "two\nlines"])
def test_a_token_needs_a_name_on_one_line(client: Client, ada, name: str):
    page = client.post("/tokens/", {"name": name, "days": "30", "scopes": ["read"]})
    assert page.status_code == 400
    assert page.context["form"].errors["name"]


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


@pytest.mark.parametrize(
    "address",
    ["/accounts/login/", "/accounts/signup/", "/accounts/password/reset/", "/docs/", "/accounts/password/reset/done/"],
)
def test_open_pages_wear_the_sites_clothes(client: Client, address: str):
    page = client.get(address)
    assert page.status_code == 200
    assert b'class="site-header"' in page.content


@pytest.mark.parametrize(
    "address",
    ["/accounts/password/change/", "/accounts/email/", "/accounts/logout/"],
)
def test_account_pages_wear_the_sites_clothes(client: Client, ada, address: str):
    page = client.get(address)
    assert page.status_code == 200
    assert b'class="site-header"' in page.content


@pytest.mark.parametrize("address", ["/", "/docs/", "/accounts/login/", "/submit/", "/tokens/", "/nothing/"])
def test_no_page_needs_inline_script_or_style_or_another_host(client: Client, ada, address: str):
    make_suite()
    html = client.get(address, follow=True).content.decode()
    assert not re.search(r"<style|\sstyle=|\son\w+=", html)
    assert not re.search(r"<script(?![^>]*\ssrc=)", html)
    assert not re.search(r'(?:src|href)="(?:https?:)?//', html)


def test_a_form_without_its_token_gets_the_designed_refusal():
    page = Client(enforce_csrf_checks=True).post("/submit/", ENDPOINT)
    assert page.status_code == 403
    assert b"This form has expired" in page.content


def test_an_error_on_our_side_gets_the_designed_page(client: Client, monkeypatch: pytest.MonkeyPatch):
    client.raise_request_exception = False
    monkeypatch.setattr("leaderboard.boards.pages.views.latest_snapshots", lambda **_: 1 / 0)
    page = client.get("/")
    assert page.status_code == 500
    assert b"Server error" in page.content
