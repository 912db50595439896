"""The ASGI application: `uvicorn leaderboard.wiring.asgi:application`."""

import gc
import os

import django

# Requests run beside each other: small matrix products that each wait for threads of their own take several times as
# long on a busy machine. NumPy reads this when it is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "leaderboard.site.settings")

# Until `collect_seldom`: what loading makes is no garbage.
gc.disable()
django.setup(set_prefix=False)

from django.conf import settings  # noqa: E402 - after Django is set up
from django.urls import get_resolver  # noqa: E402

from leaderboard.agents.door import PATHS as AGENT_PATHS  # noqa: E402
from leaderboard.agents.door import agents  # noqa: E402
from leaderboard.boards.pages.front_door import FrontDoor  # noqa: E402
from leaderboard.monitoring.requests import note_answered  # noqa: E402
from leaderboard.site.http.bodies import BoundedBodies  # noqa: E402
from leaderboard.site.http.collecting import collect_seldom  # noqa: E402
from leaderboard.site.http.spooling import SpoolingHandler  # noqa: E402
from leaderboard.site.http.worker_calls import PREFIX, Receive, Scope, Send, WorkerCalls  # noqa: E402
from leaderboard.uploads.receiving import TicketedUploads  # noqa: E402
from leaderboard.wiring.body_limits import LIMITS  # noqa: E402

_site = SpoolingHandler()
_worker_calls = WorkerCalls(threads=settings.WORKER_CALLS_AT_ONCE)
# Loads every view, which the first request would otherwise wait for.
get_resolver().url_patterns  # noqa: B018
collect_seldom()


async def _routed(scope: Scope, receive: Receive, send: Send) -> None:
    """The site; workers' calls and agents have handlers of their own."""
    if scope["type"] == "http" and scope["path"] in AGENT_PATHS:
        await agents(scope, receive, send)
        return
    handler = _worker_calls if scope["type"] == "http" and scope["path"].startswith(PREFIX) else _site
    await handler(scope, receive, send)


application = FrontDoor(TicketedUploads(BoundedBodies(_routed, limits=LIMITS)), note=note_answered)
