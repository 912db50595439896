"""Server-sent events of streamed answers."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from evaluator.planners.language_models.chat.apis.base import NoAnswerError

_FIELDS = ("data:", "event:", "id:", "retry:", ":")
_END = "[DONE]"


def events_in(text: str) -> Iterator[Mapping[str, Any]] | None:
    """The data of the events in an answer; None if it is no stream. Data other than JSON objects are skipped.

    Raises:
        NoAnswerError: an event is cut off; raised by the iterator.
    """
    return _events(text) if text.lstrip("\ufeff \r\n").startswith(_FIELDS) else None


def _events(text: str) -> Iterator[Mapping[str, Any]]:
    # Not `splitlines`: JSON may contain line separators such as U+2028.
    data: list[str] = []
    for line in (*text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), ""):
        if line.startswith("data:"):
            data.append(line.removeprefix("data:").removeprefix(" "))
        elif not line and data:
            yield from _event("\n".join(data))
            data = []


def _event(data: str) -> Iterator[Mapping[str, Any]]:
    if data.strip() in ("", _END):
        return
    try:
        event = json.loads(data)
    except (ValueError, RecursionError):
        raise NoAnswerError("is a stream with an event that is no JSON") from None
    if isinstance(event, Mapping):
        yield event
