"""The handler of the site's requests answers as Django's does."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from inspect import iscoroutinefunction

import httpx
import pytest
from django.conf import settings
from django.db import connection
from django.http import HttpResponse, StreamingHttpResponse
from django.urls import get_resolver

from leaderboard.evaluations.models import EvaluationState
from leaderboard.platform.http.one_hop import OneHop
from tests.leaderboard.factories import make_evaluation, make_suite
from tests.leaderboard.platform.api.helpers import lease_request, session_of
from tests.leaderboard.serving import server

pytestmark = pytest.mark.django_db(transaction=True)
LEASE = "/api/v1/worker/lease/"


@pytest.fixture
def client():
    with server() as url, httpx.Client(base_url=url, trust_env=False) as found:
        yield found


def test_what_is_wrong_gets_the_answer_that_it_would_get_from_django(client):
    for path, options, status in (
        (LEASE, {}, 401),
        (LEASE, {"headers": {"Authorization": "Bearer wrong"}}, 403),
        (LEASE, {"content": b"{", "headers": {"Content-Type": "application/json"}}, 401),
        ("/api/v1/worker/nothing/", {}, 404),
        ("/api/v1/worker/lease", {}, 401),
    ):
        answer = client.post(path, **options)
        assert answer.status_code == status, path
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "Content-Security-Policy" in answer.headers


def test_a_lease_is_given_and_the_connection_stays_open(client):
    make_evaluation(state=EvaluationState.LAUNCHING)
    headers = {"Authorization": f"Bearer {session_of(settings.WORKER_TOKEN)}"}
    first, second = (client.post(LEASE, json=lease_request(), headers=headers) for _ in range(2))
    assert (first.status_code, second.status_code) == (200, 204)
    assert first.json()["tasks"] == ["0", "1", "2", "3"]
    streams = [answer.extensions["network_stream"].get_extra_info("client_addr") for answer in (first, second)]
    assert streams[0] == streams[1]


def test_more_calls_than_threads_are_all_answered(client, settings):
    settings.TASKS_PER_SHARD = 1
    make_evaluation(suite=make_suite(runnable=20), state=EvaluationState.LAUNCHING)
    headers = {"Authorization": f"Bearer {session_of(settings.WORKER_TOKEN)}"}

    def lease(number: int) -> list[str]:
        return client.post(LEASE, json=lease_request(worker=f"w{number}"), headers=headers, timeout=30).json()["tasks"]

    with ThreadPoolExecutor(20) as pool:
        tasks = [task for found in pool.map(lease, range(20)) for task in found]
    assert sorted(tasks, key=int) == [str(number) for number in range(20)]


def test_no_connection_to_the_database_stays_in_use(client):
    for _ in range(3):
        client.post(LEASE, headers={"Authorization": "Bearer wrong"})
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state <> 'idle'")
        assert cursor.fetchone()[0] == 1


class Small(OneHop):
    """The handler around one view, without middlewares."""

    def __init__(self, view) -> None:
        super().__init__(threads=2, name="tests")
        self._middleware_chain = view


def served(view, *, gone_after: float = 100.0) -> list[dict]:
    """What a handler sends for one request of somebody who goes away then."""
    sent: list[dict] = []

    async def ask() -> None:
        waiting = iter([{"type": "http.request", "body": b""}])

        async def receive():
            if message := next(waiting, None):
                return message
            await asyncio.sleep(gone_after)
            return {"type": "http.disconnect"}

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "method": "GET", "path": "/x/", "raw_path": b"/x/", "query_string": b"", "headers": []}
        await asyncio.wait_for(Small(view)(scope, receive, send), timeout=20)

    asyncio.run(ask())
    return sent


def test_each_request_has_a_context_of_its_own():
    mark: ContextVar[str] = ContextVar("mark", default="nobody's")

    def view(_):
        found = mark.get()
        mark.set("somebody's")
        return HttpResponse(found)

    assert [served(view)[1]["body"] for _ in range(5)] == [b"nobody's"] * 5


def test_a_stream_ends_when_its_reader_goes_away():
    closed = []

    async def pieces():
        try:
            while True:
                yield b"x"
                await asyncio.sleep(0.01)
        finally:
            closed.append(True)

    sent = served(lambda _: StreamingHttpResponse(pieces()), gone_after=0.2)
    assert closed == [True]
    assert {message["body"] for message in sent[1:]} == {b"x"}


def test_every_view_is_synchronous():
    """Otherwise it would be run in an event loop of its own, for as long as it takes one of the threads."""

    def views(patterns):
        for one in patterns:
            yield from views(one.url_patterns) if hasattr(one, "url_patterns") else [one.callback]

    found = list(views(get_resolver().url_patterns))
    assert len(found) > 200
    assert not [view for view in found if iscoroutinefunction(view)]
