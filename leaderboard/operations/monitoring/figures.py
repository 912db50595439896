"""Prometheus figures that are the same in every process: of the database, with one cheap query each, stores and
volumes.
"""

import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from itertools import chain

from django.conf import settings
from django.db import connection
from django.db.models import Count, F, Max
from django.db.models.functions import Now
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from evaluator.core.records import ResultRecord
from evaluator.execution.engine.store import StoreUnavailableError
from leaderboard.evaluations import states
from leaderboard.evaluations.models import AttemptState, Evaluation, EvaluationState, Shard, ShardState
from leaderboard.messages.models import Kind, OutboxMessage
from leaderboard.operations.backups.objects import CHECKPOINTS, STORES, quarantined
from leaderboard.operations.models import Moment, ToolUsage
from leaderboard.operations.monitoring.attempts import attempt_counts
from leaderboard.operations.monitoring.facts import BACKUP, BROKER, TASK, site_facts
from leaderboard.platform.health import Code, Facts, health, late_tasks
from leaderboard.platform.storage.bucket import store_problem
from leaderboard.queue.pools import demands, evaluations_without_pool

CACHE_SECONDS = 10.0
"""How long figures are cached, so that frequent scrapes cost no queries."""
_LONGEST_NAME = 120
_EXACT = 10_000


