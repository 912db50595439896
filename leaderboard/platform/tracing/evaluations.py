"""The trace of an evaluation across processes, from the request that queues it to its publication, and spans of tasks.

Workers poll for work and the sweep finds evaluations itself, so the site stores the trace of evaluations and attempts.
It does so in the cache: losing an entry only splits a trace.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol
from uuid import UUID

from django.core.cache import cache

from gpu_jobs.tracing import spans

_KEPT_SECONDS = 30 * 86_400
"""Long, since evaluations may queue for days."""


def keep_trace(of: UUID) -> None:
    """Make the current span the parent of later spans of an evaluation or attempt."""
    if traceparent := spans.traceparent():
        cache.set(_key(of), traceparent, _KEPT_SECONDS)


def kept_trace(of: UUID | str) -> str:
    """`traceparent` of an evaluation or an attempt; empty if there is none."""
    return str(cache.get(_key(of)) or "") if spans.is_on() else ""


def parent_of(of: UUID | str, *, offered: str) -> str:
    """The parent of a span for an evaluation or an attempt.

    Args:
        of: the evaluation or attempt.
        offered: `traceparent` of the caller, used if it is of the same trace. Callers can select neither another trace
            nor whether it is sampled.
    """
    stored = kept_trace(of)
    return offered[:-2] + stored[-2:] if stored and spans.same_trace(stored, offered) else stored


class _Attempt(Protocol):
    pk: UUID
    worker: str


@contextmanager
def lease_span(attempt: _Attempt, *, evaluation: UUID, started: int) -> Iterator[None]:
    """The span of a lease, the parent of the worker's spans.

    Args:
        attempt: of the lease.
        evaluation: whose shard was leased.
        started: start of the search for a shard, in nanoseconds since 1970.
    """
    if not spans.is_on():
        yield
        return
    parent = kept_trace(evaluation)
    ids = {"evaluation": str(evaluation), "attempt": str(attempt.pk), "worker": attempt.worker}
    with spans.span("lease", parent=parent, link=spans.traceparent(), started=started, attributes=ids):
        if not parent:
            # Queued before tracing was enabled: start its trace here.
            keep_trace(evaluation)
        keep_trace(attempt.pk)
        yield


def _key(of: UUID | str) -> str:
    return f"trace:{of}"


HEADER = "planarena_trace"
"""Message header with the sender's `traceparent`."""


def task_span(*, name: str, sent_by: str, ids: Mapping[str, str]) -> AbstractContextManager[None]:
    """The span of a task: in the trace of its evaluation, or otherwise of the message's sender.

    Args:
        name: of the task.
        sent_by: the message's `traceparent`.
        ids: of the task's log lines.
    """
    if not spans.is_on():
        return spans.span(name)
    stored = kept_trace(evaluation) if (evaluation := ids.get("evaluation")) else ""
    if not stored or spans.same_trace(stored, sent_by):
        return spans.span(name, kind="consumer", parent=sent_by, attributes=ids)
    return spans.span(name, kind="consumer", parent=stored, link=sent_by, attributes=ids)
