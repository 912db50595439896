"""Clients of other people's servers, against servers that want to cost them memory or time."""

import threading
import tracemalloc
from contextlib import contextmanager

import httpx
import pytest

from evaluator.core.language_model import Failure, FailureKind
from evaluator.core.planner import PlannerError
from evaluator.core.records import Reason
from evaluator.network import name_resolution
from evaluator.network.bounded_answers import CompressedAnswerError, refuse_compressed
from evaluator.network.downloads import DownloadError, download
from evaluator.network.name_resolution import NameResolver
from evaluator.planners.endpoint import EndpointPlanner, EndpointSettings
from evaluator.planners.language_models.chat.model import ChatModel, ChatSettings
from evaluator.sandbox.admission.hub_lookup import HubAwayError, look_up
from evaluator.scoring.metrics.judge import EndpointJudge, JudgeError, JudgeSettings
from tests.evaluator.planners.test_endpoint import GOOD, REQUEST
from tests.fakes.hostile_server import (
    ENDLESS_BODY,
    ENDLESS_HEADERS,
    SLOW_ANSWERS,
    answers,
    gzip_bomb,
    hostile_server,
)
from tests.fakes.strategies import generate
from tests.rings import usual

SECONDS = 0.3
"""The deadline, where the test is about it."""
PATIENCE = 10.0
"""Seconds that suffice on a busy machine; less than the slow servers go on."""
MOST_PEAK_BYTES = 16 * 1024 * 1024
"""Of memory for one call; the largest bodies that are read have 4 MiB."""


def ask_endpoint(url, *, seconds=PATIENCE):
    settings = EndpointSettings(url=f"{url}/plan", timeout_seconds=seconds, allow_private=True, tries=1)
    with pytest.raises(PlannerError) as caught:
        EndpointPlanner(settings).plan(REQUEST)
    return caught.value.reason, str(caught.value)


def ask_chat(url, *, seconds=PATIENCE):
    settings = ChatSettings(url=f"{url}/v1", model="m-1", allow_private=True, tries=1, try_seconds=seconds)
    (found,) = ChatModel(settings, key=lambda: None).answer([generate("a noisy image")])
    assert isinstance(found, Failure)
    return found.kind, found.message


def ask_hub(url, *, seconds=PATIENCE):
    with pytest.raises(HubAwayError) as caught:
        look_up(model_id="own/planner", revision="main", hub=url, deadline_seconds=seconds)
    return HubAwayError, str(caught.value)


def ask_judge(url, *, seconds=PATIENCE):
    judge = EndpointJudge(JudgeSettings(url=url, model="m-1", timeout_seconds=seconds), sleep=lambda _: None)
    with pytest.raises(JudgeError) as caught:
        judge.vote(messages=[], number=0)
    return JudgeError, str(caught.value)


def raw(data):
    """A server that sends these bytes and closes the connection."""
    return lambda connection: connection.sendall(data)


ASKING = [ask_endpoint, ask_chat, ask_hub]


@contextmanager
def peak_memory():
    """Most bytes that Python held at once, in the list that is given."""
    peak = []
    tracemalloc.start()
    try:
        yield peak
        peak.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("ask", "kind", "says"),
    [
        (ask_endpoint, Reason.INVALID_RESPONSE, "compressed (Content-Encoding: gzip, gzip)"),
        (ask_chat, FailureKind.WRONG_ANSWER, "compressed (Content-Encoding: gzip, gzip)"),
        (ask_hub, HubAwayError, "compresses its answers although it was asked not to"),
        (ask_judge, JudgeError, "compressed (Content-Encoding: gzip, gzip)"),
    ],
)
def test_a_compressed_bomb_is_refused_unopened(ask, kind, says):
    bomb = gzip_bomb()
    with hostile_server(bomb) as server, peak_memory() as peak:
        found, message = ask(server.url)
    assert found is kind
    assert says in message
    assert peak[0] < MOST_PEAK_BYTES
    assert b"accept-encoding: identity" in server.requests[0].lower()
    assert server.requests[0].lower().count(b"accept-encoding") == 1


@pytest.mark.parametrize("ask", [*ASKING, ask_judge])
@pytest.mark.parametrize("answer", [ENDLESS_BODY, ENDLESS_HEADERS], ids=["body", "headers"])
def test_an_answer_without_end_is_left_when_it_is_too_large(ask, answer):
    with hostile_server(answer) as server, peak_memory() as peak:
        ask(server.url)
    assert peak[0] < MOST_PEAK_BYTES * (3 if ask is ask_hub else 1), "descriptions of the hub may have 16 MiB"


