"""Logs of workers: each line is stored once, the size is limited, and an evaluation's owner and staff may read them."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import IntegrityError, connection, transaction
from django.db.models import Prefetch, QuerySet
from psycopg.types.json import Jsonb

from evaluator.core.storable import keepable_text
from evaluator.core.suites.hidden import HIDDEN
from gpu_jobs.contract import LONGEST_LINE, LogLines, LogTaken
from gpu_jobs.redaction import Redactor
from leaderboard.catalog.hidden_data import seeds_to_hide
from leaderboard.evaluations.models import Attempt, Evaluation
from leaderboard.evaluations.visibility import may_act
from leaderboard.people.models import User
from leaderboard.planners.secret_headers import addresses_to_hide, headers_to_hide
from leaderboard.platform.operators import is_operator
from leaderboard.platform.secret_keys import known_secrets
from leaderboard.queue.leasing import leases
from leaderboard.queue.models import AttemptLog, LogChunk

TAIL_LINES = 200
_StoredLine = tuple[float, str, str]
"""Time, level and text."""


class GapError(Exception):
    """Lines are missing before these; nothing was changed. `expected` is the number of the next line."""

    def __init__(self, expected: int) -> None:
        self.expected = expected
        super().__init__(f"line {expected} is expected next")


class ShownLine(NamedTuple):
    """One line of a log."""

    at: datetime
    level: str
    text: str


def append(*, attempt_id: UUID, log: LogLines, credential: str = "") -> LogTaken:
    """Append lines to an attempt's log.

    Before: the attempt is live.
    After: new lines are stored, without secrets, up to the size limit: further lines are dropped and the log is marked
    as cut. Repeated lines change nothing.

    Raises:
        AttemptEndedError: the attempt is not live.
        GapError: earlier lines are missing.
    """
    leases.heartbeat(attempt_id)
    evaluation = _evaluation_of(attempt_id)
    with transaction.atomic():
        return append_to(attempt_id=attempt_id, evaluation=evaluation, log=log, credential=credential)


def append_to(
    *,
    attempt_id: UUID,
    evaluation: Evaluation,
    log: LogLines,
    credential: str = "",
    known: AttemptLog | None = None,
) -> LogTaken:
    """`append` for a live attempt, within the caller's transaction.

    Args:
        attempt_id: the attempt.
        evaluation: the attempt's evaluation.
        log: the lines.
        credential: the attempt's, which is removed from the lines.
        known: the log as read without a lock; None: it is read now.

    Raises:
        GapError: earlier lines are missing.
    """
    redact = redactor_of(evaluation, credential=credential)
    is_added = False
    if known is not None:
        # Lines that seem to be missing may have arrived meanwhile.
        with suppress(GapError):
            is_added = _append(known, log=log, redact=redact)
    if known is None or not is_added:
        locked = AttemptLog.objects.select_for_update().filter(attempt_id=attempt_id)
        known = locked.first() or AttemptLog(attempt_id=attempt_id)
        if not _append(known, log=log, redact=redact):
            raise IntegrityError(f"the first lines of attempt {attempt_id} were sent twice at the same time")
    return LogTaken(next=known.next_line, cut=known.cut)


def log_of(attempt: Attempt) -> AttemptLog:
    """The log that was read with an attempt."""
    return getattr(attempt, "log", None) or AttemptLog(attempt_id=attempt.pk)


def _append(known: AttemptLog, *, log: LogLines, redact: Redactor) -> bool:
    """Append new lines, up to the size limit; all lines count as received, so that the next call continues after them.
    False if the stored log differs from `known`; nothing changed.

    Raises:
        GapError: earlier lines are missing.
    """
    if log.first > known.next_line:
        raise GapError(known.next_line)
    new = log.lines[known.next_line - log.first :]
    if not new:
        return True
    first, size, cut = known.next_line, known.size, known.cut
    stored: list[_StoredLine] = []
    for line in new:
        text = redact(keepable_text(line.text))[:LONGEST_LINE]
        cut = cut or size + len(text) > settings.MAX_LOG_CHARACTERS
        if cut:
            break
        size += len(text) + 1
        stored.append((line.at, keepable_text(line.level)[:10], text))
    following = first + len(new)
    parameters: dict[str, Any] = {
        "attempt": known.attempt_id, "next": following, "size": size, "cut": cut, "first": first,
        "lines": Jsonb(stored), "any": bool(stored),
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_ADD, parameters)
        (is_added,) = cursor.fetchone()
    if is_added:
        known.next_line, known.size, known.cut = following, size, cut
    return bool(is_added)


def redactor_of(evaluation: Evaluation, *, credential: str = "") -> Redactor:
    """Removes from workers' texts what only the evaluation's owner and the operators may know.

    Args:
        evaluation: the evaluation.
        credential: of the attempt, which the site knows only during a call.
    """
    planner = evaluation.submission.planner
    of_headers = (secret for header in headers_to_hide(planner) for secret in header.secrets())
    secrets = [*known_secrets(), *of_headers, *seeds_to_hide(evaluation), credential]
    return Redactor(secrets=secrets, addresses=addresses_to_hide(planner))


def redactor_of_attempt(attempt_id: UUID, *, credential: str = "") -> Redactor:
    """`redactor_of` for the evaluation of an attempt."""
    return redactor_of(_evaluation_of(attempt_id), credential=credential)


def _evaluation_of(attempt_id: UUID) -> Evaluation:
    return Evaluation.runs.select_related("suite", "submission__planner__secret").get(shards__attempts=attempt_id)


def may_read(*, user: User | AnonymousUser, evaluation: Evaluation) -> bool:
    """Whether a user may read the log: staff, and the owner's team unless messages could reveal hidden data."""
    if is_operator(user):
        return True
    return evaluation.split != HIDDEN and may_act(user=user, submission=evaluation.submission)


