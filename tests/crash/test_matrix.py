"""Whoever is killed, and at whatever effect: the final rows are those of an undisturbed run.

The points are not listed anywhere: `effects.py` records what leaves the processes of undisturbed runs, and each of
these effects is a point before and a point after it. A run tries one point of each kind of effect in each role, with
one broker; with `--deep` each place in the code is tried with both; `CRASH_POINTS=all` tries every effect.
"""

import itertools
from collections.abc import Callable

import pytest
import redis

from tests.crash.driving import Ground
from tests.crash.effects import Effect, Point
from tests.crash.matrix import ALL, ONLY, Undisturbed, chosen, kind_of, points, run_points, sampled, undisturbed
from tests.redis_server import DATABASES, redis_server
from tests.sampling import Sample

JOURNEYS = ("by_messages", "by_sweeps", "by_own_worker", "in_turns")
ROLES = frozenset({"web", "celery", "beat", "worker", "own_worker"})
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


@pytest.mark.timeout(7200)
@pytest.mark.sampled(of=2)
@pytest.mark.parametrize("broker", ["files", "redis"])
def test_whoever_is_killed_the_rows_are_those_of_an_undisturbed_run(ground: Ground, sample: Sample, brokers, broker):
    runs = [undisturbed(ground=ground, journey=name, broker=brokers[broker]) for name in JOURNEYS]
    # A sample has one broker, and so all points with it.
    tried = [each for each in chosen(runs) if not sample.deep or is_new(*each, broker=broker)]
    wanted = sampled(tried, sample=sample)
    found = sum(len(points(run.effects)) for run in runs)
    print(f"\n{found} crash points found in {len(tried)} places, {len(wanted)} tried with {broker}", flush=True)
    assert ONLY or len(tried) >= 40
    assert ONLY or {kind_of(one) for one in wanted} == {kind_of(one) for one in tried}
    assert ONLY or sample.deep or {point.effect.role for _, point in wanted} == ROLES
    problems = run_points(ground=ground, wanted=wanted, broker=brokers[broker])
    assert not problems, "\n".join(problems)


def test_a_sample_has_a_point_of_each_kind_of_effect():
    effects = [
        Effect(role, f"{what} @ {place}", 1)
        for role in ("web", "celery")
        for what in ("sql UPDATE a", "sql UPDATE b", "sql COMMIT", "http GET /x", "http GET /y")
        for place in ("f", "g")
    ]
    run = Undisturbed(journey="x", effects=tuple(effects), outcome={})
    found = [sampled(chosen([run], only="all"), sample=Sample(name=str(number))) for number in range(60)]
    kinds = {(role, kind) for role in ("web", "celery") for kind in ("sql UPDATE", "sql COMMIT", "http GET")}
    assert all(len(one) == len(kinds) and {kind_of(point) for point in one} == kinds for one in found)
    assert {str(point) for one in found for _, point in one} == {str(point) for point in points(effects)}


def test_each_place_is_chosen_once_and_with_both_moments():
    effects = (Effect("web", "a", 1), Effect("web", "a", 2), Effect("celery", "b", 1))
    first = Undisturbed(journey="x", effects=effects, outcome={})
    second = Undisturbed(journey="y", effects=(*effects, Effect("beat", "c", 1)), outcome={})
    few = [str(point) for _, point in chosen([first, second], only="")]
    assert few == [
        "web before a #1", "web after a #1", "celery before b #1", "celery after b #1",
        "beat before c #1", "beat after c #1",
    ]  # fmt: skip
    assert len(chosen([first, second], only="all")) == 8
    assert [str(point) for _, point in chosen([first, second], only="after .*c")] == ["beat after c #1"]
