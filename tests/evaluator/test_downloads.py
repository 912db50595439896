"""Downloads give whole answers or a sentence."""

import pytest

from evaluator.downloads import DownloadError, download
from tests.fakes.hostile_server import SLOW_ANSWERS, answers, gzip_bomb, hostile_server


def test_a_file_comes_whole_or_not_at_all():
    with hostile_server(answers(body=b"0123456789")) as server:
        assert download(url=f"{server.url}/file", most_bytes=10) == b"0123456789"
        with pytest.raises(DownloadError, match="sent more than 9 bytes"):
            download(url=f"{server.url}/file", most_bytes=9)
    missing = pytest.raises(DownloadError, match="/nothing answered 404 Not Found")
    with hostile_server(answers(body=b"", status="404 Not Found")) as server, missing:
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
