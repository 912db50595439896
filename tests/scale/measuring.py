"""How long pages and list endpoints take, in this process and over HTTP. Needs Django set up."""

import statistics
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from leaderboard.accounts.models import User
from leaderboard.boards.models import Snapshot
from leaderboard.boards.page_cache import forget_pages
from leaderboard.boards.services import published
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.models import Evaluation
from leaderboard.planners.models import Planner
from tests.scale.data import examples


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
    kilobytes: float


def addresses() -> Iterator[str]:
    """Every page and list endpoint, on the suite with most evaluations and on that with most tasks."""
    yield from ("/", "/docs/", "/submit/", "/submissions/", "/tokens/")
    planner = Planner.objects.order_by("pk")[0]
    yield from (f"{root}/users/{planner.owner.username}/" for root in ("", "/api/v1"))
    yield from (f"{root}/planners/{planner.pk}/" for root in ("", "/api/v1"))
    yield from ("/api/v1/planners/", f"/api/v1/planners/?owner={planner.owner.username}")
    yield from ("/api/v1/evaluations/", "/api/v1/submissions/", "/api/v1/suites/", "/api/v1/quota/", "/api/v1/schema/")
    for slug, evaluation in sorted(examples().items()):
        task = Task.objects.filter(suite__slug=slug, suite__current=True).order_by("position")[3].key
        number = Snapshot.objects.filter(suite__slug=slug).latest("number").number
        yield f"/boards/{slug}/"
        yield f"/boards/{slug}/?sort=-finished"
        yield f"/boards/{slug}/?rows=all&q=planner&page=2"
        yield f"/boards/{slug}/plots/"
        yield f"/boards/{slug}/feed.atom"
        yield f"/boards/{slug}/newest.csv"
        yield f"/boards/{slug}/snapshots/{number}/"
        yield f"/api/v1/boards/{slug}/"
        yield f"/api/v1/suites/{slug}/tasks/"
        yield f"/api/v1/evaluations/?suite={slug}&state=completed"
        yield f"/evaluations/{evaluation}/"
        yield f"/evaluations/{evaluation}/?outcome=planner_fault&sort=-score&page=2"
        yield f"/evaluations/{evaluation}/tasks/{task}/"
        yield from (f"{root}/compare/?e={evaluation}&e={_another(evaluation)}" for root in ("", "/api/v1"))
        yield f"/api/v1/evaluations/{evaluation}/"
        yield f"/api/v1/evaluations/{evaluation}/results/"
        yield f"/api/v1/evaluations/{evaluation}/results/?outcome=planner_fault"
        yield f"/api/v1/evaluations/{evaluation}/results/{task}/"


def boards() -> Iterator[str]:
    """The pages that most people read."""
    yield "/"
    for suite in Suite.objects.filter(current=True).order_by("slug"):
        yield f"/boards/{suite.slug}/"


def _another(evaluation: UUID) -> UUID:
    """Another completed evaluation of the same suite, to compare with."""
    suite = Evaluation.objects.get(pk=evaluation).suite_id
    others = published().filter(suite=suite).exclude(pk=evaluation)
    return others.order_by("created", "pk").values_list("pk", flat=True)[0]


def timings(*, rounds: int) -> Iterator[Timing]:
    """Each address as somebody who has logged in and as somebody who has not."""
    owner = User.objects.order_by("pk").first()
    assert owner is not None
    for path in addresses():
        for reader in ("owner", "anonymous"):
            client = Client()
            if reader == "owner":
                client.force_login(owner)
            yield _timing(client=client, path=path, reader=reader, rounds=rounds)


def _timing(*, client: Client, path: str, reader: str, rounds: int) -> Timing:
    """Every page is made anew each time; contents of snapshots stay in memory after the first request."""
    response = client.get(path)
    seconds = []
    for _ in range(rounds):
        forget_pages()
        begun = time.perf_counter()
        response = client.get(path)
        seconds.append(time.perf_counter() - begun)
    forget_pages()
    with CaptureQueriesContext(connection) as queries:
        client.get(path)
    return Timing(
        path=path, reader=reader, status=response.status_code, queries=len(queries),
        median_ms=statistics.median(seconds) * 1000, p95_ms=sorted(seconds)[int(len(seconds) * 0.95)] * 1000,
        kilobytes=len(response.content) / 1024,
    )  # fmt: skip


def report(*, rounds: int, rows: Mapping[str, int]) -> dict[str, Any]:
    """All timings, the slowest first."""
    found = sorted(timings(rounds=rounds), key=lambda timing: -timing.median_ms)
    return {
        "rows": dict(rows),
        "suites": {suite.slug: suite.tasks.count() for suite in Suite.objects.filter(current=True)},
        "timings": [asdict(timing) for timing in found],
    }
