"""Live progress, through a real server."""

import asyncio
import json
from collections.abc import Iterator

import httpx
import pytest

from evaluator.execution.engine.store import MemoryStore
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.evaluations.web import live
from leaderboard.queue.workers.finishing import deliver
from leaderboard.submissions import services
from leaderboard.submissions.releasing import set_visibility
from tests.leaderboard.factories import make_evaluation, make_lease, make_record, make_season
from tests.leaderboard.serving import server

pytestmark = pytest.mark.django_db(transaction=True)


def read_events(response: httpx.Response) -> Iterator[dict]:
    """The data of each event; an event with a name gives `{"event": name}`."""
    name = ""
    for line in response.iter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield {"event": name} if name else json.loads(line.removeprefix("data: "))
            name = ""


def test_a_listener_gets_the_state_then_each_change_then_the_end():
    evaluation = make_evaluation(state=EvaluationState.LAUNCHING)
    with server() as url, httpx.stream("GET", f"{url}/evaluations/{evaluation.pk}/events/", timeout=10) as response:
        assert response.headers["content-type"] == "text/event-stream"
        events = read_events(response)
        first = next(events)
        assert (first["state"], first["done"], first["total"], first["results"]) == ("launching", 0, 4, [])

        lease = make_lease(evaluation)
        assert next(events)["state"] == "running"
        record = make_record(lease.tasks[0], suite=lease.evaluation.suite.slug)
        deliver(attempt_id=lease.attempt.pk, records=[record], store=MemoryStore())
        third = next(events)
        assert third["results"] == [{"task": lease.tasks[0], "outcome": "scored", "score": 0.5}]
        assert (third["done"], third["outcomes"]) == (1, {"scored": 1})
        with httpx.stream("GET", f"{url}/evaluations/{evaluation.pk}/events/", timeout=10) as late:
            assert next(read_events(late))["results"] == third["results"], "who comes late gets the results so far"

        services.cancel(evaluation)
        assert next(events)["state_label"] == "Cancelled"
        assert next(events) == {"event": "end"}
        assert next(events, None) is None


def test_of_an_open_season_a_listener_gets_counts_and_no_task():
    evaluation = make_evaluation(state=EvaluationState.LAUNCHING)
    lease = make_lease(evaluation)
    Evaluation.objects.update(split="hidden", season=make_season())
    records = [make_record(task, suite=lease.evaluation.suite.slug) for task in lease.tasks]
    deliver(attempt_id=lease.attempt.pk, records=records[:1], store=MemoryStore())
    with server() as url, httpx.stream("GET", f"{url}/evaluations/{evaluation.pk}/events/", timeout=10) as response:
        events = read_events(response)
        first = next(events)
        assert (first["results"], first["outcomes"]) == ([], {"scored": 1})
        deliver(attempt_id=lease.attempt.pk, records=records[1:2], store=MemoryStore())
        second = next(events)
        assert (second["results"], second["outcomes"]) == ([], {"scored": 2})


def test_many_listeners_share_one_connection():
    evaluation = make_evaluation(state=EvaluationState.LAUNCHING)
    with server() as url:
        request = httpx.Request("GET", f"{url}/evaluations/{evaluation.pk}/events/")
        responses = [httpx.Client().send(request, stream=True) for _ in range(5)]
        streams = [read_events(response) for response in responses]
        for stream in streams:
            next(stream)
        assert _listening_connections() == 1
        make_lease(evaluation)
        assert [next(stream)["state"] for stream in streams] == ["running"] * 5
        for response in responses:
            response.close()


def test_what_is_not_public_is_404_for_others_and_cuts_them_off_when_it_becomes_so():
    evaluation = make_evaluation(state=EvaluationState.LAUNCHING)
    path = f"/evaluations/{evaluation.pk}/events/"
    with server() as url:
        with httpx.stream("GET", f"{url}{path}", timeout=10) as response:
            events = read_events(response)
            assert next(events)["state"] == "launching"
            set_visibility(evaluation.submission, visibility="private", by=None)
            assert next(events, None) is None
        assert httpx.get(f"{url}{path}").status_code == 404


def _listening_connections() -> int:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'planarena-events'")
        return cursor.fetchone()[0]


def test_a_listener_that_falls_behind_gets_the_whole_state_instead_of_every_event():
    queue = asyncio.Queue(maxsize=3)
    for number in range(3):
        live._put(queue, {"number": number})
    live._put(queue, {"number": 3})
    assert [queue.get_nowait() for _ in range(queue.qsize())] == [live._RESYNC]


def test_a_listener_that_goes_while_it_waits_for_the_connection_leaves_nothing_behind(monkeypatch):
    async def come_and_go() -> live.Hub:
        waits = asyncio.Event()

        async def never(self: live.Hub) -> None:
            waits.set()
            await asyncio.Event().wait()

        monkeypatch.setattr(live.Hub, "_listen", never)
        hub = live.Hub()
        coming = asyncio.create_task(hub.subscribe("e1"))
        await waits.wait()
        coming.cancel()
        with pytest.raises(asyncio.CancelledError):
            await coming
        return hub

    hub = asyncio.run(come_and_go())
    assert (dict(hub._queues), hub._task) == ({}, None)
