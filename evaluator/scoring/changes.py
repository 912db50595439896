"""What a regrade changed, task by task: the same plan under two judges, scorers or versions of a suite."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from evaluator.core.suites.base import Column

_SAME = 1e-9


class Graded(NamedTuple):
    """How one task ended. A site has columns of these names."""

    outcome: str
    reason: str
    score: float | None
    indicators: Mapping[str, float]


class Mark(NamedTuple):
    """An indicator with another value."""

    label: str
    before: float | None
    after: float | None


class TaskChange(NamedTuple):
    """One task with a different result."""

    key: str
    before: Graded
    after: Graded
    marks: tuple[Mark, ...]

    @property
    def difference(self) -> float | None:
        """Of the scores; None without both."""
        if self.before.score is None or self.after.score is None:
            return None
        return self.after.score - self.before.score


class Changes(NamedTuple):
    """All tasks that both evaluations have."""

    tasks: tuple[TaskChange, ...]
    """Those with different results, the largest difference first, then those without both scores."""
    common: int
    better: int
    """Tasks with a higher score."""
    worse: int
    gained: int
    """Tasks with a score only now."""
    lost: int
    """Tasks with a score only before."""


def changes_between(*, before: Mapping[str, Graded], after: Mapping[str, Graded], columns: Iterable[Column]) -> Changes:
    """Compare the results of the same plans. Pure.

    Args:
        before: by key of the task.
        after: the same under other rules.
        columns: of the suite; only values of indicators are compared one by one.
    """
    shown = [column for column in columns if column.indicator]
    changed = [
        change
        for key in before.keys() & after.keys()
        if (change := _change(key, before=before[key], after=after[key], columns=shown)) is not None
    ]
    changed.sort(key=lambda change: (change.difference is None, -abs(change.difference or 0.0), change.key))
    differences = [change.difference for change in changed if change.difference is not None]
    return Changes(
        tasks=tuple(changed),
        common=len(before.keys() & after.keys()),
        better=sum(difference > _SAME for difference in differences),
        worse=sum(difference < -_SAME for difference in differences),
        gained=sum(change.before.score is None and change.after.score is not None for change in changed),
        lost=sum(change.before.score is not None and change.after.score is None for change in changed),
    )


def _change(key: str, *, before: Graded, after: Graded, columns: Sequence[Column]) -> TaskChange | None:
    marks = tuple(
        Mark(column.label, *values)
        for column in columns
        if not _is_same(*(values := (before.indicators.get(column.key), after.indicators.get(column.key))))
    )
    is_same = (before.outcome, before.reason) == (after.outcome, after.reason) and _is_same(before.score, after.score)
    return None if is_same and not marks else TaskChange(key=key, before=before, after=after, marks=marks)


def _is_same(before: float | None, after: float | None) -> bool:
    if before is None or after is None:
        return before is after
    return abs(before - after) <= _SAME
