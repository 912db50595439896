"""Messages that wait: emails and webhooks in the outbox, and tasks at the broker."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import Count, F, Max
from django.db.models.functions import Now
from kombu import Connection
from kombu.exceptions import OperationalError
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from leaderboard.messages.models import Kind, OutboxMessage
from leaderboard.platform.bounded_check import BoundedCheck
from leaderboard.platform.celery import SENT_HEADER, app

_PATIENCE_SECONDS = 2
"""For a broker to answer."""
_DEADLINE_SECONDS = 4
"""For everything that is asked."""
_UNKNOWN_QUEUE = "404"


def outbox_figures() -> Iterator[Metric]:
    """Of messages that are neither sent nor given up, in one query."""
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
    found = {kind: (number, age.total_seconds(), due.total_seconds()) for kind, number, age, due in rows}
    for kind in Kind.values:
        number, age, due = found.get(kind, (0, 0.0, 0.0))
        count.add_metric([kind], number)
        oldest.add_metric([kind], max(0.0, age))
        late.add_metric([kind], max(0.0, due))
    yield from (count, oldest, late)


class BrokerState(NamedTuple):
    """What the broker says."""

    problem: str = ""
    """Why it does not answer; empty if it does."""
    messages: int | None = None
    """That no process has taken yet."""
    oldest: float | None = None
    """Seconds for which the oldest of them has waited; None if the broker cannot tell."""


def broker_figures() -> Iterator[Metric]:
    """Of messages that no process has taken yet. While the broker is away there are none of them."""
    up = GaugeMetricFamily("planarena_broker_up", "Whether the broker of the queue answers.")
    count = GaugeMetricFamily("planarena_broker_messages", "Messages that wait at the broker.")
    oldest = GaugeMetricFamily(
        "planarena_broker_oldest_seconds", "How long the oldest of them has waited, where the broker can tell."
    )
    found = BROKER.result()
    up.add_metric([], 0 if found.problem else 1)
    if found.messages is not None:
        count.add_metric([], found.messages)
    if found.oldest is not None:
        oldest.add_metric([], found.oldest)
    yield from (up, count, oldest)


def _ask_broker() -> BrokerState:
    queue = app.conf.task_default_queue
    limits = {"socket_timeout": _PATIENCE_SECONDS, "socket_connect_timeout": _PATIENCE_SECONDS}
    options = {**settings.CELERY_BROKER_TRANSPORT_OPTIONS, **limits}
    with app.connection_for_read(transport_options=options, connect_timeout=_PATIENCE_SECONDS) as broker:
        errors = (*broker.connection_errors, *broker.channel_errors)
        away: tuple[type[BaseException], ...] = (OSError, OperationalError, *errors)
        try:
            broker.ensure_connection(max_retries=1, timeout=_PATIENCE_SECONDS)
            messages = _waiting(broker=broker, queue=queue)
            return BrokerState(messages=messages, oldest=_oldest(broker=broker, queue=queue))
        except away as error:
            # Its text has the broker's address.
            return BrokerState(problem=type(error).__name__)


BROKER = BoundedCheck(
    _ask_broker,
    name="broker-probe",
    deadline=_DEADLINE_SECONDS,
    late=BrokerState(problem=f"no answer within {_DEADLINE_SECONDS} seconds"),
    keep=lambda: settings.KEEP_HEALTH_SECONDS,
)
"""What the broker says."""


def _waiting(*, broker: Connection, queue: str) -> int:
    channel: Any = broker.default_channel
    try:
        return int(channel.queue_declare(queue, passive=True).message_count)
    except Exception as error:
        # For Redis an empty list is none.
        if str(getattr(error, "reply_code", "")) == _UNKNOWN_QUEUE:
            return 0
        raise


def _oldest(*, broker: Connection, queue: str) -> float | None:
    """Seconds; 0 if no message waits, None if the broker cannot tell."""
    transport = broker.transport.driver_type
    if transport == "filesystem":
        folder = Path(settings.CELERY_BROKER_TRANSPORT_OPTIONS["data_folder_in"])
        times = [modified for path in folder.glob(f"*.{queue}.msg") if (modified := _modified(path)) is not None]
        return max(0.0, time.time() - min(times)) if times else 0.0
    if transport == "redis":
        channel: Any = broker.default_channel
        return _age(channel.client.lindex(queue, -1))
    return None


def _modified(path: Path) -> float | None:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        # Taken meanwhile.
        return None


def _age(message: bytes | None) -> float | None:
    if message is None:
        return 0.0
    sent = json.loads(message).get("headers", {}).get(SENT_HEADER)
    return max(0.0, time.time() - sent) if isinstance(sent, int | float) else None
