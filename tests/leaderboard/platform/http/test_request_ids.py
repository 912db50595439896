"""The id of a request: on error pages, in problem documents, in the header and in the logs, always the same one."""

import asyncio
import json
import logging
import re

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse

from gpu_jobs.logs.lines import named, present_ids
from leaderboard.platform.http.request_ids import HEADER, current_request_id, identified
from tests.leaderboard.factories import make_user

PAGES = ("400", "403", "403_csrf", "404", "405", "429", "500", "503")


@pytest.mark.parametrize("page", PAGES)
def test_every_error_page_shows_the_id_to_copy_without_a_database(page):
    with named(request="abcdef-0123"):
        shown = render_to_string(f"{page}.html", {"title": "Disk full", "heading": "The disk is full"})
    assert '<code id="request-id">abcdef-0123</code>' in shown
    assert 'data-copy="request-id"' in shown
    assert "Request id" not in render_to_string(f"{page}.html")


@pytest.mark.django_db
def test_the_id_on_a_page_is_the_one_in_the_header():
    visitor = Client(enforce_csrf_checks=True, raise_request_exception=False)
    visitor.force_login(make_user())
    html = {"Accept": "text/html"}
    answers = {
        400: visitor.get("/?q=%00"),
        403: visitor.post(reverse("planners:submit"), headers=html),
        404: visitor.get("/nothing/here/"),
        405: visitor.get("/webhooks/00000000-0000-4000-8000-000000000000/remove/", headers=html),
    }
    for status, answer in answers.items():
        assert answer.status_code == status
        (shown,) = re.findall(r'<code id="request-id">(.*?)</code>', answer.content.decode())
        assert shown == answer.headers[HEADER]
    assert len({answer.headers[HEADER] for answer in answers.values()}) == len(answers)


@pytest.mark.django_db
def test_a_failed_view_is_logged_with_the_id_that_its_page_shows(monkeypatch):
    ids = []

    class Handler(logging.Handler):
        def emit(self, record):
            ids.append(present_ids().get("request"))

    def fail(*_, **__):
        raise RuntimeError("a defect")

    monkeypatch.setattr("leaderboard.operations.web.monitoring.views.checked_status", fail)
    logger = logging.getLogger("django.request")
    handler = Handler()
    logger.addHandler(handler)
    try:
        answer = Client(raise_request_exception=False).get(reverse("status"))
    finally:
        logger.removeHandler(handler)
    assert answer.status_code == 500
    (shown,) = re.findall(r'<code id="request-id">(.*?)</code>', answer.content.decode())
    assert ids == [shown] == [answer.headers[HEADER]]


@pytest.mark.django_db
def test_a_problem_document_has_the_id():
    answer = Client().get("/api/v1/suites/nothing/tasks/")
    assert answer.status_code == 404
    assert answer.json()["request_id"] == answer.headers[HEADER]


def sent(application, *, headers=()):
    messages = []

    async def send(message):
        messages.append(message)

    async def receive():
        return {"type": "http.request", "body": b""}

    scope = {"type": "http", "path": "/", "headers": list(headers)}
    asyncio.run(identified(application)(scope, receive, send))
    return messages


def test_requests_that_are_refused_before_django_have_an_id_too(settings):
    async def refuse(scope, receive, send):
        body = json.dumps({"request_id": current_request_id()}).encode()
        await send({"type": "http.response.start", "status": 413, "headers": [(b"a", b"b")]})
        await send({"type": "http.response.body", "body": body})

    settings.TRUST_PROXY = True
    for given, is_kept in ((b"from-the-proxy-1", True), (b"short", False), (b"a\xff" * 8, False), (b"", False)):
        start, body = sent(refuse, headers=[(b"x-request-id", given)] if given else [])
        (found,) = [value for name, value in start["headers"] if name == b"x-request-id"]
        assert (found == given) == is_kept
        assert json.loads(body["body"])["request_id"] == found.decode()
    settings.TRUST_PROXY = False
    start, _ = sent(refuse, headers=[(b"x-request-id", b"from-the-proxy-1")])
    assert dict(start["headers"])[b"x-request-id"] != b"from-the-proxy-1"
