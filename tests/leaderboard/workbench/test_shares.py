"""Twenty people ask at once, and two workers serve them: fair shares, counted in turns, and what open pages cost.

Waits are counted in runs that were leased before, so that the result depends on no clock.
"""

import asyncio
from collections import Counter
from uuid import UUID

import pytest
from django.db import connection

from evaluator.planners.named import planners_of_requests
from leaderboard.workbench import asking, leasing
from leaderboard.workbench.asking import NewRun
from leaderboard.workbench.web import live
from tests.leaderboard.factories import make_suite

pytestmark = pytest.mark.django_db(transaction=True)
PEOPLE, WORKERS, READERS = 20, 2, 50


@pytest.fixture(autouse=True)
def suite(own_store):
    return make_suite(slug="toolworld")


def ask(asker: str) -> UUID:
    planner = planners_of_requests("toolworld")[0].name
    return asking.start(NewRun(text="Draw it", planner=planner, keep=True), user=None, asker=asker).pk


def served() -> list[str]:
    """Askers in the order in which two workers lease and end all runs."""
    order: list[str] = []
    held: list[tuple[UUID, str]] = []
    while True:
        token = f"{len(order)}".rjust(43, "t")
        leased = leasing.lease(worker=f"w{len(order) % WORKERS}", token=token)
        if leased is not None:
            order.append(leased.run.asker)
            held.append((leased.run.pk, token))
        if len(held) == WORKERS or (leased is None and held):
            run, its = held.pop(0)
            leasing.take_events(run_id=run, token=its, first=0, events=[{"kind": "ended", "answers": []}])
        elif leased is None:
            return order


def test_no_asker_waits_more_than_twice_the_mean_for_their_first_result():
    # The first five ask four times before anybody else asks.
    for number in range(PEOPLE):
        for _ in range(4 if number < 5 else 1):
            ask(f"address {number}")
    order = served()
    first = {asker: order.index(asker) + 1 for asker in set(order)}
    mean = sum(first.values()) / len(first)

    assert Counter(order) == {f"address {number}": 4 if number < 5 else 1 for number in range(PEOPLE)}
    assert max(first.values()) <= 2 * mean


def test_an_open_page_that_hears_nothing_asks_nothing(monkeypatch):
    looks: Counter[UUID] = Counter()
    look = live._look

    def counted(run_id, *arguments, **named):
        looks[run_id] += 1
        return look(run_id, *arguments, **named)

    monkeypatch.setattr(live, "_look", counted)
    runs = [ask(f"address {number}") for number in range(READERS)]
    closed = asyncio.run(_read(runs))

    assert closed == READERS
    # One look when the page is opened, and one for the event that ended its run.
    assert set(looks.values()) == {2}


async def _read(runs: list[UUID]) -> int:
    """Streams that ended, of readers who are there before their runs are cancelled."""
    queues: dict[UUID, asyncio.Queue[live.Event]] = {run: asyncio.Queue() for run in runs}
    opened = asyncio.Semaphore(0)

    async def read(run: UUID) -> bool:
        messages = live._messages(run, seen=None, changes=queues[run], listens=lambda: True)
        assert await anext(messages) == b": still here\n\n"
        opened.release()
        return [part async for part in messages][-1] == b"event: end\ndata: {}\n\n"

    readers = [asyncio.create_task(read(run)) for run in runs]
    for _ in runs:
        await opened.acquire()
    await asyncio.to_thread(_cancel, runs)
    for queue in queues.values():
        queue.put_nowait({})
    return sum(await asyncio.gather(*readers))


def _cancel(runs: list[UUID]) -> None:
    for run in runs:
        asking.cancel(run, reason="Over.")
    connection.close()
