"""Events of a run through a client: whole whatever the connection does."""

import json
from collections.abc import Iterator
from itertools import pairwise

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.client.api import Client
from evaluator.client.errors import RefusedError, UnreachableError
from evaluator.client.server_sent import LONGEST_MESSAGE, Message, StreamError, messages_in

STREAM = 'id: 1-0\ndata: {"kind":"given"}\n\n: still here\n\nevent: end\ndata: {}\n\n'


@given(st.lists(st.integers(min_value=0, max_value=len(STREAM))))
def test_messages_do_not_depend_on_how_the_stream_is_cut(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[start:stop].encode() for start, stop in pairwise(places)]
    assert list(messages_in(pieces)) == [
        Message(id="1-0", data='{"kind":"given"}'), Message(event="end", data="{}")
    ]  # fmt: skip


def test_a_message_without_end_is_refused_before_it_fills_the_memory() -> None:
    taken = 0

    def endless() -> Iterator[bytes]:
        nonlocal taken
        while True:
            taken += 1
            yield b"a" * 65536

    with pytest.raises(StreamError):
        list(messages_in(endless()))
    assert taken * 65536 <= LONGEST_MESSAGE + 65536


class Cut(httpx.SyncByteStream):
    """Bytes, and then a lost connection."""

    def __init__(self, data: str) -> None:
        self._data = data

    def __iter__(self) -> Iterator[bytes]:
        yield self._data.encode()
        raise httpx.ReadError("the connection was lost")


def client(answers: list[httpx.Response], *, seen: list[str | None], patience: float = 60.0) -> Client:
    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers.get("Last-Event-ID"))
        return answers.pop(0) if answers else httpx.Response(503)

    clock = iter(range(10_000))
    return Client(
        url="https://site.example", patience=patience, transport=httpx.MockTransport(answer), sleep=lambda _: None,
        clock=lambda: float(next(clock)),
    )  # fmt: skip


def message(number: int, kind: str, *, of_try: int = 1) -> str:
    return f"id: {of_try}-{number}\ndata: {json.dumps({'kind': kind})}\n\n"


def test_a_lost_connection_goes_on_after_the_last_event() -> None:
    seen: list[str | None] = []
    answers = [
        httpx.Response(200, stream=Cut(message(0, "given") + message(1, "asked"))),
        httpx.Response(503),
        httpx.Response(200, text=message(2, "ended") + "event: end\ndata: {}\n\n"),
    ]
    found = list(client(answers, seen=seen).run_events("r"))

    assert [event["kind"] for event in found] == ["given", "asked", "ended"]
    assert seen == [None, "1-1", "1-1"]


def test_a_site_that_says_it_is_there_is_not_away_however_long_a_step_takes() -> None:
    class Slow(Cut):
        def __iter__(self) -> Iterator[bytes]:
            yield from [b": still here\n\n"] * 100
            yield from super().__iter__()

    seen: list[str | None] = []
    answers = [
        httpx.Response(200, stream=Slow(message(0, "given")[:5])),
        httpx.Response(200, text=message(0, "given") + "event: end\ndata: {}\n\n"),
    ]
    found = list(client(answers, seen=seen, patience=20).run_events("r"))
    assert [event["kind"] for event in found] == ["given"]


def test_a_run_that_starts_again_voids_the_events_before() -> None:
    text = (
        message(0, "given") + "event: again\ndata: {}\n\n" + message(0, "given", of_try=2) + "event: end\ndata: {}\n\n"
    )
    found = list(client([httpx.Response(200, text=text)], seen=[]).run_events("r"))

    assert [event["kind"] for event in found] == ["given", "again", "given"]


def test_a_site_that_stays_away_is_unreachable_after_the_patience() -> None:
    with pytest.raises(UnreachableError, match="could not be followed"):
        list(client([], seen=[], patience=20).run_events("r"))


def test_a_run_that_does_not_exist_is_refused_at_once() -> None:
    with pytest.raises(RefusedError):
        list(client([httpx.Response(404, json={"code": "not_found", "detail": "No."})], seen=[]).run_events("r"))


def test_an_artefact_with_other_bytes_is_refused() -> None:
    with pytest.raises(RefusedError, match="damaged"):
        client([httpx.Response(200, content=b"other")], seen=[]).artefact("0" * 64)
