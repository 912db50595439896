"""The trace of an evaluation, from the request that queues it to its publication in all processes, and spans of tasks.

Workers ask for work on their own and the sweep finds evaluations by itself, so the site keeps which trace an evaluation
and an attempt belong to. In the cache: without it only the trace falls apart.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol
from uuid import UUID

from django.core.cache import cache

from gpu_jobs.tracing import spans

_KEPT_SECONDS = 30 * 86_400
"""Queues may be long."""


def keep_trace(of: UUID) -> None:
    """What an evaluation or an attempt leads to belongs to the current span."""
    if present := spans.traceparent():
        cache.set(_key(of), present, _KEPT_SECONDS)


def kept_trace(of: UUID | str) -> str:
    """`traceparent` of an evaluation or an attempt; empty if it has none."""
    return str(cache.get(_key(of)) or "") if spans.is_on() else ""


def parent_of(of: UUID | str, *, offered: str) -> str:
    """What a span for an evaluation or an attempt belongs to.

    Args:
        of: the evaluation or attempt.
        offered: `traceparent` of the caller, which counts if it is of the same trace. Callers choose neither another
            trace nor whether it is recorded.
    """
    kept = kept_trace(of)
    return offered[:-2] + kept[-2:] if kept and spans.same_trace(kept, offered) else kept


class _Attempt(Protocol):
    pk: UUID
    worker: str


@contextmanager
def lease_span(attempt: _Attempt, *, evaluation: UUID, started: int) -> Iterator[None]:
    """The span of a lease, of which the worker's are parts.

    Args:
        attempt: the lease's.
        evaluation: whose shard was leased.
        started: when the search for a shard began, in nanoseconds since 1970.
    """
    if not spans.is_on():
        yield
        return
    parent = kept_trace(evaluation)
    ids = {"evaluation": str(evaluation), "attempt": str(attempt.pk), "worker": attempt.worker}
    with spans.span("lease", parent=parent, link=spans.traceparent(), started=started, attributes=ids):
        if not parent:
            # Queued before there were traces: what follows is one, at least.
            keep_trace(evaluation)
        keep_trace(attempt.pk)
        yield


def _key(of: UUID | str) -> str:
    return f"trace:{of}"


HEADER = "planarena_trace"
"""`traceparent` of what sent a message; empty if that is not recorded."""


def task_span(*, name: str, sent_by: str, ids: Mapping[str, str]) -> AbstractContextManager[None]:
    """The span of a task: in the trace of its evaluation, or else of what sent its message.

    Args:
        name: of the task.
        sent_by: the message's `traceparent`.
        ids: of the log lines of the task.
    """
    if not spans.is_on():
        return spans.span(name)
    kept = kept_trace(evaluation) if (evaluation := ids.get("evaluation")) else ""
    if not kept or spans.same_trace(kept, sent_by):
        return spans.span(name, kind="consumer", parent=sent_by, attributes=ids)
    return spans.span(name, kind="consumer", parent=kept, link=sent_by, attributes=ids)