NO_HTTP = {
    "headers without end": (ENDLESS_HEADERS, "its headers have more than 100 KiB"),
    "a long header": (raw(b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 2_000_000 + b"\r\n\r\n{}"), "more than 100 KiB"),
    "many headers": (raw(b"HTTP/1.1 200 OK\r\n" + b"X: 1\r\n" * 100_000 + b"\r\n{}"), "more than 100 KiB"),
    "a header of NUL": (raw(b"HTTP/1.1 200 OK\r\nX\x00Y: secret\r\n\r\n{}"), "illegal header line"),
    "a status of words": (raw(b"HTTP/1.1 OK 200\r\n\r\n{}"), "illegal status line"),
    "two lengths": (raw(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 5\r\n\r\n{}"), "conflicting"),
    "chunks of nonsense": (
        raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n"), "illegal chunk header"
    ),
}  # fmt: skip
CUT = {
    "before an answer": raw(b""),
    "in the status line": raw(b"HTTP/1.1 20"),
    "in the headers": raw(b"HTTP/1.1 200 OK\r\nX: 1\r\n"),
    "in the body": raw(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"plan":'),
    "between chunks": raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"),
}


@pytest.mark.parametrize("answer", NO_HTTP)
@pytest.mark.parametrize(
    ("ask", "kind"), [(ask_endpoint, Reason.INVALID_RESPONSE), (ask_chat, FailureKind.WRONG_ANSWER)]
)
def test_an_answer_that_is_no_http_is_the_planner_s_fault(ask, kind, answer):
    sent, says = NO_HTTP[answer]
    with hostile_server(sent) as server:
        found, message = ask(server.url)
    assert (found, says in message) == (kind, True), message
    assert "secret" not in message
    assert len(message) < 150


@pytest.mark.parametrize("where", CUT)
@pytest.mark.parametrize(
    ("ask", "kind"), [(ask_endpoint, Reason.ENDPOINT_UNAVAILABLE), (ask_chat, FailureKind.UNAVAILABLE)]
)
def test_a_connection_that_ends_too_early_may_be_the_network_s(ask, kind, where):
    with hostile_server(CUT[where]) as server:
        found, message = ask(server.url)
    assert found is kind, message


@pytest.mark.parametrize("does", usual(SLOW_ANSWERS, of=("drips its body", "drips its headers")))
@pytest.mark.parametrize(
    ("ask", "kind", "says"),
    [
        (ask_endpoint, Reason.PLANNER_TIMEOUT, "no complete answer within 0.3 seconds"),
        (ask_chat, FailureKind.UNAVAILABLE, "no complete answer within 0.3 seconds"),
        (ask_hub, HubAwayError, "is too slow"),
        (ask_judge, JudgeError, "cannot be reached"),
    ],
)
def test_one_deadline_covers_headers_and_body_however_they_are_sent(ask, kind, says, does):
    with hostile_server(SLOW_ANSWERS[does]) as server:
        found, message = ask(server.url, seconds=SECONDS)
    assert (found, says in message) == (kind, True), message


def test_a_slow_name_server_does_not_outlast_the_deadline(monkeypatch):
    over = threading.Event()
    monkeypatch.setattr(name_resolution, "NAMES", NameResolver(look_up=lambda host, port: over.wait(20) and []))
    reason, message = ask_endpoint("http://slow.example", seconds=SECONDS)
    over.set()
    assert reason is Reason.ENDPOINT_UNAVAILABLE
    assert "the name slow.example was not resolved in time" in message


@pytest.mark.parametrize("encoding", ["", "identity", "Identity", "identity, identity"])
def test_an_answer_that_says_that_it_is_not_compressed_is_read(encoding):
    with hostile_server(answers(body=GOOD, Content_Encoding=encoding)) as server:
        planner = EndpointPlanner(EndpointSettings(url=server.url, timeout_seconds=5, allow_private=True))
        assert planner.plan(REQUEST).plan == "Image Denoising"


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd", "deflate", "identity, gzip", "x-gzip", "anything"])
def test_any_other_coding_is_refused(encoding):
    with pytest.raises(CompressedAnswerError, match=f"Content-Encoding: {encoding}"):
        refuse_compressed(httpx.Response(200, headers={"Content-Encoding": encoding}, stream=httpx.ByteStream(b"")))


def test_a_long_name_of_a_coding_is_not_repeated():
    with pytest.raises(CompressedAnswerError, match="Content-Encoding: 5000 characters") as refused:
        refuse_compressed(httpx.Response(200, headers={"Content-Encoding": "g" * 5000}, stream=httpx.ByteStream(b"")))
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    ("status", "reason"),
    [("503 Busy", Reason.ENDPOINT_UNAVAILABLE), ("404 Not Found", Reason.REFUSED_BY_ENDPOINT)],
)
def test_the_status_of_a_compressed_error_page_says_whose_fault_it_is(status, reason):
    with hostile_server(answers(body=b"\x1f\x8b", status=status, Content_Encoding="gzip")) as server:
        found, message = ask_endpoint(server.url)
    assert found is reason
    assert f"HTTP {status[:3]}" in message


def test_the_hub_is_reached_through_the_proxy_of_the_environment(monkeypatch):
    with hostile_server(answers(body=b"{}", status="503 Busy")) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        _, message = ask_hub("http://hub.example")
    assert "answered HTTP 503" in message
    assert proxy.requests[0].startswith(b"GET http://hub.example/api/models/own/planner/")


def test_a_file_comes_whole_or_not_at_all():
    with hostile_server(answers(body=b"0123456789")) as server:
        assert download(url=f"{server.url}/file", most_bytes=10) == b"0123456789"
        with pytest.raises(DownloadError, match="sent more than 9 bytes"):
            download(url=f"{server.url}/file", most_bytes=9)
    missing = pytest.raises(DownloadError, match=r"/nothing answered HTTP 404 \(permanent\): no such file")
    with hostile_server(answers(body=b"no such file\n", status="404 Not Found")) as server, missing:
        download(url=f"{server.url}/nothing", most_bytes=10)


def test_an_address_that_nobody_answers_is_said():
    with pytest.raises(DownloadError, match="could not be downloaded"):
        download(url="http://127.0.0.1:9/file", most_bytes=10)


def test_a_slow_server_is_left_at_the_deadline():
    answer = SLOW_ANSWERS["drips its body"]
    with hostile_server(answer) as server, pytest.raises(DownloadError, match=r"downloaded"):
        download(url=server.url, most_bytes=10**9, deadline_seconds=0.3)


def test_a_compressed_file_is_refused_unopened():
    with hostile_server(gzip_bomb()) as server, pytest.raises(DownloadError, match="compressed"):
        download(url=server.url, most_bytes=10**9)
