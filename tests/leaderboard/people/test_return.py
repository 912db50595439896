"""Readers return to where they wanted to go: after signing in, signing up and confirming an address."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.core.cache import cache
from django.test import Client

from leaderboard.people.models import User
from tests.leaderboard.factories import PASSWORD, make_suite, make_user

pytestmark = pytest.mark.django_db
WANTED = "/submit/endpoint/"


@pytest.fixture(autouse=True)
def confirming(settings):
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    cache.clear()
    make_suite()


def link(page: str, *, text: str) -> str:
    """The address behind a link with this text."""
    return re.search(rf'href="([^"]+)"[^>]*>\s*{text}\s*<', page)[1].replace("&amp;", "&")


def sign_up(client: Client, address: str) -> str:
    """Sign up on this page as its form does, and return the link of the email."""
    page = client.get(address).content.decode()
    target = re.search(r'name="next" value="([^"]*)"', page)
    data = {"username": "newcomer", "email": "new@example.org", "password1": PASSWORD, "password2": PASSWORD}
    client.post("/accounts/signup/", data | ({"next": target[1]} if target else {}))
    return re.search(r"(/accounts/confirm-email/\S+)", mail.outbox[-1].body)[1]


def confirm(client: Client, address: str) -> str:
    """Open the link and confirm; the path where the browser ends."""
    page = client.get(address).content.decode()
    target = re.search(r'name="next" value="([^"]*)"', page)
    action = re.search(r'action="(/accounts/confirm-email/[^"]+)"', page)[1]
    answer = client.post(action, {"next": target[1]} if target else {}, follow=True)
    assert EmailAddress.objects.get(email="new@example.org").verified
    return answer.request["PATH_INFO"] + (f"?{query}" if (query := answer.request["QUERY_STRING"]) else "")


def entrance(client: Client) -> str:
    """The address of the sign-up page, by the links that somebody follows who wants to submit."""
    sign_in = client.get(WANTED)
    assert sign_in.status_code == 302
    return link(client.get(sign_in.headers["Location"]).content.decode(), text="sign up")


def test_the_browser_that_signed_up_is_signed_in_by_its_confirmation_and_lands_there():
    client = Client()
    assert confirm(client, sign_up(client, entrance(client))) == WANTED


def test_another_browser_signs_in_first_and_then_lands_there():
    here, there = Client(), Client()
    landed = confirm(there, sign_up(here, entrance(here)))
    assert urlsplit(landed).path == "/accounts/login/"
    assert parse_qs(urlsplit(landed).query) == {"next": [WANTED]}
    data = {"login": "newcomer", "password": PASSWORD, "next": WANTED}
    assert there.post("/accounts/login/", data).headers["Location"] == WANTED


@pytest.mark.parametrize("target", [WANTED, "https://evil.example/"])
def test_a_forgotten_password_is_no_detour(target):
    user, client = make_user("other"), Client()
    User.objects.filter(pk=user.pk).update(email="other@example.org")
    EmailAddress.objects.create(user=user, email="other@example.org", verified=True, primary=True)
    page = client.get("/accounts/login/", {"next": target}).content.decode()
    forgotten = re.search(r'href="(/accounts/password/reset/[^"]*)"', page)[1].replace("&amp;", "&")
    form = client.get(forgotten).content.decode()
    kept = re.search(r'name="return_to"[^>]*?value="([^"]*)"', form)
    entered = {"email": "other@example.org", "return_to": kept[1] if kept else target}
    asked = client.post("/accounts/password/reset/", entered)
    assert asked.headers["Location"] == "/accounts/password/reset/done/"
    address = re.search(r"(/accounts/password/reset/key/\S+)", mail.outbox[-1].body)[1]
    shown = client.get(address, follow=True)
    hidden = re.search(r'name="next" value="([^"]*)"', shown.content.decode())
    passwords = {"password1": "another word 7 horse", "password2": "another word 7 horse"}
    ended = client.post(shown.request["PATH_INFO"], passwords | ({"next": hidden[1]} if hidden else {}))
    if target == WANTED:
        assert parse_qs(urlsplit(ended.headers["Location"]).query) == {"next": [WANTED]}
    else:
        assert ended.headers["Location"] == "/accounts/password/reset/key/done/"


def test_the_links_in_the_header_lead_back_to_the_page_and_not_away_from_the_site():
    client = Client()
    assert (
        link(client.get("/docs/ci/?a=1").content.decode(), text="Sign in")
        == "/accounts/login/?next=%2Fdocs%2Fci%2F%3Fa%3D1"
    )
    assert link(client.get("/").content.decode(), text="Sign up") == "/accounts/signup/"
    there = client.get("/accounts/login/", {"next": WANTED}).content.decode()
    assert link(there, text="Sign up") == "/accounts/signup/?next=%2Fsubmit%2Fendpoint%2F"


@pytest.mark.parametrize(
    "foreign", ["https://evil.example/", "//evil.example/", "javascript:alert(1)", "/\\evil.example"]
)
def test_foreign_addresses_are_dropped_everywhere(foreign):
    client = Client()
    page = client.get("/accounts/login/", {"next": foreign}).content.decode()
    assert link(page, text="Sign up") == "/accounts/signup/"
    confirmed = sign_up(client, f"/accounts/signup/?next={foreign}")
    assert "next" not in confirmed
    assert confirm(client, confirmed) == "/"
    user = make_user("other")
    EmailAddress.objects.create(user=user, email="other@example.org", verified=True, primary=True)
    answer = Client().post("/accounts/login/", {"login": "other", "password": PASSWORD, "next": foreign})
    assert answer.headers["Location"] == "/"
    key = confirmed.split("/")[3]
    away = Client().post(f"/accounts/confirm-email/{key}/", {"next": foreign})
    assert "evil" not in away.headers.get("Location", "")
