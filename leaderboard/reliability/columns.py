"""The column group of reliability on boards, without a database.

A row with a profile has `"reliability": {"consistency": {"mean", "low", "high", "floor"}, ...}` for the measured
dimensions, with the floor of those that have one (`evaluator.reliability.profile.Profile.floors`). A profile appears in
snapshots published after its measurement.
"""

from collections.abc import Mapping
from typing import Any

from evaluator.scoring import board_table
from evaluator.scoring.metrics.statistics import ends_in_words

_TEXTS = (
    ("Success over runs", "Mean success rate of a task over several runs"),
    (
        "Consistency",
        "Whether runs of the same request end alike: 1 if all do, 0 if half succeed; none if no run succeeds",
    ),
    ("Robustness", "Score on perturbed requests over that on unchanged ones"),
    ("Predictability", "Whether confidence predicts success: 1 minus the Brier score"),
)
DIMENSIONS: Mapping[str, tuple[str, str]] = dict(zip(board_table.RELIABILITY, _TEXTS, strict=True))
"""Heading and description of each dimension, in the order of columns."""
FLOORS: Mapping[str, str] = {"consistency": "difference between tasks", "predictability": "knowledge of tasks"}
"""What a planner at the floor of a dimension lacks."""
_PREFIX = "reliability_"
RELIABILITY: Mapping[str, tuple[str, str]] = {f"{_PREFIX}{name}": texts for name, texts in DIMENSIONS.items()}
"""The same by the key of the column."""
CHOSEN = frozenset({f"{_PREFIX}success", f"{_PREFIX}predictability"})
"""Columns that are shown only on request."""


_ENDS = ("mean", "low", "high", "floor")


def dimensions_of(figures: Mapping[str, Any] | None) -> dict[str, dict[str, float | None]]:
    """The dimensions of a profile in a row; empty without a profile.

    Consistency is left out if success is 0, because outcomes are then alike only as failures.
    """
    known = {name: value for name, value in (figures or {}).items() if name in DIMENSIONS and value is not None}
    if (known.get("success") or {}).get("mean") == 0:
        known.pop("consistency", None)
    return {
        name: {end: None if value[end] is None else round(value[end], 6) for end in _ENDS if end in value}
        for name, value in known.items()
    }


def reliability_of(row: Mapping[str, Any], key: str) -> Mapping[str, Any] | None:
    """The value of a column in a row; None if it was not measured.

    Args:
        row: of a snapshot.
        key: one of `RELIABILITY`.
    """
    dimensions: Mapping[str, Any] = row.get("reliability") or {}
    return dimensions.get(key.removeprefix(_PREFIX))


def reliability_facts(row: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Key, value and interval of each column as texts; "not measured" without a value."""
    facts = []
    for key in RELIABILITY:
        value = reliability_of(row, key)
        mean, interval = "", "not measured"
        if value is not None:
            mean = f"{value['mean']:.3f}"
            interval = ends_in_words(low=value["low"], high=value["high"], form=".3f")
            if value.get("floor") is not None:
                interval = f"{interval}; {value['floor']:.3f} without any {FLOORS[key.removeprefix(_PREFIX)]}"
        facts.append((key, mean, interval))
    return facts
