"""Two-factor authentication, operators' rights, and the signed-in user of a request."""

import base64
import hashlib
import hmac
import re
import time
from pathlib import Path

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.core.management import CommandError, call_command
from django.template import Context, Template
from django.test import Client, RequestFactory, override_settings
from django.utils.functional import SimpleLazyObject

import leaderboard
from evaluator.core.values import encode
from leaderboard.evaluations.results.objects import server_store
from leaderboard.people.authentication import user_of
from leaderboard.people.models import User
from leaderboard.platform.models import Action, AuditEntry
from tests.leaderboard.factories import make_evaluation, make_user

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse battery"


def code_of(secret, *, ahead=0):
    """What an app shows (RFC 6238): now, or in the half minute after. A code is good once."""
    counter = (int(time.time()) // 30 + ahead).to_bytes(8, "big")
    digest = hmac.new(base64.b32decode(secret), counter, hashlib.sha1).digest()
    start = digest[-1] & 15
    return f"{(int.from_bytes(digest[start : start + 4], 'big') & 0x7FFFFFFF) % 1_000_000:06d}"


@pytest.fixture
def ada():
    user = make_user("ada")
    user.set_password(PASSWORD)
    user.save()
    return user


def sign_in(client):
    return client.post("/accounts/login/", {"login": "ada", "password": PASSWORD}, follow=True)


def turn_on(client):
    """Set up an app as a user does, and return its secret."""
    client.get("/accounts/2fa/totp/activate/")
    again = {"password": PASSWORD, "next": "/accounts/2fa/totp/activate/"}
    page = client.post("/accounts/reauthenticate/", again, follow=True).content.decode()
    secret = re.search(r'id="authenticator_secret" value="([A-Z2-7]+)"', page)[1]
    assert 'src="data:image/svg+xml' in page
    done = client.post("/accounts/2fa/totp/activate/", {"code": code_of(secret)}, follow=True)
    assert done.status_code == 200
    return secret


def test_who_has_it_is_asked_for_a_code_and_gets_in_with_none_but_the_right_one(client, ada):
    sign_in(client)
    secret = turn_on(client)
    kept = [str(row.data) for row in Authenticator.objects.all()]
    assert len(kept) == 2
    assert not any(secret in text for text in kept)
    other = Client()
    asked = sign_in(other)
    assert asked.request["PATH_INFO"] == "/accounts/2fa/authenticate/"
    assert other.get("/tokens/").status_code == 302
    wrong = other.post("/accounts/2fa/authenticate/", {"code": "000000"})
    assert "Incorrect code" in wrong.content.decode()
    other.post("/accounts/2fa/authenticate/", {"code": code_of(secret, ahead=1)})
    assert other.get("/tokens/").status_code == 200


def test_the_password_alone_makes_no_api_token_either(client, ada):
    basic = {"Authorization": "Basic " + base64.b64encode(f"ada:{PASSWORD}".encode()).decode()}
    post = {"path": "/api/v1/tokens/", "data": {}, "content_type": "application/json", "headers": basic}
    assert Client().post(**post).status_code == 201
    sign_in(client)
    turn_on(client)
    refused = Client().post(**post)
    assert refused.status_code == 401
    assert "second factor" in refused.json()["detail"]
    assert Client().get("/api/v1/tokens/", headers=basic).status_code == 401


@override_settings(OPERATORS_NEED_SECOND_FACTOR=True)
def test_staff_are_operators_only_with_a_second_factor(client, ada):
    User.objects.filter(pk=ada.pk).update(is_staff=True)
    sign_in(client)
    sent = client.get("/admin/", follow=True)
    assert sent.request["PATH_INFO"] == "/accounts/reauthenticate/"
    assert "next=/accounts/2fa/totp/activate/" in sent.request["QUERY_STRING"].replace("%2F", "/")
    assert "need two-factor authentication" in sent.content.decode()
    turn_on(client)
    assert client.get("/admin/").status_code == 200


def test_secrets_are_sealed_again_under_a_new_key_and_nobody_gets_in_by_one_that_no_key_opens(client, ada, settings):
    sign_in(client)
    secret = turn_on(client)
    settings.SECRETS_KEYS = ["new", *settings.SECRETS_KEYS]
    call_command("seal_again")
    settings.SECRETS_KEYS = ["new"]
    other = Client()
    sign_in(other)
    other.post("/accounts/2fa/authenticate/", {"code": code_of(secret, ahead=1)})
    assert other.get("/tokens/").status_code == 200
    settings.SECRETS_KEYS = ["another"]
    with pytest.raises(CommandError, match="second factor of ada"):
        call_command("seal_again")
    late = Client()
    sign_in(late)
    assert late.post("/accounts/2fa/authenticate/", {"code": "000000"}).status_code == 403
    assert late.get("/tokens/").status_code == 302


@pytest.mark.parametrize("needed", [True, False])
def test_without_it_staff_see_no_more_than_others_anywhere(client, ada, settings, tmp_path, needed):
    settings.OPERATORS_NEED_SECOND_FACTOR, settings.STORE_DIR = needed, tmp_path / "store"
    User.objects.filter(pk=ada.pk).update(is_staff=True)
    sign_in(client)
    digest = server_store(split="hidden").put(encode("hidden"))
    evaluation = make_evaluation()
    seen = (404, 404, 403) if needed else (200, 200, 200)
    addresses = (f"/hidden-objects/{digest}", f"/evaluations/{evaluation.pk}/log/")
    log = f"/api/v1/evaluations/{evaluation.pk}/log/"
    assert tuple(client.get(address).status_code for address in (*addresses, log)) == seen


def test_an_operator_lets_somebody_in_who_lost_everything(client, ada):
    sign_in(client)
    turn_on(client)
    call_command("take_off_second_factor", "ada")
    assert AuditEntry.objects.get().action == Action.SECOND_FACTOR_REMOVED
    other = Client()
    sign_in(other)
    assert other.get("/tokens/").status_code == 200
    with pytest.raises(CommandError, match="has no two-factor"):
        call_command("take_off_second_factor", "ada")
    with pytest.raises(CommandError, match="no user called 'eve'"):
        call_command("take_off_second_factor", "eve")


def test_the_user_of_a_request_is_found_behind_the_lazy_object_of_the_middleware():
    request = RequestFactory().get("/")
    user = User(pk=1, username="ada")
    request.user = SimpleLazyObject(lambda: user)
    assert user_of(request) == user


def test_a_view_without_its_login_required_shows_strangers_nothing():
    request = RequestFactory().get("/")
    request.user = AnonymousUser()
    with pytest.raises(PermissionDenied):
        user_of(request)


def test_operators_rights_are_asked_for_at_one_place():
    """Others would not ask for a second factor."""
    root = Path(leaderboard.__file__).parent
    found = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if "migrations" not in path.parts and ".is_staff" in path.read_text()
    }
    assert found <= {"platform/operators.py", "people/web/admin.py", "platform/web/admin.py"}


def test_what_is_escaped_stays_escaped_in_sentence_case():
    template = Template("{% load sentence_case %}{% filter sentence_case %}{{ name }}{% endfilter %}")
    assert template.render(Context({"name": "A <B"})) == "A &lt;B"
