"""The limit finds what an endpoint bears, stays there, and follows when that changes."""

import asyncio

import pytest

from evaluator.planners.language_models.chat.congestion import ConcurrencyLimit, Gate, Refusal


def rounds(limit, *, bears, count):
    """Round trips in which as many calls are sent as the limit allows; gives how many were answered in each."""
    answered = []
    for _ in range(count):
        sent, epoch = limit.limit, limit.epoch
        served = min(sent, bears)
        for _ in range(sent - served):
            limit.refused(epoch=epoch)
        for _ in range(served):
            limit.succeeded(was_full=True)
        answered.append(served)
    return answered


@pytest.mark.parametrize("bears", [1, 2, 7, 12, 64, 100, 1000])
def test_most_of_what_an_endpoint_bears_is_used(bears):
    limit = ConcurrencyLimit(highest=256)
    rounds(limit, bears=bears, count=30)
    answered = rounds(limit, bears=bears, count=100)
    assert sum(answered) / 100 > 0.9 * min(bears, 256)
    assert limit.limit <= 256


@pytest.mark.parametrize("now", [10, 80])
def test_refusals_become_rare_and_the_limit_follows_changes_of_the_endpoint(now):
    limit = ConcurrencyLimit(highest=256)
    rounds(limit, bears=40, count=50)
    before = limit.epoch
    rounds(limit, bears=40, count=200)
    assert limit.epoch - before <= 8
    rounds(limit, bears=now, count=100)
    assert sum(rounds(limit, bears=now, count=50)) / 50 > 0.85 * now


def test_one_burst_of_refusals_halves_once():
    limit = ConcurrencyLimit(highest=64, first=32)
    epoch = limit.epoch
    results = [limit.refused(epoch=epoch) for _ in range(10)]
    assert limit.limit == 16
    assert results[1:] == [Refusal.KNOWN] * 9


def test_a_refusal_of_what_was_borne_is_one_of_rate():
    limit = ConcurrencyLimit(highest=8)
    rounds(limit, bears=100, count=3)
    assert limit.refused(epoch=limit.epoch) is Refusal.OF_RATE
    fresh = ConcurrencyLimit(highest=64)
    rounds(fresh, bears=100, count=2)
    assert fresh.refused(epoch=fresh.epoch) is Refusal.OF_NUMBER


def test_a_pause_that_outlives_its_event_loop_holds_nobody_back_for_ever():
    gate = Gate(ConcurrencyLimit(highest=1), name="gate")

    async def left_in_the_middle():
        gate.refused(epoch=gate.limit.epoch, why="too much", after=0.05)
        waiting = asyncio.create_task(enter())
        await asyncio.sleep(0.01)
        waiting.cancel()

    async def enter():
        async with gate.place():
            return "in"

    async def again():
        return await asyncio.wait_for(asyncio.gather(enter(), enter()), timeout=5)

    asyncio.run(left_in_the_middle())
    assert asyncio.run(again()) == ["in", "in"]


def test_who_gives_up_waiting_takes_no_place():
    async def run():
        gate = Gate(ConcurrencyLimit(highest=1), name="gate")

        async def one():
            async with gate.place(first=False):
                return "in"

        async with gate.place(first=False):
            tasks = [asyncio.create_task(one()) for _ in range(3)]
            await asyncio.sleep(0.01)
            tasks[0].cancel()
            await asyncio.sleep(0.01)
        tasks[1].cancel()
        result = await asyncio.gather(*tasks, return_exceptions=True)
        return result[2], gate.progress

    result, progress = asyncio.run(run())
    assert result == "in"
    assert (progress.running, progress.waiting) == (0, 0)
