"""Bodies are read up to what their address takes, large ones of known callers only, and lie on the uploads' volume."""

import asyncio
import json
from http import HTTPStatus
from pathlib import Path

import pytest
from django.core.exceptions import RequestAborted

from leaderboard.platform.http.bodies import Admission, BodyLimits, BoundedBodies, Refusal, SteadyBody, TooSlowError
from leaderboard.wiring.asgi import _site, _worker_calls

SMALL, MOST, UPLOAD = 100, 200, 1000


class Callers:
    """Knows all callers or none, and notes how large the bodies are that it is asked about."""

    def __init__(self, *, known):
        self.known, self.sizes, self.released = known, [], 0

    def __call__(self, scope, size):
        self.sizes.append(size)
        return Admission(release=self.release) if self.known else UNKNOWN

    def release(self):
        self.released += 1


UNKNOWN = Refusal(HTTPStatus.UNAUTHORIZED, "not_authenticated", "Larger bodies need valid credentials.")


def ask(pieces, **given):
    """Status that the caller sees, and what the application received, None if it was not asked at all."""
    (start, _), received = answered(pieces, **given)
    return start["status"], received


def answered(pieces, *, announced: str = "", path="/", callers=None, patience=30):
    """The two messages of the answer, and what the application received."""
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
        return waiting.pop(0) if waiting[0]["body"] is not None else await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    headers = [(b"content-length", announced.encode())] if announced else []
    limits = BodyLimits(
        small=lambda scope: 0 if scope["path"] == "/worker/" else SMALL,
        at_address=lambda scope: UPLOAD if scope["path"] == "/uploads/" else MOST,
        admit=callers or Callers(known=False),
        patience_seconds=patience,
        bytes_per_second=1000,
    )
    scope = {"type": "http", "path": path, "headers": headers}
    asyncio.run(BoundedBodies(application, limits=limits)(scope, receive, send))
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    return sent, received


def test_a_small_body_is_passed_on_and_nobody_is_looked_up():
    callers = Callers(known=False)
    assert ask([b"a" * 60, b"b" * 40], announced="100", callers=callers) == (200, [b"a" * 60, b"b" * 40])
    assert ask([b""], callers=callers) == (200, [b""])
    assert callers.sizes == []


def test_what_announces_more_than_the_address_takes_is_not_read_and_nobody_is_looked_up():
    for announced in ("201", "9" * 12, "9" * 5000):
        callers = Callers(known=True)
        assert ask([b"a"], announced=announced, callers=callers) == (413, None)
        assert callers.sizes == []


def test_a_large_body_is_read_of_a_known_caller_only():
    """Room is asked for what was announced, or for the largest, and given back when the request is over."""
    pieces = [b"a" * 90, b"b" * 60, b"c" * 50]
    for announced, size in (("200", 200), ("", MOST)):
        callers = Callers(known=True)
        assert ask(pieces, announced=announced, callers=callers) == (200, pieces)
        assert (callers.sizes, callers.released) == ([size], 1)
    for announced in ("101", "200"):
        assert ask([b"a"], announced=announced) == (401, None)


def test_a_body_is_cut_off_where_the_caller_would_have_to_be_known_or_it_sends_more_than_it_says():
    assert ask([b"a" * 60, b"b" * 41, b"c"]) == (401, [b"a" * 60])
    callers = Callers(known=True)
    assert ask([b"a" * 150, b"b" * 51, b"c"], announced="150", callers=callers) == (413, [b"a" * 150])


def test_more_is_taken_where_it_may_be_uploaded_and_only_of_known_callers():
    more = [b"a" * 500]
    assert ask(more, announced="500", path="/uploads/", callers=Callers(known=True)) == (200, more)
    assert ask(more, announced="500", path="/uploads/") == (401, None)
    assert ask(more, announced="500", callers=Callers(known=True)) == (413, None)
    assert ask([b"a"], announced="1001", path="/uploads/", callers=Callers(known=True)) == (413, None)


