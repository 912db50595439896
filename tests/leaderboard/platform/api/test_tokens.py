"""Personal tokens through the API: how they are made, what each may do, and how often."""

from base64 import b64encode
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.db.models.functions import Now
from django.test import Client
from knox.models import AuthToken
from rest_framework.settings import api_settings

from leaderboard.people.models import TokenScopes
from leaderboard.people.services import create_token
from leaderboard.platform.api.throttling import Throttle, forget_refused
from leaderboard.platform.models import CacheEntry
from tests.leaderboard.factories import PASSWORD, make_evaluation, make_suite, make_user
from tests.leaderboard.platform.api.helpers import ApiClient, client_of

pytestmark = pytest.mark.django_db


def basic(name: str, password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + b64encode(f"{name}:{password}".encode()).decode()}


def make(headers: dict[str, str], body: dict | None = None):
    return Client().post("/api/v1/tokens/", body or {}, content_type="application/json", headers=headers)


def test_a_token_is_made_with_a_password_of_a_user_or_address_and_with_a_session():
    user = make_user()
    made = make(basic(user.username, PASSWORD), {"days": 3})
    assert made.status_code == 201
    token = made.json()["token"]
    assert token.startswith("pa_")
    assert ApiClient(token).get("submissions/").status_code == 200
    assert AuthToken.objects.get().digest not in token
    assert make(basic(user.email, PASSWORD)).status_code == 201
    session = Client()
    session.force_login(user)
    assert session.post("/api/v1/tokens/", {}, content_type="application/json").status_code == 201


def test_no_token_is_made_with_a_wrong_password_a_token_or_a_session_without_the_csrf_token():
    user = make_user()
    assert make(basic(user.username, "wrong")).status_code == 401
    session = Client(enforce_csrf_checks=True)
    session.force_login(user)
    assert session.post("/api/v1/tokens/", {}, content_type="application/json").status_code == 403
    assert not AuthToken.objects.exists()
    assert client_of(user).post("tokens/").status_code == 403


def test_a_token_ends_and_has_a_name_that_can_be_shown():
    user = make_user()
    for wrong, complaint in [
        *(({"days": days}, "1 to 365") for days in (0, 366, -1)),
        *(({"name": name}, "") for name in ("x" * 81, "two\nlines")),
    ]:
        response = make(basic(user.username, PASSWORD), wrong)
        assert response.status_code == 400
        assert complaint in response.json()["errors"][next(iter(wrong))][0]


def test_one_sees_and_revokes_one_s_own_tokens_only():
    mine, other = client_of(make_user()), client_of(make_user())
    (shown,) = mine.get("tokens/").json()
    assert set(shown) == {"id", "name", "created", "expires", "last_used", "scopes"}
    assert other.delete(f"tokens/{shown['id']}/").status_code == 404
    assert mine.delete(f"tokens/{shown['id']}/").status_code == 204
    assert mine.get("tokens/").status_code == 401
    for value in ("Bearer \xff\xfe", "Token \xff"):
        assert Client().get("/api/v1/quota/", headers={"Authorization": value}).status_code == 401


def test_an_address_that_is_not_confirmed_makes_no_token_where_it_must_be(settings):
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    user = make_user()
    assert make(basic(user.username, PASSWORD)).status_code == 401
    user.emailaddress_set.create(email=user.email, verified=True, primary=True)
    assert make(basic(user.username, PASSWORD)).status_code == 201


def test_a_token_tells_when_it_was_last_used_with_one_write_a_minute():
    from leaderboard.people.models import TokenScopes

    client = client_of(make_user())
    assert TokenScopes.objects.get().last_used is None
    client.get("tokens/")
    first = TokenScopes.objects.get().last_used
    assert first is not None
    (shown,) = client.get("tokens/").json()
    assert shown["last_used"] == first.isoformat().replace("+00:00", "Z")
    assert TokenScopes.objects.get().last_used == first


def body(suite) -> dict:
    return {"planner": {"name": "mine", "kind": "bundled", "bundled_name": "gold"}, "suites": [suite.slug]}


