"""What a metric means, in words, from the column that its suite declares. No database access."""

from typing import NamedTuple

from evaluator.core.suites.base import Column, IntervalMethod


class MetricWords(NamedTuple):
    """The definition of a metric."""

    label: str
    description: str
    direction: str
    """Which values are better, as a sentence."""
    scale: str
    """Unit and range, as a sentence."""
    source: str
    """The tasks whose values count, and how they are combined, as sentences."""
    fault: str
    """What a fault of the planner counts, as a sentence; empty for sizes."""
    is_primary: bool

    @property
    def tooltip(self) -> str:
        """All of it in one paragraph."""
        parts = (self.description, self.direction, self.scale, self.source, self.fault)
        return " ".join(part for part in parts if part)


def words_of_metric(column: Column) -> MetricWords:
    """A column's definition in words."""
    direction = "Neither high nor low values are better."
    if column.ordered:
        direction = "Higher is better." if column.higher_is_better else "Lower is better."
    return MetricWords(
        label=column.label,
        description=column.description,
        direction=direction,
        scale=_scale(column),
        source=_source(column),
        fault=_fault(column),
        is_primary=column.primary,
    )


def _scale(column: Column) -> str:
    if column.high is None:
        return f"A number of {column.low:g} or more."
    if column.interval is IntervalMethod.WILSON:
        return "A share from 0 (no task) to 1 (all tasks)."
    return f"A score from {column.low:g} to {column.high:g}."


def _source(column: Column) -> str:
    if column.weights:
        parts = ", ".join(f"{weight:.2g} {name}" for name, weight in column.weights.items())
        return f"Weighted mean of metrics: {parts}."
    of_metric = f" of the metric {column.metric}" if column.metric else ""
    if column.tasks:
        return f"Over {len(column.tasks)} task{'' if len(column.tasks) == 1 else 's'}{of_metric} only."
    return f"Over the tasks{of_metric} only." if column.metric else "Over all tasks of the board."


def _fault(column: Column) -> str:
    if column.weights or not column.ordered:
        return ""
    if column.fault is None:
        return "Faults of the planner do not count."
    return f"A fault of the planner counts {column.fault:g}."
