"""Bodies that are larger than the largest upload never reach Django."""

import asyncio

import pytest

from leaderboard.config.bodies import BoundedBodies

MOST = 100


def ask(pieces, *, announced: str = "", path="/", says_who=False):
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
    headers += [(b"authorization", b"Bearer t")] if says_who else []
    scope = {"type": "http", "path": path, "headers": headers}
    bounded = BoundedBodies(application, most_bytes=MOST, uploads={"/uploads/": 10 * MOST})
    asyncio.run(bounded(scope, receive, send))
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    return sent[0]["status"], received


def test_what_fits_is_passed_on():
    assert ask([b"a" * 60, b"b" * 40], announced="100") == (200, [b"a" * 60, b"b" * 40])
    assert ask([b""]) == (200, [b""])


@pytest.mark.parametrize("announced", ["101", "9" * 12, "9" * 5000])
def test_what_announces_too_much_is_not_read(announced):
    assert ask([b"a"], announced=announced) == (413, None)


def test_what_sends_more_than_it_says_is_cut_off():
    status, received = ask([b"a" * 60, b"b" * 41, b"c"])
    assert (status, received) == (413, [b"a" * 60])


def test_more_is_taken_where_it_may_be_uploaded_and_only_of_who_says_who_they_are():
    more = [b"a" * 500]
    assert ask(more, announced="500", path="/uploads/", says_who=True) == (200, more)
    assert ask(more, announced="500", path="/uploads/") == (413, None)
    assert ask(more, announced="500", says_who=True) == (413, None)
    assert ask([b"a"], announced="1001", path="/uploads/", says_who=True) == (413, None)
