"""Personal tokens through the API."""

from base64 import b64encode

import pytest
from django.test import Client
from knox.models import AuthToken

from tests.leaderboard.factories import PASSWORD, make_user
from tests.leaderboard.site.api.helpers import ApiClient, client_of

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
    from leaderboard.accounts.models import TokenScopes

    client = client_of(make_user())
    assert TokenScopes.objects.get().last_used is None
    client.get("tokens/")
    first = TokenScopes.objects.get().last_used
    assert first is not None
    (shown,) = client.get("tokens/").json()
    assert shown["last_used"] == first.isoformat().replace("+00:00", "Z")
    assert TokenScopes.objects.get().last_used == first
