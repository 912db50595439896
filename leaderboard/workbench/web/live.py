"""Events of a run as server-sent events, for pages and the API.

Each message has `TRY-NUMBER` of its event as `id`, so that a reader that reconnects misses nothing. Where another
worker starts the run again, an event `again` says that those before are void. The stream ends with an event `end`.
While it is open, the run has a reader.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from typing import NamedTuple
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import connection
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse

from leaderboard.evaluations.web.live import groups_of
from leaderboard.platform.coordination import locks
from leaderboard.platform.http.addresses import address_of
from leaderboard.workbench.asking import events_after, note_reader
from leaderboard.workbench.models import Run

_ID = re.compile(r"([0-9]{1,3})-([0-9]{1,5})", re.ASCII)
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
    last = _ID.fullmatch(request.headers.get("Last-Event-ID", ""))
    seen = None if last is None else (int(last[1]), int(last[2]))
    response = StreamingHttpResponse(_stream(run.pk, seen=seen, slot=slot), content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    return response


async def _stream(run_id: UUID, *, seen: tuple[int, int] | None, slot: UUID) -> AsyncIterator[bytes]:
    of_try, number = (0, 0) if seen is None else (seen[0], seen[1] + 1)
    try:
        for poll in range(_LONGEST_POLLS):
            now = await sync_to_async(_look)(run_id, number, of_try=of_try, notes=poll % _NOTE_EVERY == 0, slot=slot)
            if now.tries != of_try and number:
                yield b"event: again\ndata: {}\n\n"
            of_try, number = now.tries, number if now.tries == of_try else 0
            for each, body in now.events:
                number = each + 1
                yield f"id: {of_try}-{each}\ndata: {json.dumps(body, separators=(',', ':'))}\n\n".encode()
            if now.has_ended:
                yield b"event: end\ndata: {}\n\n"
                return
            if not now.events and poll % _NOTE_EVERY == 0:
                yield b": still here\n\n"
            await asyncio.sleep(_POLL_SECONDS)
    finally:
        asyncio.get_running_loop().run_in_executor(None, _release, slot)


class _Seen(NamedTuple):
    """A run at one look."""

    tries: int
    has_ended: bool
    events: list[tuple[int, object]]
    """New ones, with their numbers."""


def _look(run_id: UUID, number: int, *, of_try: int, notes: bool, slot: UUID) -> _Seen:
    """The run, and its events from this number of this try on; all events if another worker has started it again."""
    try:
        run = Run.objects.filter(pk=run_id).only("state", "tries").first()
        if notes:
            note_reader(run_id)
            locks.renew_slots(frozenset({slot}))
        if run is None:
            return _Seen(of_try, True, [])
        # Read after the state, so that the last events of a run that has ended are among them.
        found = events_after(run_id, number=number if run.tries == of_try else 0)
        return _Seen(run.tries, run.has_ended, [(event.number, event.body) for event in found])
    finally:
        connection.close()


def _release(slot: UUID) -> None:
    try:
        locks.give_slots_back(slot)
    finally:
        connection.close()
