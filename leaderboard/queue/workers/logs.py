"""What workers say while they work: taken in once, bounded, and shown to the evaluation's owner and staff."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import IntegrityError, connection, transaction
from django.db.models import Prefetch, QuerySet
from psycopg.types.json import Jsonb

from evaluator.core.storable import keepable_text
from evaluator.core.suites.hidden import HIDDEN
from gpu_jobs.contract import LONGEST_LINE, LogLine, LogLines, LogTaken
from gpu_jobs.redaction import Redactor
from leaderboard.catalog.hidden_data import seeds_to_hide
from leaderboard.evaluations.models import Attempt, Evaluation
from leaderboard.evaluations.visibility import may_act
from leaderboard.people.models import User
from leaderboard.planners.secret_headers import header_to_hide
from leaderboard.platform.operators import is_operator
from leaderboard.platform.secret_keys import known_secrets
from leaderboard.queue.leasing import leases
from leaderboard.queue.models import AttemptLog, LogChunk

TAIL_LINES = 200
_KeptLine = tuple[float, str, str]
"""When, level and text, as the database keeps a line."""


class GapError(Exception):
    """Lines are missing before these; nothing was changed. `expected` is the number of the line that comes next."""

    def __init__(self, expected: int) -> None:
        self.expected = expected
        super().__init__(f"line {expected} is expected next")


class ShownLine(NamedTuple):
    """One line as people read it."""

    at: datetime
    level: str
    text: str


def append(*, attempt_id: UUID, log: LogLines, credential: str = "") -> LogTaken:
    """Take in lines of an attempt's log.

    Before: the attempt is live.
    After: the lines that had not come yet are kept, without secrets, as far as there is room: what is too much is
    dropped and the log marked as cut. Lines that came before change nothing.

    Raises:
        AttemptEndedError: the attempt is not live.
        GapError: lines before these have not come.
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
    """`append` for an attempt that is live, within the caller's transaction.

    Args:
        attempt_id: whose log it is.
        evaluation: what it works on.
        log: the lines.
        credential: the attempt's, which must be in no line.
        known: the log as it was read without a lock; None: it is read now.

    Raises:
        GapError: lines before these have not come.
    """
    redact = redactor_of(evaluation, credential=credential)
    is_added = False
    if known is not None:
        # What seems to be missing may have come meanwhile.
        with suppress(GapError):
            is_added = _append(known, log=log, redact=redact)
    if known is None or not is_added:
        known = AttemptLog.objects.select_for_update().filter(attempt_id=attempt_id).first() or empty_log(attempt_id)
        if not _append(known, log=log, redact=redact):
            raise IntegrityError(f"the first lines of attempt {attempt_id} came twice at the same moment")
    return LogTaken(next=known.next_line, cut=known.cut)


def log_of(attempt: Attempt) -> AttemptLog:
    """The log of an attempt that was read with it."""
    return getattr(attempt, "log", None) or empty_log(attempt.pk)


def empty_log(attempt_id: UUID) -> AttemptLog:
    """The log of an attempt of which no line has come."""
    return AttemptLog(attempt_id=attempt_id)


def _append(known: AttemptLog, *, log: LogLines, redact: Redactor) -> bool:
    """Add the lines that have not come yet. False if the log is not what is known of it; then nothing changed.

    Raises:
        GapError: lines before these have not come.
    """
    if log.first > known.next_line:
        raise GapError(known.next_line)
    new = [_as_kept(line, redact=redact) for line in log.lines[known.next_line - log.first :]]
    return not new or _add(log=known, lines=new)


def redactor_of(evaluation: Evaluation, *, credential: str = "") -> Redactor:
    """Takes out of what workers send what only the evaluation's owner and the operator may know.

    Args:
        evaluation: what they work on.
        credential: of the attempt, which the site knows only while it answers a call.
    """
    planner = evaluation.submission.planner
    header = header_to_hide(planner)
    secrets = [*known_secrets(), *(header.secrets() if header else ()), *seeds_to_hide(evaluation), credential]
    return Redactor(secrets=secrets, addresses=[planner.endpoint_url])


def redactor_of_attempt(attempt_id: UUID, *, credential: str = "") -> Redactor:
    """The same of the evaluation that an attempt is of."""
    return redactor_of(_evaluation_of(attempt_id), credential=credential)


def _evaluation_of(attempt_id: UUID) -> Evaluation:
    return Evaluation.runs.select_related("suite", "submission__planner__secret").get(shards__attempts=attempt_id)


def may_read(*, user: User | AnonymousUser, evaluation: Evaluation) -> bool:
    """Who sees the log: staff, and who may act like the owner unless messages could tell about hidden data."""
    if is_operator(user):
        return True
    return evaluation.split != HIDDEN and may_act(user=user, submission=evaluation.submission)


def attempts_of(evaluation: Evaluation) -> QuerySet[Attempt]:
    """The evaluation's attempts with their logs, the newest first."""
    related = Attempt.objects.filter(shard__evaluation=evaluation).select_related("shard", "log")
    return related.prefetch_related(Prefetch("log__chunks")).order_by("-leased_at", "pk")


def lines_of(attempt: Attempt) -> list[ShownLine]:
    """The lines of an attempt that came from `attempts_of`."""
    log = getattr(attempt, "log", None)
    return [] if log is None else [_shown(line) for chunk in log.chunks.all() for line in chunk.lines]


def tail(evaluation: Evaluation) -> list[ShownLine]:
    """The last lines of all attempts, in the order of time."""
    newest = LogChunk.objects.filter(log__attempt__shard__evaluation=evaluation).order_by("-pk").values_list("lines")
    # A chunk has at least one line, so that this many are enough.
    found = [_shown(line) for (lines,) in islice(newest[:TAIL_LINES], TAIL_LINES) for line in lines]
    return sorted(found, key=lambda line: line.at)[-TAIL_LINES:]


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


def _add(*, log: AttemptLog, lines: Sequence[_KeptLine]) -> bool:
    """Keep what there is room for, if no line has come since the log was read. All lines count as come, so that the
    next call goes on behind them."""
    first, size, cut = log.next_line, log.size, log.cut
    kept = []
    for line in lines:
        _, _, text = line
        cut = cut or size + len(text) > settings.MAX_LOG_CHARACTERS
        if cut:
            break
        size += len(text) + 1
        kept.append(line)
    following = first + len(lines)
    given: dict[str, Any] = {"attempt": log.attempt_id, "next": following, "size": size, "cut": cut, "first": first}
    with connection.cursor() as cursor:
        cursor.execute(_ADD, given | {"lines": Jsonb(kept), "any": bool(kept)})
        (is_added,) = cursor.fetchone()
    if is_added:
        log.next_line, log.size, log.cut = following, size, cut
    return bool(is_added)


def _as_kept(line: LogLine, *, redact: Redactor) -> _KeptLine:
    text = redact(keepable_text(line.text))
    return line.at, keepable_text(line.level)[:10], text[:LONGEST_LINE]


def _shown(line: Sequence[float | str]) -> ShownLine:
    at, level, text = line
    return ShownLine(at=datetime.fromtimestamp(float(at), tz=UTC), level=str(level), text=str(text))
