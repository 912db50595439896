"""Liveness and readiness probes of a cluster. They are public and reveal no details."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qs

import psycopg
from django.conf import settings
from django.db import connections
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from leaderboard.platform.bounded_check import BoundedCheck
from leaderboard.platform.database import parameters_of
from leaderboard.platform.health import Facts, health, is_ready
from leaderboard.platform.http.one_hop import Receive, Scope, Send
from leaderboard.platform.storage.bucket import store_problem
from leaderboard.platform.storage.disk_space import full_volumes

LIVE, READY = "/health/live", "/health/ready"
_DATABASE_SECONDS = 2
"""psycopg's minimum for the timeout of a connection."""
_STORAGE_SECONDS = 4.0
_ALIVE = "alive\n"


class Storage(NamedTuple):
    """Problems of the site's storage."""

    full_disks: Sequence[str]
    problem: str
    """Problem of the bucket, or empty."""


class _DatabaseProbe:
    """A separate connection, so that an exhausted pool is not mistaken for a database that is down."""

    def __init__(self) -> None:
        self._connection: psycopg.Connection[tuple[object, ...]] | None = None
        self.has_answered = False
        """Whether it ever answered this process."""

    def problem(self) -> str:
        """Why the database does not answer; empty if it does."""
        try:
            if self._connection is None:
                self._connection = psycopg.connect(**_parameters(), autocommit=True)
            self._connection.execute("SELECT 1")
        except psycopg.Error as error:
            self.close()
            # Its message contains the server's address, which must not be public.
            return type(error).__name__
        self.has_answered = True
        return ""

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _parameters() -> dict[str, Any]:
    # The kernel detects a vanished server, and the next probe reconnects.
    return {
        **parameters_of(connections.settings["default"]), "connect_timeout": _DATABASE_SECONDS,
        "tcp_user_timeout": 1000 * _DATABASE_SECONDS, "keepalives_idle": 5, "keepalives_interval": 2,
        "keepalives_count": 2,
    }  # fmt: skip


_database = _DatabaseProbe()
DATABASE = BoundedCheck(
    _database.problem,
    name="database-probe",
    deadline=_DATABASE_SECONDS,
    late=f"no answer within {_DATABASE_SECONDS} seconds",
    keep=lambda: settings.KEEP_PAGES_SECONDS,
)
"""Why the database does not answer; empty if it does."""
STORAGE = BoundedCheck(
    lambda: Storage(full_volumes(), store_problem()),
    name="storage-probe",
    deadline=_STORAGE_SECONDS,
    late=Storage((), f"no answer within {_STORAGE_SECONDS:g} seconds"),
    keep=lambda: settings.KEEP_PAGES_SECONDS,
)
"""Problems of the site's storage."""


def forget_probes() -> None:
    """Discard cached results and close the connection."""
    DATABASE.forget()
    STORAGE.forget()
    _database.close()
    _database.has_answered = False


class Probes:
    """Outermost ASGI middleware, which answers probes in the event loop, independently of the site's threads."""

    def __init__(self, site: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self._site = site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"] if scope["type"] == "http" and scope["method"] in {"GET", "HEAD"} else ""
        if path == LIVE:
            status, text = 200, _ALIVE
        elif path == READY:
            asked = _Asked.of(scope["query_string"].decode("latin-1"))
            database = "" if asked.once and _database.has_answered else await DATABASE.result_in_loop()
            storage = await STORAGE.result_in_loop() if asked.disks else Storage((), "")
            status, text = _readiness(database, storage)
        else:
            await self._site(scope, receive, send)
            return
        body = text.encode()
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode()),
            (b"cache-control", b"no-store"),
        ]  # fmt: skip
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


@never_cache
@require_safe
def live(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - the view's signature
    """200 while the process responds, even if a dependency is down, which a restart would not fix. In production
    `Probes` answers first."""
    return HttpResponse(_ALIVE, content_type="text/plain")


@never_cache
@require_safe
def ready(request: HttpRequest) -> HttpResponse:
    """200 if the database answers, the disks have room and the bucket takes data, else 503.

    With `?disks=0`, disks and bucket are ignored: a site with a full disk serves pages, and tells workers to keep their
    results. With `?once`, so is the database from its first answer to this process on: all processes share it, so that
    without it none of them would be left to show kept boards and to say at `/status/` what is wrong.
    """
    asked = _Asked.of(request.META["QUERY_STRING"])
    database = "" if asked.once and _database.has_answered else DATABASE.result()
    status, text = _readiness(database, STORAGE.result() if asked.disks else Storage((), ""))
    return HttpResponse(text, content_type="text/plain", status=status)


class _Asked(NamedTuple):
    disks: bool
    once: bool

    @classmethod
    def of(cls, query: str) -> Self:
        values = parse_qs(query, keep_blank_values=True)
        once = "once" in values
        return cls(disks=not once and values.get("disks") != ["0"], once=once)


def _readiness(database_problem: str, storage: Storage) -> tuple[int, str]:
    facts = Facts(database_problem=database_problem, full_disks=storage.full_disks, store_problem=storage.problem)
    findings = health(facts)
    if is_ready(findings, disks=True):
        return 200, "ready\n"
    return 503, "".join(f"{finding.detail}\n" for finding in findings)
