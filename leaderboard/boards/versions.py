"""What a new version of a planner changed, task by task. No database access.

Two versions are compared only under equal conditions. A task is solved by the rule of the heat map (`matrix.solves`),
so that "fixed 12 tasks, broke 3" counts the same tasks as its cells.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from evaluator.core.suites.base import Column
from evaluator.scoring.metrics.crossed import Matrix
from evaluator.scoring.metrics.paired import DECIMALS, bootstrap_columns, paired_test
from evaluator.scoring.metrics.statistics import Interval
from leaderboard.boards.matrix import solves

_SAME = 1e-9


class Verdict(StrEnum):
    """Whether a version solves a task."""

    SOLVED = "solved"
    UNSOLVED = "unsolved"
    UNDECIDED = "undecided"
    """It depends on a verdict that the judge left open."""


Verdicts = Sequence[Verdict | None]
"""By task, in the suite's order; None if the task does not count."""


class TaskChanges(NamedTuple):
    """The tasks that a version solves and its predecessor does not, and the reverse, as positions in the suite."""

    common: int
    """Number of tasks that count in both."""
    fixed: tuple[int, ...]
    """Solved now and not before, however undecided verdicts are settled."""
    broken: tuple[int, ...]
    """Solved before and not now, in the same sense."""
    undecided: tuple[int, ...]
    """Tasks that may be fixed, broken or unchanged: one of the two verdicts is open."""

    @property
    def in_words(self) -> str:
        """As in `fixed 12 tasks, broke 3; 4 undecided`."""
        if not self.common:
            return "no task in common"
        fixed, broken = len(self.fixed), len(self.broken)
        if fixed:
            words = f"fixed {_tasks(fixed)}, broke {broken or 'none'}"
        else:
            words = f"broke {_tasks(broken)}, fixed none" if broken else "fixed and broke no task"
        return f"{words}; {len(self.undecided)} undecided" if self.undecided else words


def _tasks(count: int) -> str:
    return f"{count} task{'' if count == 1 else 's'}"


def count_changes(*, before: Verdicts, after: Verdicts) -> TaskChanges:
    """Compare the verdicts on the same tasks.

    Args:
        before: of the earlier version.
        after: of the later one, of the same length.
    """
    pairs = [
        (task, pair)
        for task, pair in enumerate(zip(before, after, strict=True))
        if pair[0] is not None and pair[1] is not None
    ]
    return TaskChanges(
        common=len(pairs),
        fixed=tuple(task for task, pair in pairs if pair == (Verdict.UNSOLVED, Verdict.SOLVED)),
        broken=tuple(task for task, pair in pairs if pair == (Verdict.SOLVED, Verdict.UNSOLVED)),
        undecided=tuple(task for task, pair in pairs if Verdict.UNDECIDED in pair),
    )


class Ends(NamedTuple):
    """The values of a version in its board's ranking column."""

    lower: Matrix
    """(tasks, samples), one sample for judged plans; NaN if a task does not count. Undecided tasks count 0."""
    upper: Matrix
    """The same with undecided tasks counted as the better value."""


def verdicts_of(values: Ends, *, column: Column, gold: Matrix | None) -> tuple[Verdicts, str]:
    """Whether each task is solved, and the rule as a sentence.

    Args:
        values: of the version.
        column: by which the board ranks.
        gold: (tasks,), the means of the bundled planner `gold` under the same conditions, or None.
    """
    means = np.stack([values.lower.mean(axis=1), values.upper.mean(axis=1)], axis=1)
    reached, rule = solves(values=means, column=column, gold=gold)
    verdicts = [
        None
        if math.isnan(mean)
        else Verdict.UNDECIDED
        if surely != possibly
        else Verdict.SOLVED
        if surely
        else Verdict.UNSOLVED
        for mean, (surely, possibly) in zip(means[:, 0].tolist(), reached.tolist(), strict=True)
    ]
    return verdicts, rule


class Change(NamedTuple):
    """One version against its predecessor under the same conditions."""

    tasks: TaskChanges
    difference: Interval | None
    """The mean of the paired differences over the common tasks, undecided ones counted as 0, with its 95 % interval;
    its ends hold for every way to settle them. None without a common task."""
    rule: str
    """When a task counts as solved, as a sentence."""
    higher_is_better: bool

    @property
    def is_better(self) -> bool | None:
        """Whether the interval excludes 0 on the better side (True) or on the worse one (False); None otherwise."""
        ends = self.difference.ends if self.difference else None
        if ends is None or ends[0] <= 0 <= ends[1]:
            return None
        return (ends[0] > 0) == self.higher_is_better


def change_between(
    *, before: Ends, after: Ends, column: Column, strata: Sequence[str], gold: Matrix | None = None
) -> Change:
    """Compare two versions on the same tasks.

    Args:
        before: values of the earlier version.
        after: values of the later one.
        column: by which the board ranks.
        strata: the metric of each task.
        gold: as in `verdicts_of`.
    """
    (one, rule), (two, _) = (verdicts_of(values, column=column, gold=gold) for values in (before, after))
    return Change(
        tasks=count_changes(before=one, after=two),
        difference=_difference(before=before, after=after, column=column, strata=strata),
        rule=rule,
        higher_is_better=column.higher_is_better,
    )


def _difference(*, before: Ends, after: Ends, column: Column, strata: Sequence[str]) -> Interval | None:
    """The interval that the comparison page shows for the two."""
    mean = _paired(after.lower, before.lower)
    common = ~np.isnan(mean).any(axis=1)
    if not common.any():
        return None
    if column.interval.over_scenes:
        names = np.asarray(strata, dtype=object)[common].tolist()
        return paired_test(mean[common], method=column.interval, strata=names).interval
    span = None if column.high is None else column.high - column.low
    bounds = (-math.inf, None) if span is None else (-span, span)
    table = np.concatenate([mean, _paired(after.lower, before.upper), _paired(after.upper, before.lower)], axis=1)[
        common
    ]
    middle, least, most = bootstrap_columns(table, bounds=[bounds] * 3)
    if middle is None or least is None or most is None:
        return None
    return replace(middle, low=least.low, high=most.high)


def _paired(after: Matrix, before: Matrix) -> Matrix:
    first, second = (np.round(table.astype(np.float64), DECIMALS) for table in (before, after))
    differences = second - first
    return np.asarray(np.where(np.abs(differences) <= _SAME, 0.0, differences), dtype=np.float64)
