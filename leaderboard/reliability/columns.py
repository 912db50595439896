"""The column group of reliability: what rows keep of the profiles of their planners. No database.

A row with a profile has `"reliability": {"consistency": {"mean", "low", "high"}, ...}`, of the dimensions that were
measured. A profile that is measured later is in the snapshots from then on.
"""

from collections.abc import Mapping
from typing import Any

from evaluator.scoring import board_table
from evaluator.scoring.metrics.statistics import ends_in_words

_TEXTS = (
    ("Success over runs", "Mean success rate of a task over several runs"),
    (
        "Consistency",
        "Whether runs of the same request end alike: 1 if all do, 0 if half succeed; none where no run succeeds",
    ),
    ("Robustness", "Score on perturbed requests over that on unchanged ones"),
    ("Predictability", "Whether confidence tells success: 1 minus the Brier score"),
)
DIMENSIONS: Mapping[str, tuple[str, str]] = dict(zip(board_table.RELIABILITY, _TEXTS, strict=True))
"""Heading and description by dimension, in the order of columns."""
_PREFIX = "reliability_"
RELIABILITY: Mapping[str, tuple[str, str]] = {f"{_PREFIX}{name}": texts for name, texts in DIMENSIONS.items()}
"""The same by the key of the column."""
CHOSEN = frozenset({f"{_PREFIX}success", f"{_PREFIX}predictability"})
"""Columns that are shown only where they are asked for."""


def dimensions_of(figures: Mapping[str, Any] | None) -> dict[str, dict[str, float | None]]:
    """What a row keeps of the dimensions of a profile; empty without one.

    Consistency is left out where success is 0: outcomes are alike then because all are failures.
    """
    known = {name: value for name, value in (figures or {}).items() if name in DIMENSIONS and value is not None}
    if (known.get("success") or {}).get("mean") == 0:
        known.pop("consistency", None)
    return {
        name: {end: None if value[end] is None else round(value[end], 6) for end in ("mean", "low", "high")}
        for name, value in known.items()
    }


def reliability_of(row: Mapping[str, Any], key: str) -> Mapping[str, Any] | None:
    """The value of a column of a row; None where the profile has none.

    Args:
        row: of a snapshot.
        key: one of `RELIABILITY`.
    """
    found: Mapping[str, Any] = row.get("reliability") or {}
    return found.get(key.removeprefix(_PREFIX))


def reliability_facts(row: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Key, value and interval of each column, as texts; without a value the latter says so."""
    return [(key, *_texts(reliability_of(row, key))) for key in RELIABILITY]


def _texts(value: Mapping[str, Any] | None) -> tuple[str, str]:
    if value is None:
        return "", "not measured"
    return f"{value['mean']:.3f}", ends_in_words(low=value["low"], high=value["high"], form=".3f")
