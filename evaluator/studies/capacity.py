"""A discrete-event simulation of a site: its queue in PostgreSQL, its processors, and a pool of workers with GPUs.

    python -m evaluator.studies.capacity

prints the tables of `docs/scaling.md`. A shard waits in the queue; an idle worker asks for it, which needs time of the
database and of the site's other processes, and works on it. Everything is drawn from one seed.
"""

import heapq
import random
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

Draw = Literal["constant", "exponential"]
"""How times vary around their mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What arrives."""

    evaluations: int
    """Their number."""
    shards: int = 1
    """Shards of each."""
    rate: float | None = None
    """Evaluations a second, at random times (Poisson); None: all are there at the beginning."""
    shard_seconds: float
    """Mean time of a worker for a shard."""
    draw: Draw = "exponential"


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Processor time that each shard needs besides a worker's. The defaults take none."""

    processors: int = 1
    """Of web and queue processes."""
    shard_seconds: float = 0.0
    """Their time for a shard."""
    draw: Draw = "constant"
    database_processors: int | None = None
    """None: the database is on the same processors."""
    database_seconds: float = 0.0
    """The database's time for a shard, without evaluations that wait."""
    seconds_per_waiting: float = 0.0
    """More of it for each evaluation that waits in the partition: whose turn it is depends on all of them."""
    partitions: int = 1
    """Queues; evaluations go to them in turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Workers, each with a GPU. With `least` below `most` they follow the shards that wait."""

    least: int
    most: int
    start_seconds: float = 0.0
    """From the need of a worker until it asks for a shard."""
    cooldown_seconds: float = 300.0
    """How long a worker stays without work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a simulation counted."""

    shards: int
    seconds: float
    """Until the last shard ended."""
    mean_wait: float
    """Seconds from a shard's arrival until a worker works on it."""
    p95_wait: float
    worker_seconds: float
    """Paid time of workers, with their start."""
    busy_seconds: float
    """Time in which they worked on shards."""
    processor_seconds: float
    """Time of web, queue and database processes."""

    @property
    def rate(self) -> float:
        """Shards a second."""
        return self.shards / self.seconds

    @property
    def utilisation(self) -> float:
        """Share of the paid time in which workers worked, in [0, 1]."""
        return self.busy_seconds / self.worker_seconds


class _Shard(NamedTuple):
    evaluation: int
    arrived: float


class _Station:
    """Servers that take requests in order. Calls back with the time at which one ends."""

    def __init__(self, servers: int) -> None:
        self.busy_seconds = 0.0
        self._free = [0.0] * servers

    def ends(self, *, now: float, seconds: float) -> float:
        """When a request that arrives now has been served."""
        start = max(now, heapq.heappop(self._free))
        heapq.heappush(self._free, start + seconds)
        self.busy_seconds += seconds
        return start + seconds


class _Simulation:
    def __init__(self, *, work: Work, site: Site, pool: Pool, seed: int) -> None:
        self.work, self.site, self.pool = work, site, pool
        self.random = random.Random(seed)  # noqa: S311 - a simulation, repeatable
        self.now = 0.0
        self.events: list[tuple[float, int, Callable[[], None]]] = []
        self.order = 0
        self.queues: list[deque[_Shard]] = [deque() for _ in range(site.partitions)]
        self.unleased = [work.shards] * work.evaluations
        """Shards of each evaluation that nobody has leased."""
        self.waiting = [0] * site.partitions
        """Evaluations with a shard that waits, by partition."""
        self.processors = _Station(site.processors)
        self.database = self.processors if site.database_processors is None else _Station(site.database_processors)
        self.idle: list[tuple[float, float]] = []
        """Idle workers: since when, and when each began to be paid."""
        self.workers = 0
        self.paid = 0.0
        self.busy = 0.0
        self.waits: list[float] = []
        self.ended = 0

    def at(self, when: float, act: Callable[[], None]) -> None:
        self.order += 1
        heapq.heappush(self.events, (when, self.order, act))

    def time(self, mean: float, draw: Draw) -> float:
        return self.random.expovariate(1 / mean) if draw == "exponential" and mean else mean

    def run(self) -> Outcome:
        for _ in range(self.pool.least):
            self.start_worker(delay=0.0)
        when = 0.0
        for number in range(self.work.evaluations):
            if self.work.rate is not None:
                when += self.random.expovariate(self.work.rate)
            self.at(when, lambda number=number: self.arrive(number))  # type: ignore[misc]  # a default binds the number
        total = self.work.evaluations * self.work.shards
        while self.ended < total:
            self.now, _, act = heapq.heappop(self.events)
            act()
        for _, since in self.idle:
            self.paid += self.now - since
        ordered = sorted(self.waits)
        return Outcome(
            shards=total, seconds=self.now, mean_wait=sum(ordered) / total, p95_wait=ordered[int(0.95 * (total - 1))],
            worker_seconds=self.paid, busy_seconds=self.busy,
            processor_seconds=sum(one.busy_seconds for one in {self.processors, self.database}),
        )  # fmt: skip

    def arrive(self, number: int) -> None:
        partition = number % self.site.partitions
        self.waiting[partition] += 1
        self.queues[partition].extend(_Shard(number, self.now) for _ in range(self.work.shards))
        self.scale()
        while self.idle and any(self.queues):
            self.lease(self.idle.pop()[1])

    def scale(self) -> None:
        """Start workers for the shards that wait, up to the most."""
        for _ in range(min(sum(map(len, self.queues)), self.pool.most) - self.workers):
            self.start_worker(delay=self.pool.start_seconds)

    def start_worker(self, *, delay: float) -> None:
        self.workers += 1
        since = self.now
        self.at(self.now + delay, lambda: self.ask(since))

    def ask(self, since: float) -> None:
        if any(self.queues):
            self.lease(since)
            return
        self.idle.append((self.now, since))
        if self.workers > self.pool.least:
            entry = self.idle[-1]
            self.at(self.now + self.pool.cooldown_seconds, lambda: self.end_idle(entry))

    def end_idle(self, entry: tuple[float, float]) -> None:
        if entry in self.idle and self.workers > self.pool.least:
            self.idle.remove(entry)
            self.workers -= 1
            self.paid += self.now - entry[1]

    def lease(self, since: float) -> None:
        partition = max(range(self.site.partitions), key=lambda one: len(self.queues[one]))
        shard = self.queues[partition].popleft()
        seconds = self.site.database_seconds + self.site.seconds_per_waiting * self.waiting[partition]
        self.unleased[shard.evaluation] -= 1
        if not self.unleased[shard.evaluation]:
            self.waiting[partition] -= 1
        self.at(self.database.ends(now=self.now, seconds=seconds), lambda: self.process(shard, since))

    def process(self, shard: _Shard, since: float) -> None:
        seconds = self.time(self.site.shard_seconds, self.site.draw)
        self.at(self.processors.ends(now=self.now, seconds=seconds), lambda: self.begin(shard, since))

    def begin(self, shard: _Shard, since: float) -> None:
        self.waits.append(self.now - shard.arrived)
        seconds = self.time(self.work.shard_seconds, self.work.draw)
        self.busy += seconds
        self.at(self.now + seconds, lambda: self.end(since))

    def end(self, since: float) -> None:
        self.ended += 1
        self.paid += self.now - since
        self.ask(self.now)


