"""Addresses without their last slash: nothing that is sent to them becomes a GET."""

import asyncio

import pytest
from django.test import Client, override_settings
from django.urls import reverse

from leaderboard.evaluations.models import Submission
from leaderboard.site.http.requests import api_with_slash
from tests.leaderboard.factories import make_suite, make_user
from tests.leaderboard.site.api.helpers import client_of
from tests.leaderboard.test_permissions import World, address, ask, make_world
from tests.routes import METHODS, named_routes, table

pytestmark = pytest.mark.django_db


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
