"""Live progress of an evaluation as server-sent events: `GET /evaluations/<id>/events/`.

`states.py` documents the data of events. The first event is the whole state with all results so far. After the final
state an event named `end` follows and the stream ends, so that pages do not reconnect.
"""

import asyncio
import json
import logging
import secrets
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import suppress
from itertools import chain
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

import psycopg
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import DatabaseError, connection
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.views.decorators.http import require_GET

from leaderboard.evaluations import states as event_source
from leaderboard.evaluations.models import EvaluationState
from leaderboard.evaluations.states import FINAL
from leaderboard.evaluations.visibility import RELATED, Reader, visible_runs, withholds_tasks
from leaderboard.platform.coordination import locks
from leaderboard.platform.database import direct_parameters
from leaderboard.platform.http.addresses import address_of

logger = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 15.0
_LONGEST_BACKOFF_SECONDS = 30.0
_PROBE_SECONDS = 4.0
"""Timeout of the listener's notification to itself."""
_QUEUE_SIZE = 200
_APPLICATION = "planarena-events"
"""Name of the listening connection in `pg_stat_activity`."""

Event = dict[str, Any]
_RESYNC: Event = {}
"""Enqueued by the hub and by `states.request_resync` when the client must get the whole state again."""


class Hub:
    """One LISTEN connection of this process, fanned out to all its clients."""

    def __init__(self) -> None:
        self._queues: dict[str, set[asyncio.Queue[Event]]] = defaultdict(set)
        self._listening = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._was_cut_off = False
        """Whether events may have been missed since the last connection."""
        self.slots = _OpenSlots()

    async def subscribe(self, evaluation_id: str) -> "asyncio.Queue[Event]":
        """Return a queue that receives every event of the evaluation, or run of the workbench, from now on."""
        queue: asyncio.Queue[Event] = asyncio.Queue(maxsize=_QUEUE_SIZE)
        self._queues[evaluation_id].add(queue)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        try:
            # Without a connection the client still gets the initial state and heartbeats.
            with suppress(TimeoutError):
                await asyncio.wait_for(self._listening.wait(), timeout=5)
        except asyncio.CancelledError:
            # The caller cannot unsubscribe without the queue.
            self.unsubscribe(evaluation_id=evaluation_id, queue=queue)
            raise
        return queue

    def unsubscribe(self, *, evaluation_id: str, queue: "asyncio.Queue[Event]") -> None:
        """End a subscription; the last one closes the connection."""
        self._queues[evaluation_id].discard(queue)
        if not self._queues[evaluation_id]:
            del self._queues[evaluation_id]
        if not self._queues and self._task is not None:
            self._task.cancel()
            self._task = None
            self._listening.clear()

    @property
    def listens(self) -> bool:
        """Whether events arrive; if not, clients get the whole state from time to time."""
        return self._listening.is_set()

    async def _run(self) -> None:
        backoff = 0.5
        while True:
            try:
                await self._listen()
                backoff = 0.5
            except TimeoutError:
                self._was_cut_off = True
                logger.error(
                    "the database accepts LISTEN and delivers no notifications, as PgBouncer in transaction mode does: "
                    "set DATABASE_DIRECT_URL to the server itself. Until then pages are updated every %d seconds",
                    HEARTBEAT_SECONDS,
                )
            except (psycopg.Error, OSError) as error:
                self._was_cut_off = True
                logger.warning("listening for events failed (%s); trying again", error)
            self._listening.clear()
            await asyncio.sleep(backoff)
            backoff = min(backoff * 2, _LONGEST_BACKOFF_SECONDS)

    async def _listen(self) -> None:
        async with (
            await psycopg.AsyncConnection.connect(
                **direct_parameters(), application_name=_APPLICATION, autocommit=True
            ) as listening,
            asyncio.timeout(_PROBE_SECONDS) as patience,
        ):
            await listening.execute(f"LISTEN {event_source.CHANNEL}")
            probe = json.dumps({"probe": secrets.token_hex(8)})
            await _notify_from_elsewhere(probe)
            async for notification in listening.notifies():
                if notification.payload == probe:
                    patience.reschedule(None)
                    self._listening.set()
                    for queue in chain.from_iterable(self._queues.values()) if self._was_cut_off else ():
                        _put(queue, _RESYNC)
                else:
                    message = json.loads(notification.payload)
                    for queue in self._queues.get(message.get("evaluation"), ()):
                        _put(queue, message["event"])


class _OpenSlots:
    """The slots of this process's streams, renewed together while there are any."""

    def __init__(self) -> None:
        self._holders: set[UUID] = set()
        self._task: asyncio.Task[None] | None = None

    def add(self, holder: UUID) -> None:
        self._holders.add(holder)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._renew())

    def remove(self, holder: UUID) -> None:
        self._holders.discard(holder)
        # Not awaited, because the stream's task may have been cancelled.
        asyncio.get_running_loop().run_in_executor(None, _release, holder)

    async def _renew(self) -> None:
        while self._holders:
            await asyncio.sleep(locks.RENEW_SLOTS_SECONDS)
            await asyncio.get_running_loop().run_in_executor(None, _renew, frozenset(self._holders))


