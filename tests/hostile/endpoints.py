"""Hostile endpoints: real servers on this machine, one address for each behaviour.

Each answers most tasks as an honest planner does and a few of them in its own way, so that a row shows what a wrong
answer costs, and the other rows that it costs nothing else.
"""

import base64
import gzip
import json
import socket
import struct
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.fakes.hostile_server import ENDLESS_BODY, ENDLESS_HEADERS, SLOW_ANSWERS, answers, gzip_bomb, repeated
from tests.fakes.serving import accepting, request_of

HEADER = "X-Hush"
TIMEOUT_SECONDS = 5
"""Enough for an honest answer on a machine that is busy."""
HOSTILE_TASKS = frozenset({"3", "7"})
"""Those that a server answers in its own way."""
_PLAN = {"steps": [], "answers": []}


@dataclass(frozen=True, slots=True)
class Call:
    """A request to one of them, and the connection that it came over."""

    connection: socket.socket
    head: bytes
    body: bytes
    port: int

    @property
    def secret(self) -> str:
        """The secret header that came with it."""
        for line in self.head.decode("latin-1").split("\r\n"):
            name, _, value = line.partition(":")
            if name.lower() == HEADER.lower():
                return value.strip()
        return ""


Behaviour = Callable[[Call], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A hostile endpoint."""

    name: str
    behave: Behaviour
    away: bool = False
    """Whether it cannot be told from a server that is down for a while, so that its owner is asked what to do."""


ENDPOINTS: list[Endpoint] = []


def _add(behaviours: Mapping[str, Behaviour], *, away: bool = False) -> None:
    ENDPOINTS.extend(Endpoint(name=name, behave=behave, away=away) for name, behave in behaviours.items())


def _answer(body: bytes, *, status: str = "200 OK", **headers: str) -> Behaviour:
    send = answers(body=body, status=status, **{"Content_Type": "application/json", **headers})
    return lambda call: send(call.connection)


def _json(**value: object) -> Behaviour:
    return _answer(json.dumps(value).encode())


def _secretly(make: Callable[[str], Behaviour]) -> Behaviour:
    """What depends on the secret header that came with a call."""
    return lambda call: make(call.secret)(call)


def _raw(data: bytes) -> Behaviour:
    return lambda call: call.connection.sendall(data)


def _chunked(data: bytes) -> Behaviour:
    return _raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + data)


def _silent(begun: bytes = b"") -> Behaviour:
    def behave(call: Call) -> None:
        call.connection.sendall(begun)
        time.sleep(TIMEOUT_SECONDS + 4)

    return behave


def _reset(begun: bytes = b"") -> Behaviour:
    def behave(call: Call) -> None:
        call.connection.sendall(begun)
        call.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        call.connection.close()

    return behave


def _redirect(location: str, *, status: str = "302 Found") -> Behaviour:
    return lambda call: _answer(b"", status=status, Location=location.replace("PORT", str(call.port)))(call)


def _refresh_and_cookies(call: Call) -> None:
    internal = f"http://127.0.0.1:{call.port}/internal/"
    send = _answer(json.dumps({"plan": _PLAN}).encode(), Set_Cookie="session=mallory; Domain=127.0.0.1; Path=/",
                   Refresh=f"0; url={internal}", Alt_Svc='h3=":1"', Link=f"<{internal}>; rel=preload")  # fmt: skip
    send(call)


def _escaped(secret: str) -> Behaviour:
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in secret)
    return _answer(f'{{"plan": "{escaped}", "{escaped}": 1}}'.encode())


def _in_chunks_of_one(secret: str) -> Behaviour:
    body = json.dumps({"plan": f"use {secret}"}).encode()
    return _chunked(b"".join(b"1\r\n" + bytes([one]) + b"\r\n" for one in body) + b"0\r\n\r\n")


def _in_a_plan(secret: str) -> Behaviour:
    step = {"id": secret, "tool": secret, "inputs": {secret: f"${secret}"}, "outputs": {}}
    return _json(plan={"steps": [step], "answers": [secret]}, alternatives=[secret])


def _steps(count: int) -> dict[str, Any]:
    steps = [{"id": f"s{at}", "tool": "image_captioning", "inputs": {"image": f"s{at - 1}.image"},
              "outputs": {"text": f"s{at}.text"}} for at in range(count)]  # fmt: skip
    return {"steps": steps, "answers": [f"s{count - 1}.text"]}


_ENDLESS_TRAILERS = repeated(
    before=b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", part=b"X-T: 1\r\n",
    seconds=0.01,
)  # fmt: skip
# What costs memory.
_add({
    "a bomb of gzip": lambda call: gzip_bomb()(call.connection),
    "a bomb of deflate": _answer(zlib.compress(b" " * 100_000_000, 9), Content_Encoding="deflate"),
    "an encoding that nobody knows": _answer(b"\x1b" * 1000, Content_Encoding="br, zstd, mallory"),
    "a compressed answer that says it is none": _answer(
        gzip.compress(json.dumps({"plan": _PLAN}).encode()), Content_Encoding="identity"),
    "headers without end": lambda call: ENDLESS_HEADERS(call.connection),
    "a body without end": lambda call: ENDLESS_BODY(call.connection),
    "a header of 32 MB": _raw(b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 32_000_000 + b"\r\n\r\n"),
    "a hundred thousand headers": _raw(
        b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: 1\r\n" % at for at in range(100_000))),
    "lists nested 400,000 deep": _answer(b"[" * 400_000),
    "objects nested 100,000 deep": _answer(b'{"plan":' * 100_000 + b"1" + b"}" * 100_000),
    "a number of a million digits": _answer(
        b'{"plan": {"steps": [], "answers": []}, "x": 1' + b"0" * 1_000_000 + b"}"),
    "a number larger than any": _answer(b'{"plan": {"steps": [], "answers": [1e999999, -1e400]}}'),
    "a plan of 10^5 steps": _json(plan=", ".join(["image_captioning"] * 50_000)),
    "a plan of 4000 steps as a graph": _json(plan=_steps(4000)),
    "100,000 keys with one hash": _json(**{str(at * (2**61 - 1)): 0 for at in range(30_000)}),
})  # fmt: skip
_add({
    "a length of 10^18": _raw(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000000000\r\n\r\n{}"),
    "a chunk of 2^64": _chunked(b"ffffffffffffffff\r\n{}"),
}, away=True)  # fmt: skip
# What costs time.
_add({
    **{f"a server that {name}": lambda call, send=send: send(call.connection) for name, send in SLOW_ANSWERS.items()},
    "trailers without end": lambda call: _ENDLESS_TRAILERS(call.connection),
    "silence": _silent(),
    "silence in the middle": _silent(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"plan":'),
})  # fmt: skip
_add({
    "come back in 10^9 seconds": _answer(b"", status="429 Too Many Requests", Retry_After="1000000000"),
    "come back in nan seconds": _answer(b"", status="503 Service Unavailable", Retry_After="nan"),
    "come back at the end of time": _answer(b"", status="503 No", Retry_After="Fri, 31 Dec 9999 23:59:59 GMT"),
}, away=True)  # fmt: skip
# Connections that break, and what is no HTTP.
_add({
    "a reset at once": _reset(),
    "a reset after the status": _reset(b"HTTP/1.1 200 OK\r\n"),
    "a reset in the body": _reset(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"plan":'),
    "a reset between chunks": _reset(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"),
    "noise": _raw(bytes(range(256)) * 50),
    "the protocol of another service": _raw(b"220 mail.example ESMTP\r\n"),
    "HTTP/0.9": _raw(json.dumps({"plan": _PLAN}).encode()),
    "a length and chunks": _raw(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
                                b"2\r\n{}\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n"),
    "a switch to another protocol": _raw(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n"
                                         b"Connection: Upgrade\r\n\r\n" + b"\x00\x00\x00\x04" * 20),
}, away=True)  # fmt: skip
_add({
    "two lengths": _raw(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 5\r\n\r\n{}xxx"),
    "a negative length": _raw(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}"),
    "chunks of nonsense": _chunked(b"zz\r\n{}\r\n-5\r\n"),
    "a status of words": _raw(b"HTTP/1.1 OK 200\r\n\r\n{}"),
    "a second answer that nobody asked for": _raw(
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n"
        b'{"plan": []}'),
    "header lines with a line break": _raw(
        b"HTTP/1.1 200 OK\r\nX: a\n b\r\n\tc\r\nX\x00Y: z\r\nContent-Length: 2\r\n\r\n{}"),
})  # fmt: skip
# Ways to addresses of ours.
_add({
    "a redirect to this machine": _redirect("http://127.0.0.1:PORT/internal/", status="307 Temporary Redirect"),
    "a redirect to metadata": _redirect("http://169.254.169.254/latest/meta-data/"),
    "a redirect to a file": _redirect("file:///proc/self/environ", status="301 Moved"),
    "a refresh and cookies": _refresh_and_cookies,
})  # fmt: skip
# The secret header, said back.
_add({
    "the secret in a plan": _secretly(_in_a_plan),
    "the secret in escapes": _secretly(_escaped),
    "the secret across chunks": _secretly(_in_chunks_of_one),
    "the secret in an error": _secretly(
        lambda secret: _answer(f"You sent {HEADER}: {secret}".encode(), status=f"400 {secret}", X_Echo=secret)),
    "the secret in a redirect": _secretly(lambda secret: _redirect(f"https://{secret}:{secret}@example.org/{secret}")),
    "the secret at the cut": _secretly(
        lambda secret: _answer(b"x" * (2000 - len(secret) // 2) + secret.encode() + b"y" * 2000)),
    "the secret where numbers belong": _secretly(
        lambda secret: _json(plan=_PLAN, usage={"prompt_tokens": secret, secret: 1}, version=secret)),
    "the whole request in base64": lambda call: _json(plan=base64.b64encode(call.head + call.body).decode())(call),
})  # fmt: skip
_add({
    "the secret instead of HTTP": _secretly(lambda secret: _raw(f"{secret} {secret}\r\n{secret}\r\n\r\n".encode())),
}, away=True)  # fmt: skip
# What a page or a parser would take for something else.
_MARKUP = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'><svg/onload=alert(1)>{{7*7}}{% debug %}"
_add({
    "markup in a plan": _json(plan={"answers": [_MARKUP], "steps": [
        {"id": _MARKUP, "tool": _MARKUP, "inputs": {_MARKUP: _MARKUP}, "outputs": {"x": _MARKUP}}]}),
    "markup instead of JSON": _answer(f"<html>{_MARKUP}</html>".encode(), Content_Type="text/html"),
    "letters that turn the line around": _json(plan="\u202e\u2066image\u200b_captioning\ufeff\u2028\u2029"),
    "NUL and half of a pair": _answer(b'{"plan": "a\\u0000b\\ud800c"}'),
    "bytes that are no text": _answer(b'{"plan": "\xff\xfe\xc0\x80"}'),
    "UTF-16": _answer(json.dumps({"plan": _PLAN}).encode("utf-16")),
    "numbers that are none": _answer(b'{"plan": {"steps": [], "answers": [NaN, Infinity, -Infinity]}}'),
    "keys twice": _answer(b'{"plan": {"steps": [], "answers": []}, "plan": "image_captioning", "plan": 5}'),
    "more after the end": _answer(b'{"plan": {"steps": [], "answers": []}}\n{"plan": "image_captioning"}'),
    "a plan in a circle": _json(plan={"steps": [
        {"id": "a", "tool": "image_captioning", "inputs": {"image": "b.text"}, "outputs": {"text": "a.text"}},
        {"id": "b", "tool": "image_captioning", "inputs": {"image": "a.text"}, "outputs": {"text": "b.text"}},
    ], "answers": ["a.text"]}),
    "a plan that fans out": _json(plan={"answers": [f"s{at}.text" for at in range(50)] * 100, "steps": [
        {"id": f"s{at}", "tool": "image_captioning", "inputs": {f"image{no}": "$image" for no in range(200)},
         "outputs": {"text": f"s{at}.text"}} for at in range(50)]}),
    "five thousand alternatives": _json(plan=_PLAN, alternatives=[_PLAN] * 5000),
    "names of our own objects": _json(plan={"answers": ["'; DROP TABLE evaluations; --"], "steps": [
        {"id": "__class__", "tool": "../../etc/passwd", "inputs": {"__proto__": "constructor"},
         "outputs": {"a": "%s%n"}}]}),
    "tokens that were never used": _json(plan=_PLAN, usage={"prompt_tokens": 10**30, "completion_tokens": -5}),
})  # fmt: skip


@dataclass(slots=True)
class Serving:
    """Where the servers are, and who called what must not be called."""

    port: int
    internal: list[bytes]

    def url(self, hostile: Endpoint) -> str:
        """The address of one of them."""
        return f"http://127.0.0.1:{self.port}/{ENDPOINTS.index(hostile)}/"


@contextmanager
def serving() -> Iterator[Serving]:
    """All of them, on one port."""
    internal: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        # A client may keep its connection for the next task.
        while True:
            head, body = request_of(connection)
            path = head.split(b" ")[1]
            call = Call(connection=connection, head=head, body=body, port=connection.getsockname()[1])
            if path.startswith(b"/internal"):
                internal.append(head)
                return
            if json.loads(body)["task"]["id"] in HOSTILE_TASKS:
                ENDPOINTS[int(path.strip(b"/"))].behave(call)
                return
            _json(plan=_PLAN)(call)

    with accepting(serve) as port:
        yield Serving(port=port, internal=internal)
