"""Figures that are the same in every process: of the database, with one cheap query each, of stores and volumes."""

import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from itertools import chain
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.db.models import Count, F, Max
from django.db.models.functions import Now
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from evaluator.core.records import ResultRecord, StepRun
from evaluator.execution.engine.store import StoreUnavailableError
from leaderboard.evaluations import states
from leaderboard.evaluations.models import Attempt, AttemptState, Evaluation, EvaluationState, Shard, ShardState
from leaderboard.operations.backups.losses import CHECKPOINTS, STORES
from leaderboard.operations.backups.repair import quarantined
from leaderboard.operations.models import EndedAttempts, ToolUsage
from leaderboard.operations.monitoring.facts import site_facts
from leaderboard.operations.monitoring.messages import broker_figures, outbox_figures
from leaderboard.operations.monitoring.moments import moment_figures
from leaderboard.platform.health import Code, Facts, health, late_tasks
from leaderboard.platform.storage.bucket import store_problem
from leaderboard.queue.pools import demands, evaluations_without_pool

CACHE_SECONDS = 10.0
"""How long figures are shown again, so that scraping often costs the database nothing."""
_LONGEST_NAME = 120


class DatabaseFigures:
    """A collector of prometheus_client."""

    def __init__(self, *, cache_seconds: float = CACHE_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        """Args:
        cache_seconds: how long figures are shown again.
        clock: what tells the time.
        """
        self._cache_seconds = cache_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: list[Metric] = []
        self._until = float("-inf")

    def collect(self) -> list[Metric]:
        """The figures, at most `cache_seconds` old."""
        # Scrapes at one moment ask once.
        with self._lock:
            if self._clock() >= self._until:
                self._kept = list(_figures())
                self._until = self._clock() + self._cache_seconds
            return self._kept


def _figures() -> Iterator[Metric]:
    facts = site_facts()
    yield from health_figures(facts)
    yield from broker_figures()
    yield from space_figures()
    if facts.work is None:
        # No value is better than a wrong one, and the others say why.
        return
    yield from _evaluations()
    yield _shards()
    yield from _attempts()
    yield from _tools()
    yield from _pools()
    yield from outbox_figures()
    yield from moment_figures()
    yield from damage_figures()


def health_figures(facts: Facts) -> Iterator[Metric]:
    """What is wrong with the site, as the status page says it."""
    found = {finding.code for finding in health(facts)}
    wrong = GaugeMetricFamily(
        "planarena_health", "1 if something is wrong with the site, else 0, by what.", labels=["finding"]
    )
    for code in Code:
        wrong.add_metric([code], float(code in found))
    late = GaugeMetricFamily("planarena_task_late", "1 if a periodic task is late, else 0.", labels=["task"])
    if facts.work is not None:
        tasks = late_tasks(facts.work)
        for name in facts.work.tasks:
            late.add_metric([name], float(name in tasks))
    yield from (wrong, late)


def _evaluations() -> Iterator[Metric]:
    count = GaugeMetricFamily("planarena_evaluations", "Evaluations by state.", labels=["state"])
    oldest = GaugeMetricFamily(
        "planarena_evaluations_oldest_seconds",
        "How long the oldest evaluation has been in a state that is not final; 0 if none is.",
        labels=["state"],
    )
    # By the clock that wrote it.
    age = Max(Now() - F("state_since"))
    rows = Evaluation.runs.values_list("state").annotate(Count("pk"), longest=age).order_by()
    found = {state: (number, longest) for state, number, longest in rows}
    for state in EvaluationState:
        number, longest = found.get(state, (0, timedelta()))
        count.add_metric([state], number)
        if state not in states.FINAL:
            oldest.add_metric([state], max(0.0, longest.total_seconds()))
    yield from (count, oldest)


def _shards() -> Metric:
    family = GaugeMetricFamily(
        "planarena_shards", "Shards of evaluations that have not ended, by state.", labels=["state"]
    )
    under_way = [state for state in EvaluationState if state not in states.FINAL]
    rows = Shard.objects.filter(evaluation__state__in=under_way).values_list("state").annotate(Count("pk")).order_by()
    _add_all(family=family, states=ShardState.values, found=dict(rows))
    return family


def _attempts() -> Iterator[Metric]:
    live = GaugeMetricFamily("planarena_live_attempts", "Attempts whose worker holds a shard.")
    ended = CounterMetricFamily("planarena_attempts", "Attempts that have ended, by how.", labels=["state"])
    # One statement and so one snapshot: an attempt that is deleted meanwhile is in one of the two.
    sql = (
        f"SELECT state, count(*) FROM {Attempt._meta.db_table} GROUP BY state "  # noqa: S608 - our own names
        f"UNION ALL SELECT state, deleted FROM {EndedAttempts._meta.db_table}"
    )
    found = dict.fromkeys(AttemptState.values, 0)
    with connection.cursor() as cursor:
        cursor.execute(sql)
        for state, number in cursor.fetchall():
            found[state] += number
    live.add_metric([], found.pop(AttemptState.LIVE))
    for state, number in found.items():
        ended.add_metric([state], number)
    yield from (live, ended)


def _add_all(*, family: GaugeMetricFamily, states: list[str], found: dict[str, int]) -> None:
    # Zeros too: a series that comes and goes cannot be alerted on.
    for state in states:
        family.add_metric([state], found.get(state, 0))


def _tools() -> Iterator[Metric]:
    steps = CounterMetricFamily(
        "planarena_steps", "Steps of delivered results; cached ones were in a store.", labels=["tool", "cached"]
    )
    seconds = CounterMetricFamily("planarena_expert_seconds", "Time that experts took.", labels=["tool"])
    for usage in ToolUsage.objects.order_by("tool"):
        steps.add_metric([usage.tool, "yes"], usage.cached)
        steps.add_metric([usage.tool, "no"], usage.steps - usage.cached)
        seconds.add_metric([usage.tool], usage.seconds)
    yield from (steps, seconds)


def _pools() -> Iterator[Metric]:
    """Of worker pools on Kubernetes, for the scaler of an installation without KEDA too."""
    workers, models, open_shards = (
        GaugeMetricFamily(f"planarena_pool_{what}", said, labels=["pool"])
        for what, said in (
            ("workers", "Workers that a pool needs now, at most its size."),
            ("models", "Model servers that a pool needs now, at most its size."),
            ("open_shards", "Shards that are not done, by the pool that is scaled for them."),
        )
    )
    for name, demand in demands().items():
        workers.add_metric([name], demand.workers)
        models.add_metric([name], demand.models)
        open_shards.add_metric([name], demand.open_shards)
    untaken = GaugeMetricFamily("planarena_evaluations_without_pool", "Evaluations that no worker pool takes.")
    untaken.add_metric([], evaluations_without_pool())
    yield from (workers, models, open_shards, untaken)


def damage_figures() -> Iterator[Metric]:
    """Of the stores: a quarantine is empty unless something is wrong."""
    files = GaugeMetricFamily(
        "planarena_store_quarantined", "Damaged files in the quarantine of the site's stores.", labels=["store"]
    )
    lost = GaugeMetricFamily(
        "planarena_store_lost", "Objects whose damaged file is in quarantine and that no store has.", labels=["store"]
    )
    available = GaugeMetricFamily(
        "planarena_store_available", "1 while the site's bucket takes data, else 0; always 1 with folders."
    )
    problem = store_problem()
    available.add_metric([], 0.0 if problem else 1.0)
    yield available
    try:
        found = quarantined()
    except StoreUnavailableError:
        # Nobody knows: no value is better than a wrong one.
        return
    for store in (*STORES, CHECKPOINTS):
        of_store = [one for one in found if one.store == store]
        files.add_metric([store], len(of_store))
        lost.add_metric([store], len({one.file.digest for one in of_store if not one.is_repaired}))
    yield from (files, lost)


def space_figures() -> Iterator[Metric]:
    """Of the volumes that hold the data folder, the stores and the uploads; several names may be of one volume."""
    free = GaugeMetricFamily("planarena_volume_free_bytes", "Space that is left to the site.", labels=["volume"])
    size = GaugeMetricFamily("planarena_volume_size_bytes", "Size of the volume.", labels=["volume"])
    for name, folder in _folders().items():
        # The volume that a folder will be on when it is made.
        there = next((path for path in (folder, *folder.parents) if path.exists()), None)
        if there is not None:
            usage = shutil.disk_usage(there)
            free.add_metric([name], usage.free)
            size.add_metric([name], usage.total)
    yield from (free, size)


def _folders() -> dict[str, Path]:
    return {"data": settings.DATA_DIR, "store": settings.STORE_DIR, "uploads": settings.UPLOADS_DIR}


def count_steps(records: Iterable[ResultRecord]) -> None:
    """Add the steps of records to the sums of their tools, in the caller's transaction.

    Before: the caller has just inserted these results, and does little more before it commits: everybody else who
    delivers steps of the same tools waits until then.
    After: each step is counted once, or not at all if the transaction is rolled back.
    """
    sums: dict[str, tuple[int, int, float]] = {}
    for step in _steps(records):
        # Names come from workers.
        tool = step.tool.replace("\x00", "")[:_LONGEST_NAME]
        steps, cached, seconds = sums.get(tool, (0, 0, 0.0))
        sums[tool] = (steps + 1, cached + step.cached, seconds + step.seconds)
    if not sums:
        return
    # In one order for all, or two deliveries could wait for each other.
    rows = [(tool, *sums[tool]) for tool in sorted(sums)]
    table = ToolUsage._meta.db_table
    values = ", ".join(["(%s, %s, %s, %s)"] * len(rows))
    sql = (
        f"INSERT INTO {table} AS known (tool, steps, cached, seconds) VALUES {values} "  # noqa: S608 - our own names
        "ON CONFLICT (tool) DO UPDATE SET steps = known.steps + EXCLUDED.steps, "
        "cached = known.cached + EXCLUDED.cached, seconds = known.seconds + EXCLUDED.seconds"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, list(chain.from_iterable(rows)))


def _steps(records: Iterable[ResultRecord]) -> Iterable[StepRun]:
    return (step for record in records for sample in record.samples for step in sample.steps)
