"""Downloads give whole answers or a sentence."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from evaluator.downloads import DownloadError, download
from tests.fakes.hostile_server import SLOW_ANSWERS, gzip_bomb, hostile_server


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(404 if self.path == "/nothing" else 200)
        self.end_headers()
        self.wfile.write(b"0123456789")

    def log_message(self, *arguments):
        pass


@pytest.fixture
def address():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_file_comes_whole(address):
    assert download(url=f"{address}/file", most_bytes=10) == b"0123456789"


def test_what_is_not_there_or_too_long_is_said(address):
    with pytest.raises(DownloadError, match="/nothing answered 404 Not Found"):
        download(url=f"{address}/nothing", most_bytes=10)
    with pytest.raises(DownloadError, match="sent more than 9 bytes"):
        download(url=f"{address}/file", most_bytes=9)


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