class DatabaseFigures:
    """A collector of prometheus_client."""

    def __init__(self, *, cache_seconds: float = CACHE_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        """
        Args:
            cache_seconds: how long figures are cached.
            clock: monotonic clock in seconds.
        """
        self._cache_seconds = cache_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._cached: list[Metric] = []
        self._until = float("-inf")

    def collect(self) -> list[Metric]:
        """The figures, at most `cache_seconds` old."""
        # Concurrent scrapes share the queries.
        with self._lock:
            if self._clock() >= self._until:
                self._cached = list(_figures())
                self._until = self._clock() + self._cache_seconds
            return self._cached


def _figures() -> Iterator[Metric]:
    facts = site_facts()
    yield from health_figures(facts)
    yield from broker_figures()
    yield from space_figures()
    if facts.work is None:
        # A missing value is better than a wrong one; the health figures say why.
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
    """The findings of the status page."""
    findings = {finding.code for finding in health(facts)}
    wrong = GaugeMetricFamily("planarena_health", "1 if the site has this finding, else 0.", labels=["finding"])
    for code in Code:
        wrong.add_metric([code], float(code in findings))
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
    # By the database's clock, which set `state_since`.
    age = Max(Now() - F("state_since"))
    open_states = [state for state in EvaluationState if state not in states.FINAL]
    rows = Evaluation.runs.filter(state__in=open_states).values_list("state").annotate(Count("pk"), longest=age)
    by_state = {state: (number, longest) for state, number, longest in rows.order_by()}
    by_state |= {state: (number, timedelta()) for state, number in _ended_evaluations().items()}
    for state in EvaluationState:
        number, longest = by_state.get(state, (0, timedelta()))
        count.add_metric([state], number)
        if state not in states.FINAL:
            oldest.add_metric([state], max(0.0, longest.total_seconds()))
    yield from (count, oldest)


def _ended_evaluations() -> dict[str, int]:
    """Evaluations in each final state: exactly up to `_EXACT`, and beyond it PostgreSQL's own estimate.

    Counting them would read more with every evaluation that ever ended. Autovacuum renews the estimate.
    """
    table = Evaluation._meta.db_table
    counted = (
        f"SELECT wanted, (SELECT count(*) FROM (SELECT FROM {table} WHERE state = wanted LIMIT %s) AS first) "  # noqa: S608 - our own names
        "FROM unnest(%s::text[]) AS wanted"
    )
    estimated = (
        "SELECT value, share * greatest(reltuples, 0) FROM pg_stats JOIN pg_class ON oid = %s::regclass, "
        "unnest(most_common_vals::text::text[], most_common_freqs) AS common(value, share) "
        "WHERE schemaname = current_schema() AND tablename = %s AND attname = 'state'"
    )
    with connection.cursor() as cursor:
        cursor.execute(counted, [_EXACT + 1, sorted(states.FINAL)])
        numbers: dict[str, int] = dict(cursor.fetchall())
        if max(numbers.values()) > _EXACT:
            cursor.execute(estimated, [table, table])
            estimates = {state: round(number) for state, number in cursor.fetchall()}
            numbers = {
                state: max(number, estimates.get(state, 0)) if number > _EXACT else number
                for state, number in numbers.items()
            }
    return numbers


def _shards() -> Metric:
    family = GaugeMetricFamily(
        "planarena_shards", "Shards of evaluations that have not ended, by state.", labels=["state"]
    )
    under_way = [state for state in EvaluationState if state not in states.FINAL]
    rows = Shard.objects.filter(evaluation__state__in=under_way).values_list("state").annotate(Count("pk")).order_by()
    counts = dict(rows)
    # Including zeros: alerts need series without gaps.
    for state in ShardState.values:
        family.add_metric([state], counts.get(state, 0))
    return family


def _attempts() -> Iterator[Metric]:
    live = GaugeMetricFamily("planarena_live_attempts", "Attempts whose worker holds a shard.")
    ended = CounterMetricFamily("planarena_attempts", "Attempts that have ended, by state.", labels=["state"])
    counts = attempt_counts()
    live.add_metric([], counts.pop(AttemptState.LIVE))
    for state, number in counts.items():
        ended.add_metric([state], number)
    yield from (live, ended)


def _tools() -> Iterator[Metric]:
    steps = CounterMetricFamily(
        "planarena_steps", "Steps of delivered results; cached ones were in a store.", labels=["tool", "cached"]
    )
    seconds = CounterMetricFamily("planarena_expert_seconds", "Execution time of experts.", labels=["tool"])
    for usage in ToolUsage.objects.order_by("tool"):
        steps.add_metric([usage.tool, "yes"], usage.cached)
        steps.add_metric([usage.tool, "no"], usage.steps - usage.cached)
        seconds.add_metric([usage.tool], usage.seconds)
    yield from (steps, seconds)


def _pools() -> Iterator[Metric]:
    """Figures of worker pools on Kubernetes, also for scalers other than KEDA."""
    workers, models, open_shards = (
        GaugeMetricFamily(f"planarena_pool_{name}", documentation, labels=["pool"])
        for name, documentation in (
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
    """Figures of lost and damaged objects; a quarantine is normally empty."""
    files = GaugeMetricFamily(
        "planarena_store_quarantined", "Damaged files in the quarantine of the site's stores.", labels=["store"]
    )
    lost = GaugeMetricFamily(
        "planarena_store_lost", "Quarantined objects without a good copy in any store.", labels=["store"]
    )
    available = GaugeMetricFamily(
        "planarena_store_available", "1 while the site's bucket accepts data, else 0; always 1 with folders."
    )
    problem = store_problem()
    available.add_metric([], 0.0 if problem else 1.0)
    yield available
    try:
        entries = quarantined()
    except StoreUnavailableError:
        # A missing value is better than a wrong one.
        return
    for store in (*STORES, CHECKPOINTS):
        of_store = [entry for entry in entries if entry.store == store]
        files.add_metric([store], len(of_store))
        lost.add_metric([store], len({entry.file.digest for entry in of_store if not entry.is_repaired}))
    yield from (files, lost)


def space_figures() -> Iterator[Metric]:
    """Figures of the volumes of the data folder, the stores and the uploads, which may be the same."""
    free = GaugeMetricFamily("planarena_volume_free_bytes", "Space available to the site.", labels=["volume"])
    size = GaugeMetricFamily("planarena_volume_size_bytes", "Size of the volume.", labels=["volume"])
    folders = {"data": settings.DATA_DIR, "store": settings.STORE_DIR, "uploads": settings.UPLOADS_DIR}
    for name, folder in folders.items():
        # The volume on which a missing folder would be created.
        there = next((path for path in (folder, *folder.parents) if path.exists()), None)
        if there is not None:
            usage = shutil.disk_usage(there)
            free.add_metric([name], usage.free)
            size.add_metric([name], usage.total)
    yield from (free, size)


def outbox_figures() -> Iterator[Metric]:
    """Figures of messages that are neither sent nor given up, in one query."""
    count = GaugeMetricFamily("planarena_outbox_messages", "Emails and webhooks that wait to be sent.", labels=["kind"])
    oldest = GaugeMetricFamily(
        "planarena_outbox_oldest_seconds", "How long the oldest of them has waited; 0 if none waits.", labels=["kind"]
    )
    late = GaugeMetricFamily(
        "planarena_outbox_late_seconds",
        "For how long the next try of one has been due at most; 0 if none is due.",
        labels=["kind"],
    )
    rows = (
        OutboxMessage.objects.filter(sent_at=None, given_up_at=None)
        .values_list("kind")
        .annotate(Count("pk"), age=Max(Now() - F("created")), due=Max(Now() - F("available_at")))
        .order_by()
    )
    by_kind = {kind: (number, age.total_seconds(), due.total_seconds()) for kind, number, age, due in rows}
    for kind in Kind.values:
        number, age, due = by_kind.get(kind, (0, 0.0, 0.0))
        count.add_metric([kind], number)
        oldest.add_metric([kind], max(0.0, age))
        late.add_metric([kind], max(0.0, due))
    yield from (count, oldest, late)


def broker_figures() -> Iterator[Metric]:
    """Figures of messages that no process has received yet. Absent while the broker is unavailable."""
    up = GaugeMetricFamily("planarena_broker_up", "Whether the broker of the queue answers.")
    count = GaugeMetricFamily("planarena_broker_messages", "Messages that wait at the broker.")
    oldest = GaugeMetricFamily(
        "planarena_broker_oldest_seconds", "How long the oldest of them has waited, if the broker knows."
    )
    state = BROKER.result()
    up.add_metric([], 0 if state.problem else 1)
    if state.messages is not None:
        count.add_metric([], state.messages)
    if state.oldest is not None:
        oldest.add_metric([], state.oldest)
    yield from (up, count, oldest)


def moment_figures() -> Iterator[Metric]:
    """Times of tasks and backups, in one query."""
    times = {moment.name: moment.at.timestamp() for moment in Moment.objects.all()}
    backup = GaugeMetricFamily(
        "planarena_backup_last_success_timestamp_seconds", "When the last whole backup was made; 0 if none was."
    )
    backup.add_metric([], times.get(BACKUP, 0.0))
    last = GaugeMetricFamily(
        "planarena_task_last_success_timestamp_seconds", "When a periodic task last ended well.", labels=["task"]
    )
    interval = GaugeMetricFamily("planarena_task_interval_seconds", "How often a task is due.", labels=["task"])
    for name, entry in settings.CELERY_BEAT_SCHEDULE.items():
        interval.add_metric([name], entry["schedule"].total_seconds())
        # A task that has never run may not be due yet.
        if (at := times.get(TASK + name)) is not None:
            last.add_metric([name], at)
    yield from (backup, last, interval)


def count_steps(records: Iterable[ResultRecord]) -> None:
    """Add the steps of records to the totals of their tools, in the caller's transaction.

    Before: the caller has inserted these results and commits soon, because it blocks other deliveries of steps of the
    same tools until then.
    After: each step is counted once, or not at all if the transaction is rolled back.
    """
    sums: dict[str, tuple[int, int, float]] = {}
    for step in (step for record in records for sample in record.samples for step in sample.steps):
        # Names come from workers.
        tool = step.tool.replace("\x00", "")[:_LONGEST_NAME]
        steps, cached, seconds = sums.get(tool, (0, 0, 0.0))
        sums[tool] = (steps + 1, cached + step.cached, seconds + step.seconds)
    if not sums:
        return
    # Sorted, to avoid deadlocks between deliveries.
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
