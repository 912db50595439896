"""Live progress of an evaluation as server-sent events: `GET /evaluations/<id>/events/`.

Each event's data is documented in `states.py`. The first one is the whole state with all results so far; after the
final state an event named `end` follows and the stream ends, so that a page knows not to connect again.
"""

import asyncio
import json
import logging
import secrets
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import suppress
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
from leaderboard.evaluations.gold import RELATED, withholds_tasks
from leaderboard.evaluations.models import EvaluationState
from leaderboard.evaluations.states import FINAL
from leaderboard.evaluations.visibility import Reader, visible_runs
from leaderboard.platform.coordination import locks
from leaderboard.platform.database import direct_parameters
from leaderboard.platform.http.addresses import address_of

logger = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 15.0
_LONGEST_BACKOFF_SECONDS = 30.0
_PROBE_SECONDS = 4.0
"""How long the listener waits for its own notification, before it takes the connection for deaf."""
_QUEUE_SIZE = 200
_APPLICATION = "planarena-events"
"""What the listening connection is called in `pg_stat_activity`."""

Event = dict[str, Any]
_RESYNC: Event = {}
"""Put into a queue when events may have been missed: the client gets the whole state again. So it is where
`events.ask_anew` sends it."""


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
        """A queue that receives every event of the evaluation from now on."""
        queue: asyncio.Queue[Event] = asyncio.Queue(maxsize=_QUEUE_SIZE)
        self._queues[evaluation_id].add(queue)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        try:
            # A client that cannot be served live still gets the state that it starts with, and heartbeats.
            with suppress(TimeoutError):
                await asyncio.wait_for(self._listening.wait(), timeout=5)
        except asyncio.CancelledError:
            # It has gone already, and nobody else would take its queue away.
            self.unsubscribe(evaluation_id=evaluation_id, queue=queue)
            raise
        return queue

    def unsubscribe(self, *, evaluation_id: str, queue: "asyncio.Queue[Event]") -> None:
        """End a subscription; the connection is closed with the last one."""
        self._queues[evaluation_id].discard(queue)
        if not self._queues[evaluation_id]:
            del self._queues[evaluation_id]
        if not self._queues and self._task is not None:
            self._task.cancel()
            self._task = None
            self._listening.clear()

    @property
    def listens(self) -> bool:
        """Whether events arrive; if not, clients have to be sent the whole state from time to time."""
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
                    self._is_heard()
                else:
                    self._pass_on(notification.payload)

    def _is_heard(self) -> None:
        self._listening.set()
        if self._was_cut_off:
            self._resync_all()

    def _pass_on(self, payload: str) -> None:
        message = json.loads(payload)
        for queue in self._queues.get(message.get("evaluation"), ()):
            _put(queue, message["event"])

    def _resync_all(self) -> None:
        for queues in self._queues.values():
            for queue in queues:
                _put(queue, _RESYNC)


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
        # Not awaited: the stream may be ending because its task was cancelled.
        asyncio.get_running_loop().run_in_executor(None, _give_back, holder)

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


def _give_back(holder: UUID) -> None:
    # Where the database is away, it expires.
    with suppress(DatabaseError):
        locks.give_slots_back(holder)
    connection.close()


async def _notify_from_elsewhere(payload: str) -> None:
    """Notify from a connection of its own, as others do.

    A pooler in transaction mode accepts LISTEN and passes on only what arrives during a transaction of the client: what
    the listener itself sends would come back.
    """
    async with await psycopg.AsyncConnection.connect(**direct_parameters(), autocommit=True) as other:
        await other.execute("SELECT pg_notify(%s, %s)", [event_source.CHANNEL, payload])


def _put(queue: "asyncio.Queue[Event]", event: Event) -> None:
    """Never blocks: a client too slow for single events gets the whole state instead."""
    if queue.full():
        while not queue.empty():
            queue.get_nowait()
        event = _RESYNC
    queue.put_nowait(event)


_hubs: "WeakKeyDictionary[asyncio.AbstractEventLoop, Hub]" = WeakKeyDictionary()


@require_GET
def events(request: HttpRequest, evaluation_id: UUID) -> HttpResponseBase:
    """Stream the events of an evaluation until it has ended, or is not for this reader any more. 429 if the reader, or
    their address, has as many streams as it may."""
    reader = request.user
    found = visible_runs(reader).select_related(*RELATED).filter(pk=evaluation_id).first()
    if found is None:
        raise Http404("There is no such evaluation.")
    slot = locks.take_slots(groups_of(reader=reader, address=address_of(request)))
    if slot is None:
        text = "You have reached the limit of live pages. This page polls for its progress instead.\n"
        headers = {"Retry-After": str(locks.SLOT_SECONDS)}
        return HttpResponse(text, status=429, content_type="text/plain", headers=headers)
    stream = _stream(evaluation_id, reader=reader, slot=slot, has_tasks=not withholds_tasks(reader=None, of=found))
    response = StreamingHttpResponse(stream, content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    # nginx would otherwise collect the events before it passes them on.
    response["X-Accel-Buffering"] = "no"
    return response


def groups_of(*, reader: Reader, address: str) -> dict[str, int]:
    """The groups of slots that a stream occupies one of each of, with their sizes."""
    groups = {f"streams address {address}": settings.STREAMS_PER_ADDRESS}
    if reader.is_authenticated:
        groups[f"streams user {reader.pk}"] = settings.STREAMS_PER_USER
    return {group: most for group, most in groups.items() if most}


async def _stream(evaluation_id: UUID, *, reader: Reader, slot: UUID, has_tasks: bool) -> AsyncIterator[bytes]:
    hub = _hubs.setdefault(asyncio.get_running_loop(), Hub())
    # Only from here on: a stream that nobody ever reads lets its slot expire.
    hub.slots.add(slot)
    try:
        async for part in _events(evaluation_id, hub=hub, reader=reader, has_tasks=has_tasks):
            yield part
    finally:
        hub.slots.remove(slot)


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
    """The whole state; `_RESYNC` if the reader does not see it any more."""
    try:
        sees = visible_runs(reader).filter(pk=evaluation_id).exists()
        return event_source.snapshot(evaluation_id) if sees else _RESYNC
    finally:
        # The stream may last for hours, and must not hold a connection of the pool meanwhile.
        connection.close()