def simulate(*, work: Work, site: Site, pool: Pool, seed: int = 0) -> Outcome:
    """Run a site until all shards have ended. Equal arguments give equal outcomes.

    Raises:
        ValueError: nothing arrives, or the pool has no worker.
    """
    if work.evaluations < 1 or work.shards < 1:
        raise ValueError(f"{work.evaluations} evaluations of {work.shards} shards: both must be at least 1")
    if pool.most < 1 or not 0 <= pool.least <= pool.most:
        raise ValueError(f"a pool of {pool.least} to {pool.most} workers: the most must be at least 1, and the least")
    return _Simulation(work=work, site=site, pool=pool, seed=seed).run()


_PER_WAITING = 3.1e-6
"""Seconds of PostgreSQL for each evaluation that waits: the statement that finds whose turn it is took 2 ms with 200
and 6 ms with 1,500 of them (`docs/studies/speed.md`, "Queue load test"); the slope between both."""
_DATABASE = 0.0101 - 200 * _PER_WAITING
"""Seconds of PostgreSQL for a shard in that test with 8 workers. Its 400 evaluations waited half of the time."""
_WEB_AND_QUEUE = 0.0075 + 0.0039
"""Seconds of the web server and Celery for a shard, from the same test."""
_WORKER = 0.0040
"""Seconds of a worker's own process for a shard, which the load test runs on the same processors."""
TWO_CORES = Site(
    processors=2, shard_seconds=_WEB_AND_QUEUE + _WORKER, database_seconds=_DATABASE, seconds_per_waiting=_PER_WAITING
)
"""The machine of the load test."""


def cluster(*, processors: int, database_processors: int, partitions: int = 1) -> Site:
    """A site whose database is on a machine of its own, with the times of the load test.

    Assumes that its processors do not wait for each other: leases lock one evaluation each and skip locked ones.
    """
    return Site(
        processors=processors, shard_seconds=_WEB_AND_QUEUE, database_processors=database_processors,
        database_seconds=_DATABASE, seconds_per_waiting=_PER_WAITING, partitions=partitions,
    )  # fmt: skip


def largest_rate(*, waiting: int, database_processors: int, partitions: int = 1) -> float:
    """Shards a second that the database's processors allow.

    Args:
        waiting: evaluations that wait, in all partitions together.
        database_processors: of one machine.
        partitions: queues, to which they are distributed equally.
    """
    return database_processors / (_DATABASE + _PER_WAITING * waiting / partitions)


def nodes_table() -> list[str]:
    """Nodes with 8 GPUs each, shards of 10 s, and three evaluations for each GPU that are there at the beginning."""
    lines = [
        "| nodes | GPUs | processors: site, database | shards a second | GPUs busy |",
        "|---|---|---|---|---|",
    ]
    for nodes, processors, database in ((1, 1, 1), (10, 1, 1), (100, 1, 1), (100, 2, 2), (100, 4, 4)):
        gpus = 8 * nodes
        work = Work(evaluations=3 * gpus, shards=8, shard_seconds=10.0, draw="constant")
        site = cluster(processors=processors, database_processors=database)
        found = simulate(work=work, site=site, pool=Pool(least=gpus, most=gpus))
        busy = f"{found.busy_seconds / (gpus * found.seconds):.0%}".replace("%", " %")
        lines.append(f"| {nodes} | {gpus} | {processors}, {database} | {found.rate:.1f} | {busy} |")
    return lines


def queue_table() -> list[str]:
    """Shards a second that a database with 32 processors allows."""
    lines = ["| evaluations that wait | 1 queue | 8 partitions | 64 partitions |", "|---|---|---|---|"]
    for waiting in (200, 1_500, 10_000, 100_000, 1_000_000):
        rates = [largest_rate(waiting=waiting, database_processors=32, partitions=count) for count in (1, 8, 64)]
        lines.append(f"| {waiting:,} | " + " | ".join(f"{rate:,.0f}" for rate in rates) + " |")
    return lines


if __name__ == "__main__":
    sys.stdout.write("\n".join([*nodes_table(), "", *queue_table()]) + "\n")
