"""Events of a run as server-sent events, for pages and the API.

Each message has the number of its event as `id`, so that a reader that reconnects misses nothing. The stream ends with
an event `end`. While it is open, the run has a reader.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import connection
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse

from leaderboard.evaluations.web.live import groups_of
from leaderboard.platform.coordination import locks
from leaderboard.platform.http.addresses import address_of
from leaderboard.workbench.asking import events_after, note_reader
from leaderboard.workbench.models import Run

_POLL_SECONDS = 0.4
_NOTE_EVERY = 25
"""Polls between two notes that somebody reads."""
_LONGEST_POLLS = 3000


def stream_of(request: HttpRequest, *, run: Run) -> HttpResponseBase:
    """The stream of a run; 429 if the reader or their address has too many streams."""
    slot = locks.take_slots(groups_of(reader=request.user, address=address_of(request)))
    if slot is None:
        headers = {"Retry-After": str(locks.SLOT_SECONDS)}
        return HttpResponse("You have reached the limit of live pages.\n", status=429, headers=headers)
    last = request.headers.get("Last-Event-ID", "")
    first = int(last) + 1 if last.isascii() and last.isdigit() and len(last) < 6 else 0
    response = StreamingHttpResponse(_stream(run.pk, first=first, slot=slot), content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    return response


async def _stream(run_id: UUID, *, first: int, slot: UUID) -> AsyncIterator[bytes]:
    number = first
    try:
        for poll in range(_LONGEST_POLLS):
            state, events = await sync_to_async(_look)(run_id, number, notes=poll % _NOTE_EVERY == 0, slot=slot)
            for each, body in events:
                number = each + 1
                yield f"id: {each}\ndata: {json.dumps(body, separators=(',', ':'))}\n\n".encode()
            if state is None:
                yield b"event: end\ndata: {}\n\n"
                return
            if not events and poll % _NOTE_EVERY == 0:
                yield b": still here\n\n"
            await asyncio.sleep(_POLL_SECONDS)
    finally:
        asyncio.get_running_loop().run_in_executor(None, _release, slot)


def _look(run_id: UUID, number: int, *, notes: bool, slot: UUID) -> tuple[str | None, list[tuple[int, object]]]:
    """State and new events of a run; None as its state if it has ended."""
    try:
        run = Run.objects.filter(pk=run_id).only("state").first()
        if notes:
            note_reader(run_id)
            locks.renew_slots(frozenset({slot}))
        # Read after the state, so that the last events of a run that has ended are among them.
        events: list[tuple[int, object]] = [(event.number, event.body) for event in events_after(run_id, number=number)]
        return None if run is None or run.has_ended else run.state, events
    finally:
        connection.close()


def _release(slot: UUID) -> None:
    try:
        locks.give_slots_back(slot)
    finally:
        connection.close()
