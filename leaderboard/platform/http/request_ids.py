"""The id of each request: in all its log lines, in the response header `X-Request-ID`, on error pages and in problems.

A trusted proxy may give it; otherwise it is random.
"""

import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from django.conf import settings

from gpu_jobs.logs.lines import named, present_ids

HEADER = "X-Request-ID"
_HEADER = HEADER.lower().encode()
_SCOPE = "planarena.request_id"
_WELL_FORMED = re.compile(r"[A-Za-z0-9._-]{8,64}")
Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


def request_id_of(given: str) -> str:
    """The id for a request: the given one of a trusted proxy if it is well-formed, else a new one.

    Args:
        given: the request's header; empty without one.
    """
    return given if settings.TRUST_PROXY and _WELL_FORMED.fullmatch(given) else secrets.token_hex(8)


def known_request_id(scope: Mapping[str, Any]) -> str:
    """The id that `identified` gave to the request of an ASGI scope; empty without one."""
    return str(scope.get(_SCOPE, ""))


def current_request_id() -> str:
    """The id of the request that is being answered; empty outside of requests."""
    return present_ids().get("request", "")


def identified(application: Application) -> Application:
    """ASGI middleware that names each request, also those that are refused before Django."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await application(scope, receive, send)
            return
        # `latin-1` decodes every byte; the form is checked.
        given = dict(scope["headers"]).get(_HEADER, b"").decode("latin-1")
        request_id = request_id_of(given)

        async def send_named(message: Mapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", ()))
                if not any(name.lower() == _HEADER for name, _ in headers):
                    headers.append((_HEADER, request_id.encode()))
                message = {**message, "headers": headers}
            await send(message)

        with named(request=request_id):
            await application({**scope, _SCOPE: request_id}, receive, send_named)

    return answer
