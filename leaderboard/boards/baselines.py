"""The baseline of a board: what answering without any tool is worth, drawn in beside the scores. No database."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from leaderboard.boards.ranking import value_of
from leaderboard.planners.models import is_bundled

MAJORITY = "majority"
"""The bundled planner that is one."""


class Baseline(NamedTuple):
    """A row that others are read against."""

    evaluation: str
    planner: str
    value: float
    """Of the metric that the board ranks by."""


def baseline_of(*, rows: Sequence[Mapping[str, Any]], metric: str) -> Baseline | None:
    """The latest row of `majority` with a value; None where there is none."""
    found = [
        row
        for row in rows
        if is_bundled(row["kind"]) and row.get("strategy") == MAJORITY and value_of(row, metric) is not None
    ]
    if not found:
        return None
    latest = max(found, key=lambda row: str(row["finished"]))
    value = value_of(latest, metric)
    assert value is not None
    return Baseline(str(latest["evaluation"]), str(latest["planner"]), value)
