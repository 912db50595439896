"""The server: objects by path, path-style addresses, and faults on demand."""

import base64
import hashlib
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import format_datetime
from enum import Enum, auto
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlsplit
from xml.sax.saxutils import escape

from tests.fakes.s3.signatures import RefusedError, check
from tests.fakes.serving import in_a_thread

BUCKET = "arena"


class Stored(NamedTuple):
    """An object."""

    data: bytes
    content_type: str
    sha256: str = ""
    """Base64; empty if it was written without."""
    note: str = ""
    modified: datetime = datetime(2026, 1, 1, tzinfo=UTC)


class Fault(Enum):
    """What goes wrong with a request."""

    BUSY = auto()
    """503: nothing is done."""
    REFUSED = auto()
    """403: nothing is done."""
    FULL = auto()
    """The bucket has reached its quota: nothing is done."""
    RESET = auto()
    """The connection breaks before anything is done."""
    RESET_AFTER = auto()
    """It is done, and the connection breaks before the answer."""
    CUT = auto()
    """The answer's body breaks off half-way."""
    SLOW = auto()
    """It is done after a while."""


_REFUSALS = {
    Fault.BUSY: (503, "SlowDown"),
    Fault.REFUSED: (403, "AccessDenied"),
    Fault.FULL: (400, "XMinioAdminBucketQuotaExceeded"),
}


def _now() -> datetime:
    return datetime.fromtimestamp(time.time(), tz=UTC)


