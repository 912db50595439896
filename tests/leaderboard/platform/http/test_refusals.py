"""Addresses that only take forms, lack their last slash or hold a null byte, and that of a site's security contact."""

import asyncio
from datetime import datetime, timedelta

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient, Client, override_settings
from django.urls import reverse
from django.utils import timezone

from leaderboard.evaluations.models import Submission
from leaderboard.platform.environment import is_contact
from leaderboard.platform.http.middleware import api_with_slash
from tests.leaderboard.factories import make_suite, make_user
from tests.leaderboard.platform.api.helpers import client_of
from tests.leaderboard.test_permissions import World, address, ask, make_world
from tests.routes import METHODS, named_routes, table

pytestmark = pytest.mark.django_db

ADDRESS = "/webhooks/00000000-0000-4000-8000-000000000000/remove/"


@pytest.fixture
def reader(client):
    client.force_login(make_user())
    return client


def test_a_person_gets_a_page_with_the_status_and_what_would_be_right(reader):
    page = reader.get(ADDRESS, headers={"Accept": "text/html,application/xhtml+xml"})
    assert (page.status_code, page.headers["Allow"]) == (405, "POST")
    assert "Method not allowed" in page.content.decode()


def test_programs_get_the_bare_status(reader):
    for accept in ("*/*", "application/json"):
        answer = reader.get(ADDRESS, headers={"Accept": accept})
        assert (answer.status_code, answer.content) == (405, b"")


def test_the_api_keeps_its_problem_documents(reader):
    answer = reader.delete("/api/v1/suites/", headers={"Accept": "text/html, */*"})
    assert answer.status_code == 405
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_the_server_of_the_site_does_so_too():
    client = AsyncClient()
    answer = async_to_sync(client.post)("/health/live", headers={"Accept": "text/html"})
    assert answer.status_code == 405
    assert "Method not allowed" in answer.content.decode()


@pytest.mark.parametrize("client", [Client, AsyncClient])
def test_an_address_with_a_null_byte_is_refused(client):
    get = client().get if client is Client else async_to_sync(client().get)
    assert get("/health/live?q=%00").status_code == 400
    assert get("/health/live").status_code == 200
    answer = get("/api/v1/evaluations/00000000-0000-4000-8000-000000000000/results/%00/")
    assert (answer.status_code, answer.json()["code"]) == (400, "unstorable")


@pytest.fixture
def world(settings, tmp_path, launcher) -> World:
    settings.STORE_DIR = tmp_path / "store"
    return make_world(tmp_path)


def test_a_submission_is_taken_without_the_slash(launcher):
    make_suite(slug="openagi")
    planner = {"name": "mine", "kind": "bundled", "bundled_name": "gold"}
    answer = client_of(make_user()).post("submissions", {"planner": planner, "suites": ["openagi"]})
    assert answer.status_code == 201
    assert Submission.objects.count() == 1


@pytest.mark.full
def test_every_address_of_the_api_answers_the_same_without_its_slash(world):
    differing, walked = [], 0
    for name, parameters in named_routes():
        route = table()[name]
        if not name.startswith("api:") or route.permissions_elsewhere:
            continue
        path = address(route, parameters, world)
        for method in METHODS:
            for role in ("anonymous", "owner", "attempt"):
                walked += 1
                with_slash = ask(role, name=name, path=path, method=method, world=world)
                without = ask(role, name=name, path=path.rstrip("/"), method=method, world=world)
                if with_slash != without:
                    differing.append(f"{method} {path} by {role}: {with_slash} and {without}")
    assert not differing, "\n".join(differing)
    assert walked > 500


def test_a_form_that_is_sent_without_the_slash_is_taken():
    client = Client()
    client.force_login(make_user())
    path = reverse("accounts:tokens")
    sent = client.post(path.rstrip("/"), {"name": "nightly"})
    assert sent.status_code == client.post(path, {"name": "nightly"}).status_code
    assert client.get(path.rstrip("/")).status_code == 301


@override_settings(SECURE_SSL_REDIRECT=True)
def test_a_redirect_to_https_keeps_the_method():
    assert Client().post("/api/v1/submissions/").status_code == 308
    assert Client().get("/api/v1/suites/").status_code == 301


def test_the_parts_before_django_see_the_slash():
    scopes = []

    async def application(scope, receive, send):
        scopes.append(scope)

    for path in ("/api/v1/checkpoints", "/api/v1/suites/", "/boards"):
        asyncio.run(api_with_slash(application)({"type": "http", "path": path, "raw_path": path.encode()}, None, None))
    seen = ["/api/v1/checkpoints/", "/api/v1/suites/", "/boards"]
    assert [(scope["path"], scope["raw_path"].decode()) for scope in scopes] == [(path, path) for path in seen]


def fields(settings, **values) -> dict[str, str]:
    for name, value in values.items():
        setattr(settings, name, value)
    answer = Client().get("/.well-known/security.txt")
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    return dict(line.split(": ", 1) for line in answer.content.decode().splitlines())


def test_it_names_the_contact_of_the_site_and_expires_within_a_year(settings):
    found = fields(settings, CONTACT="security@arena.example", SITE_URL="https://arena.example")
    assert found["Contact"] == "mailto:security@arena.example"
    assert found["Canonical"] == "https://arena.example/.well-known/security.txt"
    left = datetime.fromisoformat(found["Expires"]) - timezone.now()
    assert timedelta(days=30) < left < timedelta(days=365)
    page = "https://arena.example/report"
    assert fields(settings, CONTACT=page)["Contact"] == page
    settings.CONTACT = ""
    assert Client().get("/.well-known/security.txt").status_code == 404


def test_what_is_a_contact():
    for text in ("", "a@b.example", "https://arena.example/contact?about=security"):
        assert is_contact(text)
    forged = ("a@b.example\nContact: x@y.example", "javascript:alert(1)@b.example")
    for text in ("nobody", "http://arena.example", "a b@c.d", *forged):
        assert not is_contact(text)