def test_a_sender_that_stops_is_cut_off():
    assert ask([b"a", None, b"c"], patience=0.01) == (408, [b"a"])


def test_the_api_s_refusals_are_problem_documents():
    refusal = Refusal(HTTPStatus.TOO_MANY_REQUESTS, "no_room", "Wait.", retry_after=60)
    (start, body), _ = answered([b"a"], announced="150", path="/api/v1/submissions/", callers=lambda *_: refusal)
    headers = dict(start["headers"])
    assert headers[b"content-type"] == b"application/problem+json"
    assert (headers[b"connection"], headers[b"retry-after"]) == (b"close", b"60")
    assert (json.loads(body["body"])["status"], json.loads(body["body"])["code"]) == (429, "no_room")


def test_of_a_worker_s_call_nothing_is_read_before_its_token_is_checked():
    assert ask([b"a"], announced="1", path="/worker/") == (401, None)
    assert ask([b"a"], path="/worker/") == (401, [])
    assert ask([b""], path="/worker/") == (200, [b""])
    assert ask([b"a"], announced="1", path="/worker/", callers=Callers(known=True)) == (200, [b"a"])


class Dripping:
    """A sender that brings a byte at a time, and a clock."""

    def __init__(self, *, seconds_per_byte):
        self.now, self.seconds = 0.0, seconds_per_byte

    async def receive(self):
        self.now += self.seconds
        return {"type": "http.request", "body": b"x", "more_body": True}


def test_a_body_that_comes_byte_by_byte_is_cut_off():
    sender = Dripping(seconds_per_byte=1.0)
    body = SteadyBody(sender.receive, patience=5, bytes_per_second=10, clock=lambda: sender.now)

    async def received(count):
        for _ in range(count):
            await body()

    # A byte allows for a tenth of a second: 5 seconds of patience, and what five bytes have earned.
    asyncio.run(received(5))
    with pytest.raises(TooSlowError, match=r"at least 0\.00976562 KiB/s are required"):
        asyncio.run(received(2))


def test_a_body_that_stops_is_cut_off_and_one_that_keeps_coming_is_not():
    async def never():
        await asyncio.sleep(60)

    with pytest.raises(TooSlowError):
        asyncio.run(SteadyBody(never, patience=0.05, bytes_per_second=10)())
    sender = Dripping(seconds_per_byte=0.09)
    steady = SteadyBody(sender.receive, patience=5, bytes_per_second=10, clock=lambda: sender.now)

    async def all_of_it():
        for _ in range(1000):
            await steady()

    asyncio.run(all_of_it())


PART = b"x" * 1024 * 1024


def read(*messages, handler=_site):
    waiting = iter(messages)

    async def receive():
        return next(waiting)

    return asyncio.run(handler.read_body(receive))


@pytest.mark.parametrize("handler", [_site, _worker_calls], ids=["the site", "calls of workers"])
def test_a_large_body_lies_on_the_volume_of_uploads_and_has_no_name(settings, tmp_path, handler):
    settings.FILE_UPLOAD_TEMP_DIR = tmp_path
    more = {"type": "http.request", "body": PART, "more_body": True}
    with read(*[more] * 4, {"type": "http.request", "body": b"end"}, handler=handler) as body:
        place = Path(f"/proc/self/fd/{body.fileno()}").readlink()
        assert tmp_path in place.parents
        assert body.read() == PART * 4 + b"end"
        assert list(tmp_path.iterdir()) == []


def test_a_small_body_stays_in_memory_and_a_sender_that_goes_away_aborts_the_request(settings, tmp_path):
    settings.FILE_UPLOAD_TEMP_DIR = tmp_path / "nowhere"
    with read({"type": "http.request", "body": b"a=b"}) as body:
        assert body.read() == b"a=b"
    settings.FILE_UPLOAD_TEMP_DIR = tmp_path
    with pytest.raises(RequestAborted):
        read({"type": "http.request", "body": PART * 4, "more_body": True}, {"type": "http.disconnect"})
