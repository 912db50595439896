"""Events of a run as server-sent events, for pages and the API.

Each message has `TRY-NUMBER` of its event as `id`, so that a reader that reconnects misses nothing. Where another
worker starts the run again, an event `again` says that those before are void. The stream ends with an event `end`.
While it is open, the run has a reader. Whoever writes an event announces it by NOTIFY (`states.request_resync`), so
that a stream looks into the database when something happened, and to note its reader.
"""

import asyncio
import json
import math
import re
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import NamedTuple
from uuid import UUID

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse

from gpu_jobs.contract import RunsAnnounced
from leaderboard.evaluations.web.live import Event, groups_of, hub
from leaderboard.platform.coordination import locks
from leaderboard.platform.http.addresses import address_of
from leaderboard.workbench.asking import ANY_RUN, events_after, note_reader, suites
from leaderboard.workbench.leasing import is_waiting
from leaderboard.workbench.models import Run

_ID = re.compile(r"([0-9]{1,3})-([0-9]{1,5})", re.ASCII)
NOTE_SECONDS = 10.0
"""Between two notes that somebody follows a run."""
_POLL_SECONDS = 2.0
"""Between two looks where the database delivers no notifications."""
_LONGEST_SECONDS = 1200.0


def stream_of(request: HttpRequest, *, run: Run) -> HttpResponseBase:
    """The stream of a run; 429 if the reader or their address has too many streams."""
    slot = locks.take_slots(groups_of(reader=request.user, address=address_of(request)))
    if slot is None:
        headers = {"Retry-After": str(locks.SLOT_SECONDS)}
        return HttpResponse("You have reached the limit of live pages.\n", status=429, headers=headers)
    last = _ID.fullmatch(request.headers.get("Last-Event-ID", ""))
    seen = None if last is None else (int(last[1]), int(last[2]))
    response = StreamingHttpResponse(_stream(run.pk, seen=seen, slot=slot), content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    return response


async def announced(*, seconds: float) -> AsyncIterator[bytes]:
    """`RunsAnnounced` as JSON, as soon as a run waits for a worker, or after `seconds`."""
    shared = hub()
    changes = await shared.subscribe(str(ANY_RUN))
    try:
        now = await sync_to_async(_announced)()
        clock = asyncio.get_running_loop().time
        until = clock() + seconds
        while not now.waits and (left := until - clock()) > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(changes.get(), timeout=left if shared.listens else min(left, _POLL_SECONDS))
            now = await sync_to_async(_announced)()
    finally:
        shared.unsubscribe(evaluation_id=str(ANY_RUN), queue=changes)
    yield now.model_dump_json().encode()


def _announced() -> RunsAnnounced:
    try:
        suite = next(iter(suites()), None)
        return RunsAnnounced(waits=is_waiting(), suite="" if suite is None else suite.slug, profile=settings.PROFILE)
    finally:
        connection.close()


async def _stream(run_id: UUID, *, seen: tuple[int, int] | None, slot: UUID) -> AsyncIterator[bytes]:
    shared = hub()
    # Renewed only once the stream is read: the slot of an abandoned stream expires.
    shared.slots.add(slot)
    try:
        changes = await shared.subscribe(str(run_id))
        try:
            async for part in _messages(run_id, seen=seen, changes=changes, listens=lambda: shared.listens):
                yield part
        finally:
            shared.unsubscribe(evaluation_id=str(run_id), queue=changes)
    finally:
        shared.slots.remove(slot)


async def _messages(
    run_id: UUID, *, seen: tuple[int, int] | None, changes: "asyncio.Queue[Event]", listens: Callable[[], bool]
) -> AsyncIterator[bytes]:
    of_try, number = (0, 0) if seen is None else (seen[0], seen[1] + 1)
    clock = asyncio.get_running_loop().time
    noted, until = -math.inf, clock() + _LONGEST_SECONDS
    while clock() < until:
        if notes := clock() - noted >= NOTE_SECONDS:
            noted = clock()
        now = await sync_to_async(_look)(run_id, number, of_try=of_try, notes=notes)
        if now.tries != of_try and number:
            yield b"event: again\ndata: {}\n\n"
        of_try, number = now.tries, number if now.tries == of_try else 0
        for each, body in now.events:
            number = each + 1
            yield f"id: {of_try}-{each}\ndata: {json.dumps(body, separators=(',', ':'))}\n\n".encode()
        if now.has_ended:
            yield b"event: end\ndata: {}\n\n"
            return
        if notes and not now.events:
            yield b": still here\n\n"
        with suppress(TimeoutError):
            # Looks from time to time even if nothing is heard: a notification may be lost with its connection.
            await asyncio.wait_for(changes.get(), timeout=NOTE_SECONDS if listens() else _POLL_SECONDS)
        while not changes.empty():
            changes.get_nowait()


class _Seen(NamedTuple):
    """A run at one look."""

    tries: int
    has_ended: bool
    events: list[tuple[int, object]]
    """New ones, with their numbers."""


def _look(run_id: UUID, number: int, *, of_try: int, notes: bool) -> _Seen:
    """The run, and its events from this number of this try on; all events if another worker has started it again."""
    try:
        run = Run.objects.filter(pk=run_id).only("state", "tries").first()
        if notes:
            note_reader(run_id)
        if run is None:
            return _Seen(of_try, True, [])
        # Read after the state, so that the last events of a run that has ended are among them.
        found = events_after(run_id, number=number if run.tries == of_try else 0)
        return _Seen(run.tries, run.has_ended, [(event.number, event.body) for event in found])
    finally:
        connection.close()
