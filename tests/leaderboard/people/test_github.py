"""Signing in with GitHub, against a server that answers like it."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.account.models import EmailAddress
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.models import SocialAccount
from allauth.socialaccount.providers.github.views import GitHubOAuth2Adapter

from evaluator.network.egress_policy import egress_policy
from leaderboard.people.models import User
from tests.fakes.serving import in_a_thread
from tests.leaderboard.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def github(monkeypatch):
    """A GitHub with one user, who agrees to everything."""
    answers = {
        "/token": {"access_token": "t-1", "token_type": "bearer", "scope": "read:user,user:email"},
        "/user": {"id": 583231, "login": "octo", "name": "Octo Cat", "html_url": "https://github.com/octo"},
        "/emails": [{"email": "octo@example.org", "primary": True, "verified": True}],
    }
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            sent = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            asked.append((self.path, self.headers.get("Authorization"), parse_qs(sent)))
            content = json.dumps(answers[urlsplit(self.path).path]).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET

        def log_message(self, *_):
            pass

    with in_a_thread(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as base:
        for name, path in (("access_token_url", "/token"), ("profile_url", "/user"), ("emails_url", "/emails")):
            monkeypatch.setattr(GitHubOAuth2Adapter, name, base + path)
        yield asked


def go(client, *, process="login"):
    """Through GitHub's page and back, as the browser is sent."""
    left = client.post(f"/accounts/github/login/?process={process}")
    target = urlsplit(left["Location"])
    assert (target.hostname, target.path) == ("github.com", "/login/oauth/authorize")
    query = parse_qs(target.query)
    assert query["client_id"] == ["client-of-the-tests"]
    callback = urlsplit(query["redirect_uri"][0]).path
    return client.get(callback, {"code": "c-1", "state": query["state"][0]}, follow=True)


def test_a_new_user_gets_their_name_and_their_confirmed_address(client, github):
    assert "Continue with GitHub" in client.get("/accounts/login/").content.decode()
    assert go(client).status_code == 200
    user = User.objects.get(username="octo")
    address = EmailAddress.objects.get(user=user)
    assert (address.email, address.verified) == ("octo@example.org", True)
    assert client.get("/tokens/").status_code == 200
    assert github[0][2]["client_secret"] == ["secret-of-the-tests"]
    client.logout()
    go(client)
    assert User.objects.count() == 1


def test_an_address_alone_opens_nobody_elses_account(client, github):
    owner = make_user("ada")
    EmailAddress.objects.create(user=owner, email="octo@example.org", verified=True, primary=True)
    page = go(client)
    assert page.request["PATH_INFO"] == "/accounts/3rdparty/signup/"
    assert client.get("/tokens/").status_code == 302
    assert not SocialAccount.objects.filter(user=owner).exists()
    page = client.post("/accounts/3rdparty/signup/", {"username": "octo", "email": "octo@example.org"})
    assert "An account with this address already exists" in page.content.decode()
    assert not User.objects.filter(username="octo").exists()


@pytest.mark.parametrize("email", ["taken@example.org", "free@example.org"])
def test_an_address_that_github_did_not_confirm_is_taken_whether_or_not_somebody_has_it(
    client, github, settings, email
):
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    for name, address in (("ada", "octo@example.org"), ("bea", "taken@example.org")):
        EmailAddress.objects.create(user=make_user(name), email=address, verified=True, primary=True)
    go(client)
    page = client.post("/accounts/3rdparty/signup/", {"username": "octo", "email": email})
    assert (page.status_code, page["Location"]) == (302, "/accounts/confirm-email/")
    assert not EmailAddress.objects.filter(user__username="octo", verified=True).exists()


def test_an_answer_that_was_not_asked_for_signs_nobody_in(client, github):
    page = client.get("/accounts/github/login/callback/", {"code": "c-1", "state": "forged"})
    assert "error" in page.content.decode().lower()
    assert client.get("/tokens/").status_code == 302
    assert not User.objects.exists()


def test_the_way_to_github_is_allowed_as_target_of_a_form(client):
    policy = client.get("/accounts/login/").headers["Content-Security-Policy"]
    assert "form-action 'self' https://github.com;" in policy + ";"


def test_github_is_asked_through_the_egress_proxy(settings, monkeypatch):
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    settings.EGRESS = egress_policy({"PLANARENA_EGRESS_PROXY": "http://proxy.invalid:3128"})
    session = get_adapter().get_requests_session()
    assert session.proxies == dict.fromkeys(("http", "https"), "http://proxy.invalid:3128")
    assert session.trust_env is False
    monkeypatch.setenv("NO_PROXY", "github.com")
    assert get_adapter().get_requests_session().proxies == {}
