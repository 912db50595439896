"""The site, served for real."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from uvicorn._types import ASGIApplication

from leaderboard.queue.jobs import KINDS, Runner
from leaderboard.wiring.asgi import application


@contextmanager
def server(site: ASGIApplication = application) -> Iterator[str]:
    """The site, in a thread of this process, which runs jobs in others."""
    jobs = Runner(KINDS, poll_seconds=3600)
    jobs.start()
    running = uvicorn.Server(uvicorn.Config(site, port=0, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}"
    finally:
        running.should_exit = True
        running.force_exit = True
        thread.join(timeout=10)
        jobs.stop()
