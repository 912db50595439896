"""The simulation of a site against closed forms of queueing theory, and against the load test that was measured."""

import math
import re
from pathlib import Path

import pytest

from evaluator.studies.capacity import (
    TWO_CORES,
    Pool,
    Site,
    Work,
    cluster,
    largest_rate,
    nodes_table,
    queue_table,
    simulate,
)

FREE = Site()
DOCS = Path("docs")


def erlang_c(*, rate, seconds, servers):
    """Mean wait of M/M/c."""
    load = rate * seconds
    last = load**servers / math.factorial(servers) * servers / (servers - load)
    waits = last / (sum(load**k / math.factorial(k) for k in range(servers)) + last)
    return waits * seconds / (servers - load)


@pytest.mark.parametrize(("servers", "load"), [(1, 0.5), (1, 0.8), (4, 0.8), (16, 0.9)])
def test_a_fixed_pool_waits_as_m_m_c_does(servers, load):
    rate = servers * load
    work = Work(evaluations=40_000, rate=rate, shard_seconds=1.0)
    found = simulate(work=work, site=FREE, pool=Pool(least=servers, most=servers), seed=1)
    assert found.mean_wait == pytest.approx(erlang_c(rate=rate, seconds=1.0, servers=servers), rel=0.12)
    assert found.utilisation == pytest.approx(load, rel=0.03)


def test_constant_times_wait_half_as_long():
    """Pollaczek and Khinchine: M/D/1 waits load * seconds / (2 * (1 - load))."""
    work = Work(evaluations=40_000, rate=0.8, shard_seconds=1.0, draw="constant")
    found = simulate(work=work, site=FREE, pool=Pool(least=1, most=1), seed=2)
    assert found.mean_wait == pytest.approx(0.8 / (2 * 0.2), rel=0.06)


@pytest.mark.parametrize("workers", [1, 3, 10])
def test_workers_before_one_processor_are_the_machine_repair_problem(workers):
    """A closed network with exponential times: mean value analysis gives its throughput exactly."""
    site_seconds, work_seconds = 0.2, 1.0
    queued = 0.0
    for number in range(1, workers + 1):
        response = site_seconds * (1 + queued)
        throughput = number / (work_seconds + response)
        queued = throughput * response
    found = simulate(
        work=Work(evaluations=20_000, shard_seconds=work_seconds),
        site=Site(shard_seconds=site_seconds, draw="exponential"), pool=Pool(least=workers, most=workers), seed=3,
    )  # fmt: skip
    assert found.rate == pytest.approx(throughput, rel=0.03)


def test_the_load_test_is_met_with_its_measured_processor_times():
    """78.8 and 82.3 shards a second were measured with 8 workers that take no time."""
    work = Work(evaluations=400, shards=8, shard_seconds=0.0, draw="constant")
    found = simulate(work=work, site=TWO_CORES, pool=Pool(least=8, most=8))
    text = (DOCS / "studies" / "speed.md").read_text(encoding="utf-8")
    (first, second) = map(float, re.findall(r"shards per second \| ([0-9.]+) and ([0-9.]+) in two runs", text)[0])
    assert found.rate == pytest.approx((first + second) / 2, rel=0.05)


def test_a_pool_starts_workers_when_shards_wait_and_ends_idle_ones():
    work = Work(evaluations=20, shards=4, shard_seconds=10.0, draw="constant")
    pool = Pool(least=0, most=8, start_seconds=60.0)
    found = simulate(work=work, site=FREE, pool=pool)
    assert found.seconds == 60.0 + 10 * 10.0, "80 shards on 8 workers that begin after a minute"
    assert found.worker_seconds == 8 * found.seconds
    sparse = Work(evaluations=50, rate=1e-4, shard_seconds=10.0, draw="constant")
    found = simulate(work=sparse, site=FREE, pool=pool, seed=4)
    assert found.worker_seconds == pytest.approx(50 * (60.0 + 10.0 + 300.0), rel=0.1), "each is paid for its cooldown"


def test_a_queue_that_grows_slows_the_database_and_partitions_help():
    one, eight = (
        simulate(
            work=Work(evaluations=3_000, shard_seconds=0.0, draw="constant"),
            site=cluster(processors=64, database_processors=1, partitions=count), pool=Pool(least=50, most=50),
        )
        for count in (1, 8)
    )  # fmt: skip
    # A queue that is emptied has half of its length on average.
    assert one.rate == pytest.approx(largest_rate(waiting=1_500, database_processors=1), rel=0.02)
    assert eight.rate == pytest.approx(largest_rate(waiting=1_500, database_processors=1, partitions=8), rel=0.05)


def test_equal_seeds_give_equal_outcomes():
    work = Work(evaluations=100, rate=1.0, shard_seconds=1.0)
    outcomes = [simulate(work=work, site=TWO_CORES, pool=Pool(least=1, most=4), seed=seed) for seed in (5, 5, 6)]
    assert outcomes[0] == outcomes[1] != outcomes[2]


@pytest.mark.parametrize(
    ("work", "pool"),
    [
        (Work(evaluations=0, shard_seconds=1.0), Pool(least=1, most=1)),
        (Work(evaluations=1, shard_seconds=1.0), Pool(least=2, most=1)),
    ],
)
def test_nothing_to_simulate_is_refused(work, pool):
    with pytest.raises(ValueError, match="must be at least 1"):
        simulate(work=work, site=FREE, pool=pool)


def test_the_tables_of_the_documents_are_those_of_the_simulation():
    text = (DOCS / "scaling.md").read_text(encoding="utf-8")
    for table in (nodes_table(), queue_table()):
        assert "\n".join(table) in text