def attempts_of(evaluation: Evaluation) -> QuerySet[Attempt]:
    """The evaluation's attempts with their logs, newest first."""
    related = Attempt.objects.filter(shard__evaluation=evaluation).select_related("shard", "log")
    return related.prefetch_related(Prefetch("log__chunks")).order_by("-leased_at", "pk")


def lines_of(attempt: Attempt) -> list[ShownLine]:
    """The lines of an attempt from `attempts_of`."""
    log = getattr(attempt, "log", None)
    return [] if log is None else [_shown(line) for chunk in log.chunks.all() for line in chunk.lines]


def tail(evaluation: Evaluation) -> list[ShownLine]:
    """The last lines of all attempts, in order of time."""
    newest = LogChunk.objects.filter(log__attempt__shard__evaluation=evaluation).order_by("-pk").values_list("lines")
    # A chunk has at least one line, so that this many chunks are enough.
    shown = [_shown(line) for (lines,) in newest[:TAIL_LINES] for line in lines]
    return sorted(shown, key=lambda line: line.at)[-TAIL_LINES:]


_ADD = """
WITH kept AS (
    INSERT INTO queue_attemptlog AS log (attempt_id, next_line, size, cut)
    VALUES (%(attempt)s, %(next)s, %(size)s, %(cut)s)
    ON CONFLICT (attempt_id) DO UPDATE SET next_line = EXCLUDED.next_line, size = EXCLUDED.size, cut = EXCLUDED.cut
    WHERE log.next_line = %(first)s
    RETURNING attempt_id
),
chunk AS (
    INSERT INTO queue_logchunk (log_id, first, lines)
    SELECT attempt_id, %(first)s, %(lines)s FROM kept WHERE %(any)s
)
SELECT count(*) FROM kept
"""


def _shown(line: Sequence[float | str]) -> ShownLine:
    at, level, text = line
    return ShownLine(at=datetime.fromtimestamp(float(at), tz=UTC), level=str(level), text=str(text))