@pytest.mark.parametrize(
    ("scopes", "reads", "submits", "manages"),
    [
        (["read"], 200, 403, 403),
        (["submit"], 403, 201, 403),
        (["manage"], 403, 403, 201),
        (["read", "submit"], 200, 201, 403),
    ],
)
def test_a_token_may_do_what_its_scopes_say(scopes, reads, submits, manages):
    client, suite = client_of(make_user(), scopes=scopes), make_suite()
    assert client.get("evaluations/").status_code == client.get("quota/").status_code == reads
    assert client.post("submissions/", body(suite)).status_code == submits
    assert client.post("teams/", {"slug": "lab", "name": "Lab"}).status_code == manages


def test_acting_on_an_evaluation_needs_submit():
    owner = make_user()
    path = f"evaluations/{make_evaluation(user=owner).pk}/cancel/"
    refused = client_of(owner, scopes=["read", "manage"]).post(path)
    assert (refused.status_code, refused.json()["code"]) == (403, "scope_missing")
    assert refused.json()["detail"] == "This needs a token with the scope 'submit'; yours has: read, manage."
    assert client_of(owner, scopes=["submit"]).post(path).status_code == 200


def test_scopes_that_there_are_not_are_named(client):
    client.force_login(make_user())
    for scopes, sentence in (([], "at least one"), (["all"], "not a valid choice"), ("read", "list")):
        answer = client.post("/api/v1/tokens/", {"scopes": scopes}, content_type="application/json")
        assert (answer.status_code, sentence in str(answer.json()["errors"])) == (400, True)
    assert not TokenScopes.objects.exists()


def test_a_new_token_is_good_for_a_pipeline_and_a_token_without_scopes_for_nothing():
    user = make_user()
    made = create_token(user=user)
    assert made.scopes == ["read", "submit"]
    TokenScopes.objects.all().delete()
    assert ApiClient(made.token).get("evaluations/").status_code == 403


def test_answers_say_how_often_one_may_still_ask(monkeypatch):
    cache.clear()
    rates = {**api_settings.DEFAULT_THROTTLE_RATES, "changes": "2/min"}
    monkeypatch.setattr(Throttle, "THROTTLE_RATES", rates)
    client = client_of(make_user())
    first = client.post("teams/", {})
    assert first.headers["RateLimit-Policy"] == '"changes";q=2;w=60'
    assert first.headers["RateLimit"] in {'"changes";r=1;t=60', '"changes";r=1;t=59'}
    client.post("webhooks/", {})
    refused = client.post("teams/", {})
    assert (refused.status_code, refused.json()["code"]) == (429, "throttled")
    assert 0 < int(refused.headers["Retry-After"]) <= 60
    assert '"changes";r=0;' in refused.headers["RateLimit"]
    assert "RateLimit" not in client.get("teams/").headers
    assert client_of(make_user()).post("teams/", {}).status_code == 400


class TestReading:
    @pytest.fixture(autouse=True)
    def few(self, settings):
        cache.clear()
        settings.API_READS_PER_MINUTE = {"reads": 3, "anonymous-reads": 2}

    def test_strangers_are_counted_by_address_and_users_by_themselves(self):
        for client, scope, limit in ((ApiClient(), "anonymous-reads", 2), (client_of(make_user()), "reads", 3)):
            answers = [client.get("suites/") for _ in range(limit + 1)]
            assert [answer.status_code for answer in answers] == [200] * limit + [429]
            assert answers[0].headers["RateLimit-Policy"] == f'"{scope}";q={limit};w=60'
            assert answers[0].headers["RateLimit"] == f'"{scope}";r={limit - 1};t=60'
        assert client_of(make_user()).get("suites/").status_code == 200

    def test_who_is_refused_learns_when_to_come_back_and_may_then(self):
        stranger = ApiClient()
        assert stranger.get("suites/").status_code == 200
        CacheEntry.objects.update(expires_at=Now() + timedelta(seconds=12))
        refused = [stranger.get("suites/") for _ in range(3)][-1]
        assert (refused.status_code, refused.json()["code"]) == (429, "throttled")
        assert refused.headers["Retry-After"] == "12"
        assert refused.headers["RateLimit"] == '"anonymous-reads";r=0;t=12'
        CacheEntry.objects.update(expires_at=Now())
        forget_refused()
        assert stranger.get("suites/").status_code == 200

    def test_none_are_refused_where_the_operator_sets_no_limit(self, settings):
        settings.API_READS_PER_MINUTE = {"reads": 0, "anonymous-reads": 0}
        answers = [ApiClient().get("suites/") for _ in range(5)]
        assert all(answer.status_code == 200 and "RateLimit" not in answer.headers for answer in answers)
