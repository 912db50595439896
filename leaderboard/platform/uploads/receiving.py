"""The route that uploads stream to: nothing is read before the ticket is checked, and every byte goes straight to the
volume of uploads.

When all has come the site answers as to any other request, with an empty body: its view finds the file by the ticket.
"""

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import connection

from leaderboard.platform.http.bodies import Receive, Refusal, Scope, Send, SteadyBody, TooSlowError, announced, refuse
from leaderboard.platform.models import UploadTicket
from leaderboard.platform.storage.disk_space import is_disk_full, note_failure
from leaderboard.platform.uploads import services

PATH = re.compile(r"/api/v1/uploads/(?P<id>[0-9a-fA-F-]{36})/")
RECEIVED = "planarena.upload"
"""Where in the scope the digest of what came is, for the view."""

_OF_THE_BODY = frozenset({b"content-length", b"transfer-encoding"})

Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class TicketedUploads:
    """Receives `PUT /api/v1/uploads/<ticket>/`, and passes everything else on."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection."""
        found = PATH.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "PUT" else None
        if found is None:
            await self._application(scope, receive, send)
            return
        ticket = await sync_to_async(_claimed, thread_sensitive=False)(scope, found["id"])
        if isinstance(ticket, Refusal):
            await refuse(ticket, scope=scope, send=send)
            return
        try:
            await self._received(ticket, scope=scope, receive=receive, send=send)
        finally:
            await asyncio.shield(sync_to_async(_cleared, thread_sensitive=False)(ticket.pk))

    async def _received(self, ticket: UploadTicket, *, scope: Scope, receive: Receive, send: Send) -> None:
        body = SteadyBody(
            receive, patience=services.PATIENCE_SECONDS, bytes_per_second=services.SLOWEST_BYTES_PER_SECOND
        )
        digest = await _write(ticket, body=body)
        if isinstance(digest, Refusal):
            await refuse(digest, scope=scope, send=send)
        elif digest:
            # The head without the body's size: the body is taken.
            head = [(name, value) for name, value in scope["headers"] if name not in _OF_THE_BODY]
            await self._application({**scope, "headers": head, RECEIVED: digest}, _EmptyBody(), send)


def _claimed(scope: Scope, ticket_id: str) -> UploadTicket | Refusal:
    headers = {name: value.decode("latin1") for name, value in scope["headers"]}
    scheme, _, secret = headers.get(b"authorization", "").partition(" ")
    try:
        if scheme.lower() != "bearer":
            raise services.TicketRefusedError("Send Authorization: Bearer with the ticket's secret.")
        row = services.claim(ticket_id=UUID(ticket_id), secret=secret.strip())
    except services.TicketInUseError as error:
        return Refusal(HTTPStatus.CONFLICT, "ticket_in_use", str(error))
    except services.TicketRefusedError as error:
        return Refusal(HTTPStatus.UNAUTHORIZED, "ticket_refused", str(error))
    except ValueError:
        return Refusal(HTTPStatus.UNAUTHORIZED, "ticket_refused", "This is no ticket.")
    finally:
        connection.close()
    if announced(scope) not in {0, row.bytes}:
        _given_up(row.pk)
        text = f"The ticket is for {row.bytes} bytes, and the body has {announced(scope)}."
        return Refusal(HTTPStatus.BAD_REQUEST, "wrong_size", text)
    return row


async def _write(ticket: UploadTicket, *, body: SteadyBody) -> str | Refusal:
    """The SHA-256 of what came; empty if the sender went away."""
    loop, path, digest, received = asyncio.get_running_loop(), services.path_of(ticket.pk), hashlib.sha256(), 0
    try:
        with await loop.run_in_executor(None, path.open, "wb") as file:
            more = True
            while more:
                message = await body()
                if message["type"] != "http.request":
                    return ""
                part = message.get("body", b"")
                received += len(part)
                if received > ticket.bytes:
                    text = f"The body has more than the {ticket.bytes} bytes that the ticket is for."
                    return Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", text)
                if part:
                    await loop.run_in_executor(None, _keep, file, digest, part)
                more = message.get("more_body", False)
    except TooSlowError as error:
        return Refusal(HTTPStatus.REQUEST_TIMEOUT, "too_slow", str(error))
    except OSError as error:
        if is_disk_full(error):
            note_failure(error)
        text = "The site has no room for uploads at present: try again later."
        return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "no_room", text)
    if received < ticket.bytes:
        text = f"The ticket is for {ticket.bytes} bytes, and the body has {received}."
        return Refusal(HTTPStatus.BAD_REQUEST, "wrong_size", text)
    return digest.hexdigest()


def _keep(file: Any, digest: Any, part: bytes) -> None:
    file.write(part)
    digest.update(part)


class _EmptyBody:
    """What the view receives. It is never told that the sender went away: what has come is checked and kept."""

    def __init__(self) -> None:
        self._ended = False

    async def __call__(self) -> dict[str, Any]:
        if self._ended:
            await asyncio.Event().wait()
        self._ended = True
        return {"type": "http.request", "body": b"", "more_body": False}


def _given_up(ticket_id: UUID) -> None:
    services.give_up(ticket_id)
    connection.close()


def _cleared(ticket_id: UUID) -> None:
    """The file is gone, whatever became of it: what is kept has another name in the store."""
    services.path_of(ticket_id).unlink(missing_ok=True)
    # Where the view took the upload, or refused it for good, there is no ticket any more.
    _given_up(ticket_id)