def _renew(holders: frozenset[UUID]) -> None:
    try:
        locks.renew_slots(holders)
    except DatabaseError as error:
        logger.warning("the slots of streams could not be renewed (%s); trying again", error)
    finally:
        connection.close()


def _release(holder: UUID) -> None:
    # Without a database the slot expires.
    with suppress(DatabaseError):
        locks.give_slots_back(holder)
    connection.close()


async def _notify_from_elsewhere(payload: str) -> None:
    """Notify from another connection.

    A pooler in transaction mode accepts LISTEN but delivers only notifications that arrive during a transaction of the
    client, such as the listener's own.
    """
    async with await psycopg.AsyncConnection.connect(**direct_parameters(), autocommit=True) as other:
        await other.execute("SELECT pg_notify(%s, %s)", [event_source.CHANNEL, payload])


def _put(queue: "asyncio.Queue[Event]", event: Event) -> None:
    """Never block: a client too slow for single events gets the whole state instead."""
    if queue.full():
        while not queue.empty():
            queue.get_nowait()
        event = _RESYNC
    queue.put_nowait(event)


_hubs: "WeakKeyDictionary[asyncio.AbstractEventLoop, Hub]" = WeakKeyDictionary()


def hub() -> Hub:
    """The hub of the running event loop."""
    return _hubs.setdefault(asyncio.get_running_loop(), Hub())


@require_GET
def events(request: HttpRequest, evaluation_id: UUID) -> HttpResponseBase:
    """Stream the events of an evaluation until it ends or becomes invisible to this reader. 429 if the reader or their
    address has too many streams."""
    reader = request.user
    evaluation = visible_runs(reader).select_related(*RELATED).filter(pk=evaluation_id).first()
    if evaluation is None:
        raise Http404("There is no such evaluation.")
    slot = locks.take_slots(groups_of(reader=reader, address=address_of(request)))
    if slot is None:
        text = "You have reached the limit of live pages. This page polls for its progress instead.\n"
        headers = {"Retry-After": str(locks.SLOT_SECONDS)}
        return HttpResponse(text, status=429, content_type="text/plain", headers=headers)
    has_tasks = not withholds_tasks(reader=None, of=evaluation)
    stream = _stream(evaluation_id, reader=reader, slot=slot, has_tasks=has_tasks)
    response = StreamingHttpResponse(stream, content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    # Disables nginx's buffering of the response.
    response["X-Accel-Buffering"] = "no"
    return response


def groups_of(*, reader: Reader, address: str) -> dict[str, int]:
    """The groups in which a stream occupies a slot, with their sizes."""
    groups = {f"streams address {address}": settings.STREAMS_PER_ADDRESS}
    if reader.is_authenticated:
        groups[f"streams user {reader.pk}"] = settings.STREAMS_PER_USER
    return {group: most for group, most in groups.items() if most}


async def _stream(evaluation_id: UUID, *, reader: Reader, slot: UUID, has_tasks: bool) -> AsyncIterator[bytes]:
    shared = hub()
    # Renewed only once the stream is read: the slot of an abandoned stream expires.
    shared.slots.add(slot)
    try:
        async for part in _events(evaluation_id, hub=shared, reader=reader, has_tasks=has_tasks):
            yield part
    finally:
        shared.slots.remove(slot)


async def _events(evaluation_id: UUID, *, hub: Hub, reader: Reader, has_tasks: bool) -> AsyncIterator[bytes]:
    queue = await hub.subscribe(str(evaluation_id))
    try:
        event = _RESYNC
        while True:
            if event == _RESYNC:
                event = await sync_to_async(_snapshot)(evaluation_id, reader=reader)
                if event == _RESYNC:
                    return
            shown = event if has_tasks else {**event, "results": []}
            yield f"data: {json.dumps(shown, separators=(',', ':'))}\n\n".encode()
            if EvaluationState(event["state"]) in FINAL:
                yield b"event: end\ndata: {}\n\n"
                return
            while True:
                try:
                    event = await asyncio.wait_for(queue.get(), timeout=HEARTBEAT_SECONDS)
                    break
                except TimeoutError:
                    if not hub.listens:
                        event = _RESYNC
                        break
                    yield b": still here\n\n"
    finally:
        hub.unsubscribe(evaluation_id=str(evaluation_id), queue=queue)


def _snapshot(evaluation_id: UUID, *, reader: Reader) -> Event:
    """The whole state; `_RESYNC` if the reader no longer sees it."""
    try:
        sees = visible_runs(reader).filter(pk=evaluation_id).exists()
        return event_source.snapshot(evaluation_id) if sees else _RESYNC
    finally:
        # The stream may last for hours and must not hold a database connection.
        connection.close()
