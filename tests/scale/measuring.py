"""How long pages and list endpoints take, in this process and over HTTP. Needs Django set up."""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from leaderboard.boards.eligible import published
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.people.models import Team, User
from leaderboard.platform.http.collecting import collect_seldom
from tests.memory import forget_everything
from tests.routes import Address, admin_addresses, site_addresses
from tests.scale.data import examples
from tests.scale.rate import Asked, always
from tests.scale.wide_suite import SLUG as WIDE

_SHOWN = frozenset({200, 286})
_REFUSED = frozenset({403, 404})
"""Of an evaluation that somebody else runs: its log is not this reader's, and the task may have no result yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """One address, asked for several times."""

    path: str
    reader: str
    status: int
    queries: int
    """Of the last request."""
    median_ms: float
    p95_ms: float
    first_ms: float
    """Median of a process that has just been started."""
    cpu_ms: float
    """Median of this process alone, which other work on the machine disturbs less."""
    database_ms: float
    """Time of the last request's queries."""
    kilobytes: float


def addresses() -> Iterator[tuple[Address, str]]:
    """Every page and list endpoint with who reads it: all as somebody who is signed in or as an operator, and those
    that anybody reads without filters as a stranger too."""
    asked: set[str] = set()
    for things in examples():
        for address in site_addresses(things):
            if address.path not in asked:
                asked.add(address.path)
                yield address, "staff" if address.by_staff else "owner"
                if "?" not in address.path and not address.by_staff:
                    yield address, "anonymous"
    operator = User.objects.get(username="operator")
    running = Evaluation.runs.filter(state=EvaluationState.RUNNING, suite__slug=WIDE)[0]
    rows = {"Team": Team.objects.get(slug="lab0").pk, "Evaluation": running.pk, "Submission": running.submission_id}
    for address in admin_addresses(staff=operator, rows=rows):
        yield address, "staff"


def much_read() -> Iterator[Asked]:
    """What a process may be busy with: what most people and programs read, which is kept for a moment, and what is made
    for one reader each time."""
    yield Asked(name="alive", address=always("/health/live"))
    yield Asked(name="ready", address=always("/health/ready"))
    yield Asked(name="start page", address=always("/"))
    for suite in Suite.objects.filter(current=True).order_by("slug"):
        yield Asked(name="board", address=always(f"/boards/{suite.slug}/"))
    yield Asked(name="board, 304", address=always(f"/boards/{WIDE}/"), has_page=True)
    yield Asked(name="board, new query", address=_new_queries())
    yield Asked(name="tasks of a board", address=always(f"/boards/{WIDE}/tasks/"))
    yield Asked(name="board as JSON", address=always(f"/api/v1/boards/{WIDE}/"))
    ended = published().filter(suite__slug=WIDE).order_by("created", "pk")[0]
    yield Asked(name="ended evaluation", address=always(f"/evaluations/{ended.pk}/"))
    for slug in ("openagi", WIDE):
        yield _running(slug)


def _new_queries() -> Callable[[int], str]:
    """Of the widest board: another order and another first day each time, which leave all rows."""
    keys = [metric["key"] for metric in Suite.objects.get(slug=WIDE, current=True).shown_metrics]
    sorts = [f"{sign}{key}" for sign in ("", "-") for key in [*keys, "planner", "finished"]]
    return lambda number: (
        f"/boards/{WIDE}/?sort={sorts[number % len(sorts)]}&since={date.fromordinal(700_000 + number)}"
    )


def _running(slug: str) -> Asked:
    """A running evaluation of a suite, read by its owner."""
    found = Evaluation.runs.filter(state=EvaluationState.RUNNING, suite__slug=slug).order_by("created", "pk")[0]
    client = Client()
    client.force_login(found.submission.planner.owner)
    cookie = f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"
    name = f"running evaluation of {found.tasks_total:,} tasks, its owner"
    return Asked(name=name, address=always(f"/evaluations/{found.pk}/"), cookie=cookie)


def timings(*, rounds: int, only: str = "") -> Iterator[Timing]:
    """Each address that has `only` in it."""
    users = {"owner": User.objects.order_by("pk")[0], "staff": User.objects.get(username="operator")}
    for address, reader in list(addresses()):
        if only in address.path:
            client = Client()
            if reader in users:
                client.force_login(users[reader])
            timing = _timing(client=client, path=address.path, reader=reader, rounds=rounds)
            if timing.status in _SHOWN:
                yield timing
            elif reader != "anonymous" and timing.status not in _REFUSED:
                raise RuntimeError(
                    f"{address.path} answered {reader} with {timing.status}: there is nothing to measure"
                )


def _timing(*, client: Client, path: str, reader: str, rounds: int) -> Timing:
    """Contents of snapshots stay in memory after the first request.

    A few requests more are those of a process that has just been started, which remembers nothing.
    """
    first = []
    for _ in range(max(2, rounds // 3)):
        forget_everything()
        first.append(_seconds(client=client, path=path)[0])
    again = [_seconds(client=client, path=path) for _ in range(rounds)]
    with CaptureQueriesContext(connection) as queries:
        response = client.get(path)
    wall = sorted(seconds for seconds, _ in again)
    return Timing(
        path=path, reader=reader, status=response.status_code, queries=len(queries),
        median_ms=statistics.median(wall) * 1000, p95_ms=wall[int(len(wall) * 0.95)] * 1000,
        first_ms=statistics.median(first) * 1000, cpu_ms=statistics.median(cpu for _, cpu in again) * 1000,
        database_ms=sum(float(query["time"]) for query in queries.captured_queries) * 1000,
        kilobytes=len(response.getvalue()) / 1024,
    )  # fmt: skip


def _seconds(*, client: Client, path: str) -> tuple[float, float]:
    """Of one request: on the clock, and of this process's CPU."""
    begun, begun_cpu = time.perf_counter(), time.process_time()
    client.get(path)
    return time.perf_counter() - begun, time.process_time() - begun_cpu


def report(*, rounds: int, rows: Mapping[str, int], only: str = "") -> dict[str, Any]:
    """All timings, the slowest first, of a process set up as those that serve the site."""
    collect_seldom()
    found = sorted(timings(rounds=rounds, only=only) if rounds else (), key=lambda timing: -timing.median_ms)
    return {
        "rows": dict(rows),
        "suites": {suite.slug: suite.tasks.count() for suite in Suite.objects.filter(current=True)},
        "timings": [asdict(timing) for timing in found],
    }
