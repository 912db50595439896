"""Whoever is killed, and at whatever effect: the final rows are those of an undisturbed run.

The points are not listed anywhere: `effects.py` records what leaves the processes of undisturbed runs, and each of
these effects is a point before and a point after it. Each place in the code is tried with both brokers;
`CRASH_POINTS=all` tries every effect.
"""

import itertools
from collections.abc import Callable

import pytest
import redis

from tests.crash.driving import Ground
from tests.crash.effects import Point
from tests.crash.matrix import ALL, ONLY, Undisturbed, chosen, points, run_points, undisturbed
from tests.redis_server import DATABASES, redis_server

pytestmark = [pytest.mark.full, pytest.mark.timeout(7200)]
JOURNEYS = ("by_messages", "by_sweeps", "by_own_worker", "in_turns")
MESSAGING = frozenset({"celery", "beat"})
"""Roles that do other things with another broker; the others depend on it only where they publish."""
SITE = frozenset({"web", "celery"})
"""Roles that do other things for an own worker. What own workers do themselves is the program of the site's workers."""
Broker = Callable[[], str]


@pytest.fixture
def brokers():
    """By name, a function that gives the address of an empty broker. The one of files needs no server: every run has a
    folder of its own."""
    numbers = itertools.cycle(range(1, DATABASES))
    with redis_server() as server:

        def fresh() -> str:
            url = f"{server}/{next(numbers)}"
            with redis.Redis.from_url(url) as client:
                client.flushdb()
            return url

        yield {"files": lambda: "filesystem://localhost//", "redis": fresh}


def is_new(run: Undisturbed, point: Point, *, broker: str) -> bool:
    """Whether this point is another one than those of other journeys and brokers."""
    if run.journey == "by_own_worker":
        return broker == "files" and point.effect.role in SITE
    return broker == "files" or ALL or point.effect.role in MESSAGING or point.effect.name.startswith("broker")


@pytest.mark.parametrize("broker", ["files", "redis"])
def test_whoever_is_killed_the_rows_are_those_of_an_undisturbed_run(ground: Ground, brokers, broker):
    runs = [undisturbed(ground=ground, journey=name, broker=brokers[broker]) for name in JOURNEYS]
    wanted = [each for each in chosen(runs) if is_new(*each, broker=broker)]
    found = sum(len(points(run.effects)) for run in runs)
    print(f"\n{found} crash points found, {len(wanted)} tried with {broker}", flush=True)
    assert ONLY or len(wanted) >= 40
    problems = run_points(ground=ground, wanted=wanted, broker=brokers[broker])
    assert not problems, "\n".join(problems)
