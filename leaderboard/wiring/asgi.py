"""The ASGI application: `uvicorn leaderboard.wiring.asgi:application`."""

import gc
import os

import django

# Requests run concurrently: small matrix products with their own threads take several times as long on a busy machine.
# NumPy reads this when it is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "leaderboard.platform.settings")

# Until `collect_seldom`, since loading creates no garbage.
gc.disable()
django.setup(set_prefix=False)

from django.conf import settings  # noqa: E402 - after Django is set up
from django.urls import get_resolver  # noqa: E402

from leaderboard.help.documents.building import build_in_background  # noqa: E402
from leaderboard.operations.monitoring.history import Sampler  # noqa: E402
from leaderboard.platform.http.bodies import BoundedBodies  # noqa: E402
from leaderboard.platform.http.collecting import collect_seldom  # noqa: E402
from leaderboard.platform.http.middleware import api_with_slash  # noqa: E402
from leaderboard.platform.http.one_hop import WORKER_CALLS, OneHop, Receive, Scope, Send  # noqa: E402
from leaderboard.platform.http.request_ids import identified  # noqa: E402
from leaderboard.platform.probes import Probes  # noqa: E402
from leaderboard.platform.uploads.receiving import TicketedUploads  # noqa: E402
from leaderboard.queue.agents.door import PATHS as AGENT_PATHS  # noqa: E402
from leaderboard.queue.agents.door import agents  # noqa: E402
from leaderboard.queue.jobs import KINDS, Runner  # noqa: E402
from leaderboard.wiring.body_limits import LIMITS  # noqa: E402

_site = OneHop(threads=settings.REQUESTS_AT_ONCE, name="requests")
# Separate threads, so that status and metrics respond while all other requests wait.
_reports = OneHop(threads=2, name="reports")
_REPORTS = frozenset({"/status/", "/api/v1/status/", "/metrics"})
_worker_calls = OneHop(threads=settings.WORKER_CALLS_AT_ONCE, name="worker-calls")
# Loads every view, so that the first request does not.
get_resolver().url_patterns  # noqa: B018
collect_seldom()
if settings.RUN_JOBS:
    Runner(KINDS).start()
    Sampler().start()
if not settings.DEBUG:
    build_in_background()


async def _routed(scope: Scope, receive: Receive, send: Send) -> None:
    """The site, with separate handlers for workers' calls, status and metrics, and agents."""
    path = scope["path"] if scope["type"] == "http" else ""
    if path in AGENT_PATHS:
        await agents(scope, receive, send)
        return
    handler = _worker_calls if path.startswith(WORKER_CALLS) else _reports if path in _REPORTS else _site
    await handler(scope, receive, send)


_bounded = BoundedBodies(_routed, limits=LIMITS)
application = Probes(identified(api_with_slash(TicketedUploads(_bounded))))
