"""What the pages about workers show, ready for their templates."""

from datetime import datetime
from typing import NamedTuple

from leaderboard.evaluations.models import Attempt, AttemptState
from leaderboard.queue.workers.logs import ShownLine, lines_of


class ShownAttempt(NamedTuple):
    """An attempt with its log."""

    id: str
    shard: int
    number: int
    worker: str
    state: str
    state_label: str
    reason: str
    leased_at: datetime
    ended_at: datetime | None
    cut: bool
    """Whether there were more lines than are kept."""
    lines: list[ShownLine]


def shown_attempt(attempt: Attempt) -> ShownAttempt:
    """An attempt that came from `logs.attempts_of`."""
    log = getattr(attempt, "log", None)
    return ShownAttempt(
        id=str(attempt.pk),
        shard=attempt.shard.number,
        number=attempt.number,
        worker=attempt.worker,
        state=attempt.state,
        state_label=AttemptState(attempt.state).label,
        reason=attempt.reason,
        leased_at=attempt.leased_at,
        ended_at=attempt.ended_at,
        cut=log is not None and log.cut,
        lines=lines_of(attempt),
    )
