"""Leases of runs to workers.

A run gives way to shards for `PATIENCE_SECONDS`; after that, operators' workers take runs and shards in turn. The asker
with the fewest running runs is next, then the one who was served the longest ago.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError, connection, transaction
from django.db.models import Max, QuerySet
from django.db.models.functions import Now

from evaluator.core.canonical_json import JsonValue, dumps
from evaluator.core.storable import keepable_text
from evaluator.workbench.events import Ending
from gpu_jobs.contract import GivenUp
from leaderboard.evaluations.states import request_resync
from leaderboard.platform.database import database_now
from leaderboard.platform.problems import ProblemError
from leaderboard.queue.leasing.next_shard import hash_token
from leaderboard.workbench import asking
from leaderboard.workbench.asking import UNFOLLOWED
from leaderboard.workbench.models import UNFINISHED, Run, RunEvent, RunState

LEASE_SECONDS = 30
HEARTBEAT_SECONDS = 5
MOST_TRIES = 3
PATIENCE_SECONDS = 5
"""How long a run gives way to evaluations; after that, workers take runs and shards in turn."""
LONGEST = timedelta(minutes=10)
"""Duration of a run, after which it is lost for good."""
MOST_EVENT = 200_000
"""Characters of an event as JSON."""
_NOBODY = "Nobody followed it any more."
_LOST = "The worker was lost three times."
_TOO_LONG = "It took longer than ten minutes."


class RunOverError(ProblemError):
    """The run was cancelled, lost, or has ended."""

    status = 409

    def __init__(self, code: str) -> None:
        self.code = code
        super().__init__("This run has ended or belongs to another worker.")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasedRun:
    """A run and the credential of its worker."""

    run: Run
    token: str


def is_waiting() -> bool:
    """Whether a run may be leased. One query."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT 1 FROM workbench_run WHERE state = 'waiting'"
            " OR (state = 'running' AND expires_at < statement_timestamp()))"
        )
        return bool(cursor.fetchone()[0])


def unfinished() -> QuerySet[Run]:
    """The runs that wait or run."""
    return Run.objects.filter(state__in=UNFINISHED)


