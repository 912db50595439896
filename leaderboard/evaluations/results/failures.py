"""Failures of an evaluation, grouped by outcome and reason, then by cause. No database.

One cause has sentences that differ only in quotes, numbers and names of tools.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from leaderboard.evaluations.results.task_filters import TaskRow

MOST_CAUSES = 5
MOST_EXAMPLES = 3
FAULTS = frozenset({"planner_fault", "infra_fault"})
_LONGEST = 300
_VARIES = re.compile(r'"[^"]*"|“[^”]*”|\'[^\']*\'|\b[0-9a-f]{12,}\b|\b\d+(?:\.\d+)?\b')


class Cause(NamedTuple):
    """Tasks with the same cause."""

    key: str
    """The value of the filter `cause`."""
    count: int  # type: ignore[assignment]  # hides tuple.count, which nothing calls
    sentence: str
    """Of the first task."""
    examples: tuple[str, ...]
    """Keys of the first tasks."""


class FailureGroup(NamedTuple):
    """Tasks without a normal score, by the reason."""

    outcome: str
    reason: str
    count: int  # type: ignore[assignment]  # hides tuple.count, which nothing calls
    causes: tuple[Cause, ...]
    """The most frequent first."""
    further: int
    """How many causes are not shown."""


def cause_key(*, outcome: str, reason: str, text: str) -> str:
    """The key of a fault's cause; empty for other outcomes."""
    if outcome not in FAULTS:
        return ""
    return hashlib.sha256(f"{outcome}/{reason}/{pattern(text)}".encode()).hexdigest()[:10]


def pattern(text: str) -> str:
    """A sentence without quotes and numbers, which differ between tasks."""
    return _VARIES.sub("…", text[:_LONGEST])


def failures(rows: Iterable[TaskRow]) -> list[FailureGroup]:
    """Tasks that ended without a normal score, by outcome and reason, the largest group first."""
    groups: dict[tuple[str, str], list[TaskRow]] = {}
    for row in rows:
        if row.outcome in FAULTS:
            groups.setdefault((row.outcome, row.reason), []).append(row)
    found = [_group(outcome=outcome, reason=reason, members=members) for (outcome, reason), members in groups.items()]
    return sorted(found, key=lambda group: (group.outcome, -group.count, group.reason))


def _group(*, outcome: str, reason: str, members: Sequence[TaskRow]) -> FailureGroup:
    by_cause: dict[str, list[TaskRow]] = {}
    for row in members:
        by_cause.setdefault(row.cause, []).append(row)
    causes = [
        Cause(key, len(rows), rows[0].reason_text, tuple(row.key for row in rows[:MOST_EXAMPLES]))
        for key, rows in by_cause.items()
    ]
    causes.sort(key=lambda cause: -cause.count)
    return FailureGroup(
        outcome=outcome,
        reason=reason,
        count=len(members),
        causes=tuple(causes[:MOST_CAUSES]),
        further=max(0, len(causes) - MOST_CAUSES),
    )
