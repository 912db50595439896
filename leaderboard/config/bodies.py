"""Bodies of requests, bounded before Django writes them to a temporary file: it takes them whole, however large."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
_TEXT = b"The body is larger than what this site takes.\n"


class BoundedBodies:
    """Answers 413 to bodies with more bytes than their address takes; passes all others on."""

    def __init__(
        self,
        application: Callable[[Scope, Receive, Send], Awaitable[None]],
        *,
        most_bytes: int,
        uploads: Mapping[str, int] | None = None,
    ) -> None:
        """Args:
        application: what answers the others.
        most_bytes: the largest body.
        uploads: more than that at these paths, for callers with a token or a session: whether it is good is only seen
            when all of the body is there.
        """
        self._application = application
        self._most = most_bytes
        self._uploads = dict(uploads or {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        most = self._uploads.get(scope["path"], self._most) if _says_who(scope) else self._most
        if _announced(scope) > most:
            await _refuse(send)
            return
        received = 0

        async def counted() -> dict[str, Any]:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            # As if the caller had gone: the application lets go of what came, and answers nothing.
            return message if received <= most else {"type": "http.disconnect"}

        await self._application(scope, counted, send)
        if received > most:
            await _refuse(send)


def _says_who(scope: Scope) -> bool:
    return any(name in {b"authorization", b"cookie"} for name, _ in scope["headers"])


def _announced(scope: Scope) -> int:
    length = dict(scope["headers"]).get(b"content-length", b"")
    # More digits than any length has would take time to read.
    return int(length[:20]) if length.isdigit() else 0


async def _refuse(send: Send) -> None:
    headers = [(b"content-type", b"text/plain"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": _TEXT})
