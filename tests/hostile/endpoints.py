"""Hostile endpoints: real servers on this machine, one address for each behaviour.

Each answers most tasks as an honest planner does and a few of them in its own way, so that a row shows what a wrong
answer costs, and the other rows that it costs nothing else.
"""

import base64
import gzip
import json
import socket
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.hostile_server import ENDLESS_BODY, ENDLESS_HEADERS, SLOW_ANSWERS, answers, gzip_bomb, repeated

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

    @property
    def request(self) -> dict[str, Any]:
        """What it asks."""
        return dict(json.loads(self.body))


Behaviour = Callable[[Call], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A hostile endpoint."""

    name: str
    behave: Behaviour
    away: bool = False
    """Whether it cannot be told from a server that is down for a while, so that its owner is asked what to do."""


ENDPOINTS: list[Endpoint] = []


def endpoint(*, away: bool = False) -> Callable[[Behaviour], None]:
    """Add the decorated function to the corpus, under its own name."""

    def add(behave: Behaviour) -> None:
        name = behave.__name__.strip("_").replace("_", " ")
        ENDPOINTS.append(Endpoint(name=name, behave=behave, away=away))

    return add


def _says(body: bytes, *, status: str = "200 OK", **headers: str) -> Callable[[Call], None]:
    send = answers(body=body, status=status, **{"Content_Type": "application/json", **headers})
    return lambda call: send(call.connection)


def _raw(data: bytes) -> Behaviour:
    return lambda call: call.connection.sendall(data)


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def _steps(count: int, **first: Any) -> dict[str, Any]:
    steps = [{"id": f"s{at}", "tool": "image_captioning", "inputs": {"image": f"s{at - 1}.image"},
              "outputs": {"text": f"s{at}.text"}} for at in range(count)]  # fmt: skip
    steps[0] |= first
    return {"steps": steps, "answers": [f"s{count - 1}.text"]}


def _add(name: str, behave: Behaviour, *, away: bool = False) -> None:
    ENDPOINTS.append(Endpoint(name=name, behave=behave, away=away))


# --- What costs memory ------------------------------------------------------------------------------------------------

_add("a bomb of gzip", lambda call: gzip_bomb()(call.connection))
_add("a bomb of deflate", _says(zlib.compress(b" " * 100_000_000, 9), Content_Encoding="deflate"))
_add("an encoding that nobody knows", _says(b"\x1b" * 1000, Content_Encoding="br, zstd, mallory"))
_add(
    "a compressed answer that says it is none",
    _says(gzip.compress(_json({"plan": _PLAN})), Content_Encoding="identity"),
)
_add("headers without end", lambda call: ENDLESS_HEADERS(call.connection))
_add("a body without end", lambda call: ENDLESS_BODY(call.connection))
_add("a header of 32 MB", _raw(b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 32_000_000 + b"\r\n\r\n"))
_add(
    "a hundred thousand headers",
    _raw(b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: 1\r\n" % at for at in range(100_000))),
)
_add("a length of 10^18", _raw(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000000000\r\n\r\n{}"), away=True)
_add("a chunk of 2^64", _raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}"), away=True)
_add("lists nested 400,000 deep", _says(b"[" * 400_000))
_add("objects nested 100,000 deep", _says(b'{"plan":' * 100_000 + b"1" + b"}" * 100_000))
_add("a number of a million digits", _says(b'{"plan": {"steps": [], "answers": []}, "x": 1' + b"0" * 1_000_000 + b"}"))
_add("a number larger than any", _says(b'{"plan": {"steps": [], "answers": [1e999999, -1e400]}}'))
_add("a plan of 10^5 steps", _says(_json({"plan": ", ".join(["image_captioning"] * 50_000)})))
_add("a plan of 4000 steps as a graph", _says(_json({"plan": _steps(4000)})))
_add("100,000 keys with one hash", _says(_json({str(at * (2**61 - 1)): 0 for at in range(30_000)})))

# --- What costs time --------------------------------------------------------------------------------------------------

for _name, _answer in SLOW_ANSWERS.items():
    _add(f"a server that {_name}", lambda call, answer=_answer: answer(call.connection))
_add("trailers without end", lambda call: repeated(
    before=b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", part=b"X-T: 1\r\n", seconds=0.01
)(call.connection))  # fmt: skip
_add("come back in 10^9 seconds", _says(b"", status="429 Too Many Requests", Retry_After="1000000000"), away=True)
_add("come back in nan seconds", _says(b"", status="503 Service Unavailable", Retry_After="nan"), away=True)
_add(
    "come back at the end of time", _says(b"", status="503 No", Retry_After="Fri, 31 Dec 9999 23:59:59 GMT"), away=True
)


@endpoint()
def silence(call: Call) -> None:
    time.sleep(TIMEOUT_SECONDS + 4)
    del call


@endpoint()
def silence_in_the_middle(call: Call) -> None:
    call.connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"plan":')
    time.sleep(TIMEOUT_SECONDS + 4)


# --- Connections that break -------------------------------------------------------------------------------------------


def _reset(call: Call) -> None:
    call.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    call.connection.close()


_add("a reset at once", _reset, away=True)


@endpoint(away=True)
def a_reset_after_the_status(call: Call) -> None:
    call.connection.sendall(b"HTTP/1.1 200 OK\r\n")
    _reset(call)


@endpoint(away=True)
def a_reset_in_the_body(call: Call) -> None:
    call.connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"plan":')
    _reset(call)


@endpoint(away=True)
def a_reset_between_chunks(call: Call) -> None:
    call.connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{")
    _reset(call)


# --- What is no HTTP --------------------------------------------------------------------------------------------------

_add("noise", _raw(bytes(range(256)) * 50), away=True)
_add("the protocol of another service", _raw(b"220 mail.example ESMTP\r\n"), away=True)
_add("HTTP/0.9", _raw(_json({"plan": _PLAN})), away=True)
_add("two lengths", _raw(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 5\r\n\r\n{}xxx"))
_add("a negative length", _raw(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}"))
_add("a length and chunks", _raw(
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n"
), away=True)  # fmt: skip
_add("chunks of nonsense", _raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n-5\r\n"))
_add("a status of words", _raw(b"HTTP/1.1 OK 200\r\n\r\n{}"))
_add("a switch to another protocol", _raw(
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n" + b"\x00\x00\x00\x04" * 20
), away=True)  # fmt: skip
_add("a second answer that nobody asked for", _raw(
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\nContent-Length: 26\r\n\r\n" + _json({"plan": []})
))  # fmt: skip
_add("header lines with a line break", _raw(
    b"HTTP/1.1 200 OK\r\nX: a\n b\r\n\tc\r\nX\x00Y: z\r\nContent-Length: 2\r\n\r\n{}"
))  # fmt: skip

# --- Ways to addresses of ours ----------------------------------------------------------------------------------------


@endpoint()
def a_redirect_to_this_machine(call: Call) -> None:
    _says(b"", status="307 Temporary Redirect", Location=f"http://127.0.0.1:{call.port}/internal/")(call)


@endpoint()
def a_redirect_to_metadata(call: Call) -> None:
    _says(b"", status="302 Found", Location="http://169.254.169.254/latest/meta-data/")(call)


@endpoint()
def a_redirect_to_a_file(call: Call) -> None:
    _says(b"", status="301 Moved", Location="file:///proc/self/environ")(call)


@endpoint()
def a_refresh_and_cookies(call: Call) -> None:
    body = _json({"plan": _PLAN})
    refresh = f"0; url=http://127.0.0.1:{call.port}/internal/"
    _says(body, Set_Cookie="session=mallory; Domain=127.0.0.1; Path=/", Refresh=refresh, Alt_Svc='h3=":1"',
          Link=f"<http://127.0.0.1:{call.port}/internal/>; rel=preload")(call)  # fmt: skip


# --- The secret header, said back -------------------------------------------------------------------------------------


@endpoint()
def the_secret_in_a_plan(call: Call) -> None:
    step = {"id": call.secret, "tool": call.secret, "inputs": {call.secret: f"${call.secret}"}, "outputs": {}}
    _says(_json({"plan": {"steps": [step], "answers": [call.secret]}, "alternatives": [call.secret]}))(call)


@endpoint()
def the_secret_in_escapes(call: Call) -> None:
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in call.secret)
    _says(b'{"plan": "' + escaped.encode() + b'", "' + escaped.encode() + b'": 1}')(call)


@endpoint()
def the_secret_across_chunks(call: Call) -> None:
    body = _json({"plan": f"use {call.secret}"})
    chunks = b"".join(b"1\r\n" + bytes([one]) + b"\r\n" for one in body)
    _raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n")(call)


@endpoint()
def the_secret_in_an_error(call: Call) -> None:
    _says(f"You sent {HEADER}: {call.secret}".encode(), status=f"400 {call.secret}", X_Echo=call.secret)(call)


@endpoint()
def the_secret_in_a_redirect(call: Call) -> None:
    _says(b"", status="302 Found", Location=f"https://{call.secret}:{call.secret}@example.org/{call.secret}")(call)


@endpoint()
def the_secret_at_the_cut(call: Call) -> None:
    _says(b"x" * (2000 - len(call.secret) // 2) + call.secret.encode() + b"y" * 2000)(call)


@endpoint()
def the_secret_where_numbers_belong(call: Call) -> None:
    _says(_json({"plan": _PLAN, "usage": {"prompt_tokens": call.secret, call.secret: 1}, "version": call.secret}))(call)


@endpoint(away=True)
def the_secret_instead_of_http(call: Call) -> None:
    _raw(f"{call.secret} {call.secret}\r\n{call.secret}\r\n\r\n".encode())(call)


@endpoint()
def the_whole_request_in_base64(call: Call) -> None:
    _says(_json({"plan": base64.b64encode(call.head + call.body).decode()}))(call)


# --- What a page or a parser would take for something else ------------------------------------------------------------

_MARKUP = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'><svg/onload=alert(1)>{{7*7}}{% debug %}"
_add("markup in a plan", _says(_json({"plan": {"answers": [_MARKUP], "steps": [
    {"id": _MARKUP, "tool": _MARKUP, "inputs": {_MARKUP: _MARKUP}, "outputs": {"x": _MARKUP}},
]}})))  # fmt: skip
_add("markup instead of JSON", _says(f"<html>{_MARKUP}</html>".encode(), Content_Type="text/html"))
_add(
    "letters that turn the line around", _says(_json({"plan": "\u202e\u2066image\u200b_captioning\ufeff\u2028\u2029"}))
)
_add("NUL and half of a pair", _says(b'{"plan": "a\\u0000b\\ud800c"}'))
_add("bytes that are no text", _says(b'{"plan": "\xff\xfe\xc0\x80"}'))
_add("UTF-16", _says(json.dumps({"plan": _PLAN}).encode("utf-16")))
_add("numbers that are none", _says(b'{"plan": {"steps": [], "answers": [NaN, Infinity, -Infinity]}}'))
_add("keys twice", _says(b'{"plan": {"steps": [], "answers": []}, "plan": "image_captioning", "plan": 5}'))
_add("more after the end", _says(_json({"plan": _PLAN}) + b"\n" + _json({"plan": "image_captioning"})))
_add("a plan in a circle", _says(_json({"plan": {"steps": [
    {"id": "a", "tool": "image_captioning", "inputs": {"image": "b.text"}, "outputs": {"text": "a.text"}},
    {"id": "b", "tool": "image_captioning", "inputs": {"image": "a.text"}, "outputs": {"text": "b.text"}},
], "answers": ["a.text"]}})))  # fmt: skip
_add("a plan that fans out", _says(_json({"plan": {"answers": [f"s{at}.text" for at in range(50)] * 100, "steps": [
    {"id": f"s{at}", "tool": "image_captioning", "inputs": {f"image{no}": "$image" for no in range(200)},
     "outputs": {"text": f"s{at}.text"}} for at in range(50)]}})))  # fmt: skip
_add("five thousand alternatives", _says(_json({"plan": _PLAN, "alternatives": [_PLAN] * 5000})))
_add("names of our own objects", _says(_json({"plan": {"answers": ["'; DROP TABLE evaluations; --"], "steps": [
    {"id": "__class__", "tool": "../../etc/passwd", "inputs": {"__proto__": "constructor"}, "outputs": {"a": "%s%n"}},
]}})))  # fmt: skip
_add("tokens that were never used", _says(_json({"plan": _PLAN, "usage": {"prompt_tokens": 10**30,
                                                                        "completion_tokens": -5}})))  # fmt: skip


@dataclass(slots=True)
class Serving:
    """Where the servers are, and who called what must not be called."""

    port: int
    internal: list[bytes] = field(default_factory=list)

    def url(self, hostile: Endpoint) -> str:
        """The address of one of them."""
        return f"http://127.0.0.1:{self.port}/{ENDPOINTS.index(hostile)}/"


@contextmanager
def serving() -> Iterator[Serving]:
    """All of them, on one port."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=128)
    found = Serving(port=listening.getsockname()[1])

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=_handle, args=(connection, found), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield found
    finally:
        with suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        listening.close()


def _handle(connection: socket.socket, serving: Serving) -> None:
    with connection, suppress(OSError, ValueError, KeyError):
        # A client may keep its connection for the next task.
        while call := _received(connection, port=serving.port):
            path = call.head.split(b" ")[1]
            if path.startswith(b"/internal"):
                serving.internal.append(call.head)
                return
            if call.request["task"]["id"] in HOSTILE_TASKS:
                ENDPOINTS[int(path.strip(b"/"))].behave(call)
                return
            _says(_json({"plan": _PLAN}))(call)


def _received(connection: socket.socket, *, port: int) -> Call | None:
    received = b""
    while b"\r\n\r\n" not in received:
        piece = connection.recv(65536)
        if not piece:
            return None
        received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
    while len(body) < length:
        body += connection.recv(65536)
    return Call(connection=connection, head=head, body=body, port=port)
