"""Log formats for people and machines: lines have the ids of the current work, and secrets are redacted.

structlog is imported only for JSON, since that takes 0.1 to 0.2 seconds.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

FORMAT_VARIABLE = "PLANARENA_LOG_FORMAT"
FORMATS = ("lines", "json")
_LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s%(ids)s"

Redact = Callable[[str], str]
Ids = Callable[[], Mapping[str, str]]
_of_process: dict[str, str] = {}
_of_context: ContextVar[dict[str, str] | None] = ContextVar("log_ids", default=None)


@contextmanager
def named(**ids: str) -> Iterator[None]:
    """Add ids to the lines of this context, such as a request or a task."""
    token = _of_context.set({**(_of_context.get() or {}), **ids})
    try:
        yield
    finally:
        _of_context.reset(token)


def also_named(**ids: str) -> None:
    """Add ids to the current context; does nothing outside of `named`."""
    if (current := _of_context.get()) is not None:
        current.update(ids)


@contextmanager
def process_named(**ids: str) -> Iterator[None]:
    """Add ids to the lines of all threads, for processes that do one thing at a time."""
    before = dict(_of_process)
    _of_process.update(ids)
    try:
        yield
    finally:
        _of_process.clear()
        _of_process.update(before)


def present_ids() -> Mapping[str, str]:
    """The ids of the current work."""
    return {**_of_process, **(_of_context.get() or {})}


def formatter(form: str, *, redact: Redact, ids: Ids = present_ids) -> logging.Formatter:
    """A log formatter.

    Args:
        form: one of `FORMATS`.
        redact: removes secrets from a text.
        ids: returns the ids of the current work.
    """
    return _json(redact=redact, ids=ids) if form == "json" else _Lines(redact=redact, ids=ids)


class _Lines(logging.Formatter):
    def __init__(self, *, redact: Redact, ids: Ids) -> None:
        super().__init__(_LINE)
        self._redact = redact
        self._ids = ids

    def formatMessage(self, record: logging.LogRecord) -> str:
        named = " ".join(f"{name}={value}" for name, value in self._ids().items())
        record.ids = f" [{named}]" if named else ""
        return super().formatMessage(record)

    def format(self, record: logging.LogRecord) -> str:
        return self._redact(super().format(record))


def _json(*, redact: Redact, ids: Ids) -> logging.Formatter:
    import structlog

    def with_ids(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:  # noqa: ARG001
        return {**event, **ids()}

    def without_secrets(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:  # noqa: ARG001
        return {name: redact(value) if isinstance(value, str) else value for name, value in event.items()}

    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            with_ids,
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            without_secrets,
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ],
    )
