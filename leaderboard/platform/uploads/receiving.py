"""ASGI middleware that receives uploads: it checks the ticket before reading, and streams the body to the volume of
uploads.

The request then continues to its view with an empty body; the view finds the file by the ticket.
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
"""Key of the scope with the digest of the received body, for the view."""

_OF_THE_BODY = frozenset({b"content-length", b"transfer-encoding"})

Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class TicketedUploads:
    """Receives `PUT /api/v1/uploads/<ticket>/`, and passes everything else on."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match = PATH.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "PUT" else None
        if match is None:
            await self._application(scope, receive, send)
            return
        ticket = await sync_to_async(_claimed, thread_sensitive=False)(scope, match["id"])
        if isinstance(ticket, Refusal):
            await refuse(ticket, scope=scope, send=send)
            return
        try:
            body = SteadyBody(
                receive, patience=services.PATIENCE_SECONDS, bytes_per_second=services.SLOWEST_BYTES_PER_SECOND
            )
            digest = await _write(ticket, body=body)
            if isinstance(digest, Refusal):
                await refuse(digest, scope=scope, send=send)
            elif digest:
                # Without the headers of the body, which has been consumed.
                head = [(name, value) for name, value in scope["headers"] if name not in _OF_THE_BODY]
                await self._application({**scope, "headers": head, RECEIVED: digest}, _EmptyBody(), send)
        finally:
            await asyncio.shield(sync_to_async(_cleared, thread_sensitive=False)(ticket.pk))


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
        return Refusal(HTTPStatus.UNAUTHORIZED, "ticket_refused", "This is not a ticket.")
    finally:
        connection.close()
    if announced(scope) not in {0, row.bytes}:
        _release(row.pk)
        text = f"The ticket is for {row.bytes} bytes, and the body has {announced(scope)}."
        return Refusal(HTTPStatus.BAD_REQUEST, "wrong_size", text)
    return row


async def _write(ticket: UploadTicket, *, body: SteadyBody) -> str | Refusal:
    """The SHA-256 of the received body; empty if the client disconnected."""
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
        text = "The site currently has no room for uploads: try again later."
        return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "no_room", text)
    if received < ticket.bytes:
        text = f"The ticket is for {ticket.bytes} bytes, and the body has {received}."
        return Refusal(HTTPStatus.BAD_REQUEST, "wrong_size", text)
    return digest.hexdigest()


def _keep(file: Any, digest: Any, part: bytes) -> None:
    file.write(part)
    digest.update(part)


class _EmptyBody:
    """The body that the view receives. It never reports a disconnect, since a complete upload is processed anyway."""

    def __init__(self) -> None:
        self._ended = False

    async def __call__(self) -> dict[str, Any]:
        if self._ended:
            await asyncio.Event().wait()
        self._ended = True
        return {"type": "http.request", "body": b"", "more_body": False}


def _release(ticket_id: UUID) -> None:
    services.give_up(ticket_id)
    connection.close()


def _cleared(ticket_id: UUID) -> None:
    """Delete the file, which the view has moved to the store if it accepted it."""
    services.path_of(ticket_id).unlink(missing_ok=True)
    # No-op if the view accepted or rejected the upload, since its ticket is deleted then.
    _release(ticket_id)
