"""Addresses that only take forms, or that nothing can be done with, say so to who visits them."""

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient, Client

from tests.leaderboard.factories import make_user

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
