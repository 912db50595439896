"""What workers say while they work: taken in once, bounded, and shown to the evaluation's owner and staff."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.db.models import Prefetch, QuerySet

from evaluator.planners.storable import keepable_text
from evaluator.suites.hidden import HIDDEN
from gpu_jobs.contract.log import LONGEST_LINE, LogLine, LogLines, LogTaken
from gpu_jobs.redaction import Redactor
from leaderboard.accounts.models import User
from leaderboard.catalog.seasons import seeds_to_hide
from leaderboard.evaluations.acting import may_act
from leaderboard.evaluations.models import Attempt, Evaluation
from leaderboard.planners.secret_headers import header_to_hide
from leaderboard.queue.leasing import leases
from leaderboard.queue.models import AttemptLog, LogChunk
from leaderboard.site.known_secrets import known_secrets
from leaderboard.site.operators import is_operator

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


def append_to(*, attempt_id: UUID, evaluation: Evaluation, log: LogLines, credential: str = "") -> LogTaken:
    """`append` for an attempt that is live, within the caller's transaction.

    Raises:
        GapError: lines before these have not come.
    """
    redact = redactor_of(evaluation, credential=credential)
    kept = AttemptLog.objects.select_for_update().filter(attempt_id=attempt_id).first()
    is_new = kept is None
    kept = kept or AttemptLog(attempt_id=attempt_id)
    if log.first > kept.next_line:
        raise GapError(kept.next_line)
    new = [_as_kept(line, redact=redact) for line in log.lines[kept.next_line - log.first :]]
    if new:
        _add(log=kept, lines=new, is_new=is_new)
    return LogTaken(next=kept.next_line, cut=kept.cut)


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
    return Evaluation.objects.select_related("suite", "submission__planner__secret").get(shards__attempts=attempt_id)


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


def _add(*, log: AttemptLog, lines: Sequence[_KeptLine], is_new: bool) -> None:
    """Keep what there is room for. All lines count as come, so that the next call goes on behind them."""
    first = log.next_line
    kept = []
    for line in lines:
        _, _, text = line
        log.cut = log.cut or log.size + len(text) > settings.MAX_LOG_CHARACTERS
        if log.cut:
            break
        log.size += len(text) + 1
        kept.append(line)
    log.next_line += len(lines)
    # Two first calls of an attempt at the same moment: one of them fails here, and is sent again.
    log.save(force_insert=is_new, update_fields=None if is_new else ["next_line", "size", "cut"])
    if kept:
        LogChunk.objects.create(log=log, first=first, lines=kept)


def _as_kept(line: LogLine, *, redact: Redactor) -> _KeptLine:
    text = redact(keepable_text(line.text))
    return line.at, keepable_text(line.level)[:10], text[:LONGEST_LINE]


def _shown(line: Sequence[float | str]) -> ShownLine:
    at, level, text = line
    return ShownLine(at=datetime.fromtimestamp(float(at), tz=UTC), level=str(level), text=str(text))
