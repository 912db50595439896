"""A span for each task of the queue."""

from collections.abc import Mapping
from contextlib import AbstractContextManager

from gpu_jobs.tracing import spans
from leaderboard.platform.tracing.evaluations import kept_trace

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
