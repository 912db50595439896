"""Scores and intervals as texts. A value is `{"mean", "low", "high", "tasks"}`, perhaps with what
`evaluator.scoring.metrics.undecided.ranged` adds."""

from collections.abc import Mapping
from typing import Any

from evaluator.scoring.metrics.statistics import Interval, ends_of
from evaluator.scoring.metrics.undecided import range_text


def score(value: float | None) -> str:
    """A score with three decimals."""
    return "—" if value is None else f"{value:.3f}"


def value_of(found: Interval) -> dict[str, float | None]:
    """An interval as a value."""
    return {"mean": found.mean, "low": found.low, "high": found.high, "tasks": found.count}


def figure(value: Mapping[str, Any] | None) -> str:
    """A mean, or its range where tasks are undecided."""
    return "—" if value is None else range_text(value)


def interval_ends(value: Mapping[str, Any]) -> tuple[float, float] | None:
    """The ends of a value's 95 % interval; None over too few independent values."""
    return ends_of(low=value.get("low"), high=value.get("high"))


def interval_words(value: Mapping[str, Any] | None) -> str:
    """The 95 % interval in words; empty if there is none."""
    ends = interval_ends(value or {})
    return "" if ends is None else f"95 % interval {score(ends[0])} to {score(ends[1])}"