class FakeS3:
    """Keeps objects by path. `failures` of the next requests are answered with 503."""

    def __init__(self, *, page: int = 1000) -> None:
        """`page`: keys in one answer of a list."""
        self.objects: dict[str, Stored] = {}
        self.requests: list[tuple[str, str]] = []
        self.failures = 0
        self.fault: Callable[[str, str], Fault | None] = lambda _method, _name: None
        """Decides by method and path what goes wrong with a request."""
        self.slow_seconds = 0.2
        self.page = page
        self.url = ""
        self.lock = threading.Lock()

    @contextmanager
    def serving(self) -> Iterator["FakeS3"]:
        """Answer on a free port."""
        server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"fake": self}))
        with in_a_thread(server) as self.url:
            yield self

    def found(self, method: str, name: str) -> Fault | None:
        """What goes wrong with this request, which is noted."""
        with self.lock:
            self.requests.append((method, name))
            if self.failures:
                self.failures -= 1
                return Fault.BUSY
        return self.fault(method, name)

    def names(self, part: str = "/") -> list[str]:
        """Paths of the objects with a part."""
        with self.lock:
            return sorted(name for name in self.objects if part in name)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that are killed in the middle of a request are what some tests are about."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    fake: FakeS3
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_PUT(self) -> None:
        body = self._body()
        if (fault := self._begun()) is False:
            return
        if source := self.headers.get("x-amz-copy-source"):
            self._copy(source)
        elif problem := self._problem(body):
            self._refuse(400, problem)
        else:
            found = Stored(
                data=body, content_type=self.headers.get("Content-Type", "binary/octet-stream"),
                sha256=self.headers.get("x-amz-checksum-sha256", ""), note=self.headers.get("x-amz-meta-reason", ""),
                modified=_now(),
            )  # fmt: skip
            with self.fake.lock:
                self.fake.objects[self._name] = found
            self._ended(fault)

    def do_GET(self) -> None:
        query = dict(parse_qsl(urlsplit(self.path).query))
        if (fault := self._begun()) is False:
            return
        if query.get("list-type") == "2":
            self._list(query)
        else:
            self._read(query=query, fault=fault)

    def do_HEAD(self) -> None:
        if self._begun() is not False:
            self._read(query={}, fault=None)

    def do_DELETE(self) -> None:
        if (fault := self._begun()) is not False:
            with self.fake.lock:
                self.fake.objects.pop(self._name, None)
            self._ended(fault, status=204)

    @property
    def _name(self) -> str:
        return unquote(urlsplit(self.path).path)

    def _begun(self) -> Fault | bool | None:
        """What goes wrong with an allowed request later; False if it has been answered already."""
        fault = self.fake.found(self.command, self._name)
        if fault in _REFUSALS:
            self._refuse(*_REFUSALS[fault])
            return False
        if fault == Fault.RESET:
            self._reset()
            return False
        if fault == Fault.SLOW:
            time.sleep(self.fake.slow_seconds)
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            check(method=self.command, url=f"http://{headers['host']}{self.path}", headers=headers)
        except RefusedError as error:
            self._refuse(403, error.code)
            return False
        if self._name.split("/")[1] != BUCKET:
            self._refuse(404, "NoSuchBucket")
            return False
        return fault

    def _ended(self, fault: Fault | bool | None, *, status: int = 200) -> None:
        if fault == Fault.RESET_AFTER:
            self._reset()
        else:
            self._answer(status)

    def _problem(self, body: bytes) -> str:
        """What is wrong with bytes that are to be kept, as S3's code."""
        digest = hashlib.sha256(body)
        wanted = self.headers.get("x-amz-checksum-sha256")
        if wanted and base64.b64decode(wanted) != digest.digest():
            return "BadDigest"
        signed = self.headers.get("x-amz-content-sha256", "")
        return "XAmzContentSHA256Mismatch" if len(signed) == 64 and signed != digest.hexdigest() else ""

    def _copy(self, source: str) -> None:
        with self.fake.lock:
            found = self.fake.objects.get(f"/{unquote(source).lstrip('/')}")
            if found is not None:
                checksum = base64.b64encode(hashlib.sha256(found.data).digest()).decode()
                found = found._replace(sha256=checksum, modified=_now())
                if self.headers.get("x-amz-metadata-directive") == "REPLACE":
                    found = found._replace(note=self.headers.get("x-amz-meta-reason", ""))
                self.fake.objects[self._name] = found
        if found is None:
            self._refuse(404, "NoSuchKey")
            return
        body = "<CopyObjectResult><LastModified>2026-01-01T00:00:00.000Z</LastModified></CopyObjectResult>"
        self._answer(200, body.encode(), "application/xml")

    def _read(self, *, query: dict[str, str], fault: Fault | bool | None) -> None:
        with self.fake.lock:
            found = self.fake.objects.get(self._name)
        if found is None:
            self._refuse(404, "NoSuchKey")
            return
        more = {"Last-Modified": format_datetime(found.modified, usegmt=True), "Accept-Ranges": "bytes"}
        if found.sha256 and self.headers.get("x-amz-checksum-mode") == "ENABLED":
            more["x-amz-checksum-sha256"] = found.sha256
        if found.note:
            more["x-amz-meta-reason"] = found.note
        for name in ("Content-Disposition", "Cache-Control"):
            if value := query.get(f"response-{name.lower()}"):
                more[name] = value
        content_type = query.get("response-content-type", found.content_type)
        status, data = 200, found.data
        if asked := self.headers.get("Range"):
            first, _, last = asked.removeprefix("bytes=").partition("-")
            if int(first) >= len(data):
                self._refuse(416, "InvalidRange")
                return
            status, data = 206, data[int(first) : int(last) + 1 if last else None]
        self._answer(status, data, content_type, cut=fault == Fault.CUT, **more)

    def _list(self, query: dict[str, str]) -> None:
        start = f"{self._name.rstrip('/')}/"
        prefix, after = query.get("prefix", ""), query.get("continuation-token", "")
        with self.fake.lock:
            keys = sorted(name.removeprefix(start) for name in self.fake.objects if name.startswith(start + prefix))
            keys = [key for key in keys if key > after]
            shown = [(key, self.fake.objects[start + key]) for key in keys[: self.fake.page]]
        rows = "".join(
            f"<Contents><Key>{escape(quote(key))}</Key><Size>{len(one.data)}</Size>"
            f"<LastModified>{one.modified:%Y-%m-%dT%H:%M:%S.000Z}</LastModified></Contents>"
            for key, one in shown
        )
        cut = len(keys) > len(shown)
        token = f"<NextContinuationToken>{escape(shown[-1][0])}</NextContinuationToken>" if cut else ""
        body = (
            f"<ListBucketResult><IsTruncated>{str(cut).lower()}</IsTruncated><EncodingType>url</EncodingType>"
            f"{token}{rows}</ListBucketResult>"
        )
        self._answer(200, body.encode(), "application/xml")

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "") != "chunked" and "aws-chunked" not in self.headers.get(
            "Content-Encoding", ""
        ):
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        return self._chunks()

    def _chunks(self) -> bytes:
        """A body in chunks, each after a line with its length in hexadecimal; a trailer may follow."""
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return body

    def _refuse(self, status: int, code: str) -> None:
        body = f"<Error><Code>{code}</Code><Message>no</Message></Error>"
        self._answer(status, body.encode(), "application/xml")

    def _answer(
        self, status: int, body: bytes = b"", content_type: str = "text/plain", *, cut: bool = False, **more: str
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in more.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[: len(body) // 2] if cut else body)
        if cut:
            self._reset()

    def _reset(self) -> None:
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *arguments: Any) -> None:
        """Nothing: tests need no access log."""
