"""Server-sent events as the site writes them: `id`, `event` and one line of `data` in each message."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

LONGEST_MESSAGE = 1024 * 1024
"""Bytes of a message; the site's have at most a fifth of this."""


class StreamError(ValueError):
    """The stream is not one of a site."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message."""

    id: str = ""
    event: str = "message"
    data: str = ""


def messages_in(pieces: Iterable[bytes]) -> Iterator[Message]:
    """The messages of a stream, each as soon as it is complete. Comments are left out.

    Args:
        pieces: bytes as they arrive, cut anywhere.

    Raises:
        StreamError: a message is too long, or not in UTF-8.
    """
    waiting = bytearray()
    for piece in pieces:
        waiting += piece
        while (end := waiting.find(b"\n\n")) >= 0:
            message = _message(bytes(waiting[:end]))
            del waiting[: end + 2]
            if message is not None:
                yield message
        if len(waiting) > LONGEST_MESSAGE:
            raise StreamError(f"a message of the stream has more than {LONGEST_MESSAGE} bytes")


def _message(block: bytes) -> Message | None:
    try:
        lines = block.decode().split("\n")
    except UnicodeDecodeError:
        raise StreamError("the stream is not in UTF-8") from None
    fields = {
        name: value.removeprefix(" ")
        for name, colon, value in (line.partition(":") for line in lines)
        if name in {"id", "event", "data"} and colon
    }
    return Message(**fields) if fields else None
