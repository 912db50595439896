"""Dot plots of means by kind of task, with 95 % intervals on one scale from 0 to 1. No database.

A plot is a table whose rows have a drawing each, so that it reflows, links, and reads aloud.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evaluator.core.suites.base import Column
from leaderboard.evaluations.results.breakdowns import Breakdown, ScoreRow, ShareRow

TICKS = tuple((f"{25 * number}%", f"{number / 4:g}") for number in range(5))
"""Places and labels of the axis."""


class DotRow(NamedTuple):
    """One kind of task."""

    value: str
    """Of the plot's facet."""
    words: str
    tasks: int
    faults: int
    """Planner faults among the tasks, which count with the worst value."""
    mean: Mapping[str, Any]
    """The value for template tags."""
    at: str
    """Place of the mean, in per cent of the scale."""
    band: tuple[str, str] | None
    """Places of the interval's ends; None for too few tasks or scenes."""
    upper: str
    """Place of the mean if all undecided tasks are decided as right; empty if none is undecided."""


class DotPlot(NamedTuple):
    """The means of one metric by one property of the tasks."""

    facet: str
    label: str
    """The property."""
    metric: str
    lower_is_better: bool
    rows: tuple[DotRow, ...]
    reference: str
    """Place of the mean over all tasks; empty if it is not known."""

    @property
    def has_faults(self) -> bool:
        return any(row.faults for row in self.rows)

    @property
    def has_few(self) -> bool:
        """Whether some row has too few tasks or scenes for an interval."""
        return any(row.band is None for row in self.rows)

    @property
    def has_undecided(self) -> bool:
        return any(row.upper for row in self.rows)

    @property
    def ticks(self) -> tuple[tuple[str, str], ...]:
        """Places and labels of the axis."""
        return TICKS


class DotPlots(NamedTuple):
    """The section "By kind of task"."""

    first: tuple[DotPlot, ...]
    """The metric that the board ranks by, for each property."""
    further: tuple[DotPlot, ...]
    """All other metrics."""


def dot_plots(
    *,
    scores: Sequence[Breakdown[ScoreRow]],
    shares: Sequence[Breakdown[ShareRow]],
    column: Column,
    metrics: Mapping[str, Any],
) -> DotPlots:
    """The plots of an evaluation.

    Args:
        scores: mean scores by property.
        shares: means of indicators by property.
        column: the column that the board ranks by.
        metrics: values over all tasks, by column; may be empty.
    """
    first = [_of_scores(part, column=column, metrics=metrics) for part in scores]
    further: list[DotPlot] = []
    for part in shares:
        plots = {share.name: _of_share(part, number, metrics) for number, share in enumerate(part.rows[0].shares)}
        primary = column.key if column.key in plots else next(iter(plots))
        first.append(plots.pop(primary))
        further += plots.values()
    return DotPlots(tuple(first), tuple(further))


def _of_scores(part: Breakdown[ScoreRow], *, column: Column, metrics: Mapping[str, Any]) -> DotPlot:
    # Groups are of scores, which a board that ranks by an indicator has no mean of.
    reference = "" if column.indicator else _reference(metrics, column.key)
    rows = tuple(_row(row.value, row.words, row.bar, faults=row.faults) for row in part.rows)
    return DotPlot(part.facet, part.label, "Score" if column.indicator else column.label, False, rows, reference)


def _of_share(part: Breakdown[ShareRow], number: int, metrics: Mapping[str, Any]) -> DotPlot:
    share = part.rows[0].shares[number]
    rows = tuple(_row(row.value, row.words, row.shares[number].bar) for row in part.rows)
    reference = _reference(metrics, share.name)
    return DotPlot(part.facet, part.label, share.label, share.lower_is_better, rows, reference)


def _row(value: str, words: str, mean: Mapping[str, Any], *, faults: int = 0) -> DotRow:
    low, high = mean["low"], mean["high"]
    return DotRow(
        value=value,
        words=words,
        tasks=mean["tasks"],
        faults=faults,
        mean=mean,
        at=_place(mean["mean"]),
        band=None if low is None or high is None else (_place(low), _place(high)),
        upper=_place(mean["upper"]) if "upper" in mean else "",
    )


def _reference(metrics: Mapping[str, Any], key: str) -> str:
    mean = (metrics.get(key) or {}).get("mean")
    return "" if mean is None else _place(mean)


def _place(value: float) -> str:
    return f"{100 * min(max(value, 0.0), 1.0):.1f}%"
