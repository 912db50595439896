"""Where bodies of requests lie while they are read."""

import asyncio
from pathlib import Path

import pytest
from django.core.exceptions import RequestAborted

from leaderboard.wiring.asgi import _site, _worker_calls

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
