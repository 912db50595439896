"""Bodies are read up to what their address takes, and large ones from known callers only."""

import asyncio
import json

import pytest

from leaderboard.config.bodies import BodyLimits, BoundedBodies

SMALL, MOST, UPLOAD = 100, 200, 1000


class Callers:
    """Knows all callers or none, and counts how often it is asked."""

    def __init__(self, *, known):
        self.known, self.asked = known, 0

    def __call__(self, scope):
        self.asked += 1
        return self.known


def ask(pieces, *, announced: str = "", path="/", callers=None):
    """Status that the caller sees, and what the application received, None if it was not asked at all."""
    received: list[bytes] | None = None
    sent = []

    async def application(scope, receive, send):
        nonlocal received
        received = []
        while (message := await receive())["type"] == "http.request":
            received.append(message["body"])
            if not message["more_body"]:
                await send({"type": "http.response.start", "status": 200, "headers": []})
                await send({"type": "http.response.body", "body": b""})
                return

    waiting = [
        {"type": "http.request", "body": piece, "more_body": number < len(pieces) - 1}
        for number, piece in enumerate(pieces)
    ]

    async def receive():
        return waiting.pop(0)

    async def send(message):
        sent.append(message)

    headers = [(b"content-length", announced.encode())] if announced else []
    limits = BodyLimits(
        small=SMALL,
        at_address=lambda scope: UPLOAD if scope["path"] == "/uploads/" else MOST,
        knows_caller=callers or Callers(known=False),
    )
    scope = {"type": "http", "path": path, "headers": headers}
    asyncio.run(BoundedBodies(application, limits=limits)(scope, receive, send))
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    return sent[0]["status"], received


def test_a_small_body_is_passed_on_and_nobody_is_looked_up():
    callers = Callers(known=False)
    assert ask([b"a" * 60, b"b" * 40], announced="100", callers=callers) == (200, [b"a" * 60, b"b" * 40])
    assert ask([b""], callers=callers) == (200, [b""])
    assert callers.asked == 0


@pytest.mark.parametrize("announced", ["201", "9" * 12, "9" * 5000])
def test_what_announces_more_than_the_address_takes_is_not_read_and_nobody_is_looked_up(announced):
    callers = Callers(known=True)
    assert ask([b"a"], announced=announced, callers=callers) == (413, None)
    assert callers.asked == 0


@pytest.mark.parametrize("announced", ["101", "200"])
def test_a_large_body_of_an_unknown_caller_is_not_read(announced):
    assert ask([b"a"], announced=announced) == (401, None)


def test_a_large_body_of_a_known_caller_is_passed_on():
    callers = Callers(known=True)
    pieces = [b"a" * 90, b"b" * 60, b"c" * 50]
    assert ask(pieces, announced="200", callers=callers) == (200, pieces)
    assert ask(pieces, callers=callers) == (200, pieces)
    assert callers.asked == 2


def test_a_body_without_a_length_is_cut_off_where_the_caller_would_have_to_be_known():
    assert ask([b"a" * 60, b"b" * 41, b"c"]) == (401, [b"a" * 60])


def test_what_sends_more_than_it_says_is_cut_off():
    callers = Callers(known=True)
    assert ask([b"a" * 150, b"b" * 51, b"c"], announced="150", callers=callers) == (413, [b"a" * 150])


def test_more_is_taken_where_it_may_be_uploaded_and_only_of_known_callers():
    more = [b"a" * 500]
    assert ask(more, announced="500", path="/uploads/", callers=Callers(known=True)) == (200, more)
    assert ask(more, announced="500", path="/uploads/") == (401, None)
    assert ask(more, announced="500", callers=Callers(known=True)) == (413, None)
    assert ask([b"a"], announced="1001", path="/uploads/", callers=Callers(known=True)) == (413, None)


def test_the_api_s_refusals_are_problem_documents():
    sent = []

    async def send(message):
        sent.append(message)

    async def refused():
        limits = BodyLimits(small=1, at_address=lambda scope: 10, knows_caller=lambda scope: False)
        scope = {"type": "http", "path": "/api/v1/submissions/", "headers": [(b"content-length", b"5")]}
        await BoundedBodies(None, limits=limits)(scope, None, send)

    asyncio.run(refused())
    start, body = sent
    headers = dict(start["headers"])
    assert headers[b"content-type"] == b"application/problem+json"
    assert headers[b"connection"] == b"close"
    assert (json.loads(body["body"])["status"], json.loads(body["body"])["code"]) == (401, "not_authenticated")
