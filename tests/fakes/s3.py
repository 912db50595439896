"""A server that speaks as much of S3's protocol as the store needs, path-style, over real HTTP."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class FakeS3:
    """Keeps objects by path. `failures` of the next requests are answered with 503."""

    def __init__(self) -> None:
        self.objects: dict[str, tuple[bytes, str]] = {}
        self.requests: list[tuple[str, str]] = []
        self.failures = 0
        self.url = ""

    @contextmanager
    def serving(self) -> Iterator["FakeS3"]:
        """Answer on a free port."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"fake": self}))
        self.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    fake: FakeS3
    protocol_version = "HTTP/1.1"

    def do_PUT(self) -> None:
        body = self._body()
        if not self._fails():
            self.fake.objects[self._name] = (body, self.headers["Content-Type"])
            self._answer(200)

    def do_GET(self) -> None:
        self._read()

    def do_HEAD(self) -> None:
        self._read()

    def do_DELETE(self) -> None:
        if not self._fails():
            self.fake.objects.pop(self._name, None)
            self._answer(204)

    @property
    def _name(self) -> str:
        return self.path.partition("?")[0]

    def _read(self) -> None:
        if self._fails():
            return
        found = self.fake.objects.get(self._name)
        if found is None:
            self._answer(404, b"<Error><Code>NoSuchKey</Code><Message>none</Message></Error>", "application/xml")
        else:
            self._answer(200, *found)

    def _fails(self) -> bool:
        self.fake.requests.append((self.command, self._name))
        if self.fake.failures:
            self.fake.failures -= 1
            self._answer(503, b"<Error><Code>SlowDown</Code><Message>later</Message></Error>", "application/xml")
            return True
        return False

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

    def _answer(self, status: int, body: bytes = b"", content_type: str = "text/plain") -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Nothing: tests need no access log."""