def is_overdue(worker: str) -> bool:
    """Whether a run has waited so long that this worker takes it before the next shard. A worker that has just done so
    takes a shard first, so that evaluations get at least every second turn. One query."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT 1 FROM workbench_run WHERE state = 'waiting'"
            " AND created < statement_timestamp() - CAST(%(patience)s AS interval))"
            " AND COALESCE((SELECT max(leased_at) FROM workbench_run WHERE worker = %(worker)s), '-infinity')"
            " <= COALESCE((SELECT max(leased_at) FROM evaluations_attempt WHERE worker = %(worker)s), '-infinity')",
            {"worker": worker, "patience": f"{PATIENCE_SECONDS} seconds"},
        )
        return bool(cursor.fetchone()[0])


def lease(*, worker: str, token: str) -> LeasedRun | None:
    """Lease the next run; None if none waits.

    Before: nothing; many workers may call at once.
    After: the run is `running` for this worker, or nothing changed. A worker that repeats its token gets the same run.
    """
    expire()
    held_already = Run.objects.filter(token_hash=hash_token(token), state=RunState.RUNNING)
    run = held_already.first()
    if run is None:
        try:
            with transaction.atomic():
                run = next(iter(_claimed(worker=worker, token_hash=hash_token(token))), None)
        except IntegrityError:
            # The same call, repeated meanwhile.
            run = held_already.first()
    return None if run is None else LeasedRun(run=run, token=token)


def _claimed(*, worker: str, token_hash: str) -> Any:
    return Run.objects.raw(
        "UPDATE workbench_run SET state = 'running', worker = %(worker)s, token_hash = %(token)s,"
        " last_token_hash = %(token)s, tries = tries + 1,"
        " leased_at = statement_timestamp(), expires_at = statement_timestamp() + %(lease)s WHERE id = ("
        "  SELECT waiting.id FROM workbench_run waiting WHERE waiting.state = 'waiting'"
        "  ORDER BY (SELECT count(*) FROM workbench_run running WHERE running.state = 'running'"
        "   AND running.asker = waiting.asker),"
        "   (SELECT max(leased_at) FROM workbench_run last WHERE last.asker = waiting.asker) NULLS FIRST,"
        "   waiting.created LIMIT 1 FOR UPDATE SKIP LOCKED"
        ") RETURNING *",
        {"worker": worker, "token": token_hash, "lease": timedelta(seconds=LEASE_SECONDS)},
    )


def expire() -> None:
    """Return runs of lost workers to the queue, and cancel those that nobody follows, that were lost too often, or that
    last too long.

    Before: nothing; several processes may call at once.
    After: no running run is past its lease, and no waiting one is without a reader.
    """
    now = database_now()
    over = {"ended_at": Now(), "token_hash": None, "expires_at": None, "state": RunState.CANCELLED}
    lost = Run.objects.filter(state=RunState.RUNNING, expires_at__lt=now)
    lost.filter(tries__gte=MOST_TRIES).update(reason=_LOST, **over)
    lost.filter(created__lt=now - LONGEST).update(reason=_TOO_LONG, **over)
    for run_id in list(lost.values_list("pk", flat=True)):
        _wait_again(run_id, only_lost_before=now)
    unseen = Run.objects.filter(state__in=UNFINISHED, is_kept=False, seen_at__lt=now - UNFOLLOWED)
    unseen.update(reason=_NOBODY, **over)


def _wait_again(run_id: UUID, *, only_lost_before: Any = None) -> None:
    with transaction.atomic():
        rows = Run.objects.select_for_update().filter(pk=run_id, state=RunState.RUNNING)
        if only_lost_before is not None:
            rows = rows.filter(expires_at__lt=only_lost_before)
        run = rows.first()
        if run is None:
            return
        # The next worker tells everything again; executed steps are in its store.
        run.events.all().delete()
        request_resync(run_id)
        Run.objects.filter(pk=run_id).update(state=RunState.WAITING, token_hash=None, expires_at=None)
        request_resync(asking.ANY_RUN)


def held(*, run_id: UUID, token: str) -> Run:
    """The run that a worker has.

    Raises:
        RunOverError: it has ended, or another worker has it.
    """
    run = Run.objects.filter(pk=run_id).first()
    if run is None:
        raise RunOverError("unknown")
    if run.state != RunState.RUNNING or run.token_hash != hash_token(token):
        raise RunOverError(run.state if run.state != RunState.RUNNING else "lost")
    return run


def take_events(*, run_id: UUID, token: str, first: int, events: Sequence[Mapping[str, JsonValue]]) -> None:
    """Store events, and renew the lease. The event `ended` ends the run.

    Before: nothing; a call may be repeated.
    After: each event is stored once; or nothing changed.

    Raises:
        RunOverError: the run has ended, nobody follows it, or another worker has it.
    """
    with transaction.atomic():
        run = held(run_id=run_id, token=token)
        Run.objects.select_for_update().get(pk=run.pk)
        run = held(run_id=run_id, token=token)
        now = database_now()
        if run.leased_at is not None and run.leased_at < now - LONGEST:
            over = asking.cancel(run.pk, reason=_TOO_LONG)
        elif not run.is_kept and run.seen_at < now - UNFOLLOWED:
            over = asking.cancel(run.pk, reason=_NOBODY)
        else:
            over = False
            last = run.events.aggregate(last=Max("number"))["last"]
            next_number = 0 if last is None else last + 1
            new = [(number, event) for number, event in enumerate(events, start=first) if number >= next_number]
            RunEvent.objects.bulk_create(
                RunEvent(run=run, number=number, at=now, body=_bounded(event)) for number, event in new
            )
            changes: dict[str, Any] = {"expires_at": now + timedelta(seconds=LEASE_SECONDS)}
            if any(event.get("kind") == "ended" for _, event in new):
                changes = {"state": RunState.ENDED, "ended_at": now, "token_hash": None, "expires_at": None}
            Run.objects.filter(pk=run.pk).update(**changes)
            if new:
                request_resync(run.pk)
    if over:
        raise RunOverError("cancelled")


def _bounded(event: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """An event that PostgreSQL can store and pages can show."""
    text = dumps(event)
    if len(text) > MOST_EVENT:
        kept: dict[str, JsonValue] = {"kind": event.get("kind"), "is_too_long": True}
        return kept
    found: dict[str, JsonValue] = _keepable(event)
    return found


def _keepable(value: Any) -> Any:
    if isinstance(value, str):
        return keepable_text(value)
    if isinstance(value, Mapping):
        return {keepable_text(str(name)): _keepable(part) for name, part in value.items()}
    return [_keepable(part) for part in value] if isinstance(value, list | tuple) else value


def give_back(*, run_id: UUID, token: str, how: GivenUp, reason: str) -> None:
    """A worker returns a run. One that it could not run ends as failed; one of a stopped worker waits again.

    Raises:
        RunOverError: the run has ended or another worker has it.
    """
    run = held(run_id=run_id, token=token)
    if how is GivenUp.RELEASED and run.tries < MOST_TRIES:
        _wait_again(run.pk)
        return
    text = f"The worker could not run this: {reason}"
    body: dict[str, JsonValue] = {
        "kind": "ended", "ending": Ending.FAILED.value, "text": text[:2000], "answers": [], "problems": [],
        "received": "",
    }  # fmt: skip
    number = run.events.count()
    take_events(run_id=run_id, token=token, first=number, events=[body])
