"""What went wrong in an evaluation, grouped by cause. No database.

An outcome and a reason are one kind of failure. Within it, sentences that say the same of different tasks are one
cause: they differ only in what they quote, in numbers and in the names of tools.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from leaderboard.results.task_filters import TaskRow

MOST_CAUSES = 5
MOST_EXAMPLES = 3
FAULTS = frozenset({"planner_fault", "infra_fault"})
_LONGEST = 300
_VARIES = re.compile(r'"[^"]*"|“[^”]*”|\'[^\']*\'|\b[0-9a-f]{12,}\b|\b\d+(?:\.\d+)?\b')


class Cause(NamedTuple):
    """Tasks of which the same is said."""

    key: str
    """What the filter `cause` takes."""
    count: int  # type: ignore[assignment]  # hides tuple.count, which nothing calls
    sentence: str
    """That of the first of them."""
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
    """The key of the cause that a fault's sentence tells; nothing for what is no fault."""
    if outcome not in FAULTS:
        return ""
    return hashlib.sha256(f"{outcome}/{reason}/{pattern(text)}".encode()).hexdigest()[:10]


def pattern(text: str) -> str:
    """A sentence without what differs between tasks: what is quoted, and numbers."""
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
    causes = sorted((_cause(key, rows) for key, rows in by_cause.items()), key=lambda cause: -cause.count)
    return FailureGroup(
        outcome=outcome,
        reason=reason,
        count=len(members),
        causes=tuple(causes[:MOST_CAUSES]),
        further=max(0, len(causes) - MOST_CAUSES),
    )


def _cause(key: str, rows: Sequence[TaskRow]) -> Cause:
    return Cause(
        key=key,
        count=len(rows),
        sentence=rows[0].reason_text,
        examples=tuple(row.key for row in rows[:MOST_EXAMPLES]),
    )
