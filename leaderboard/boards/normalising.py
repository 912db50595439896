"""Normalised scores of a board's rows, against the rows of the bundled planners `gold` and `no-op`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evaluator.scoring.metrics.crossed import AnchorsError, normalised
from evaluator.scoring.metrics.paired import DECIMALS
from leaderboard.boards.rank_tests import BoardScores
from leaderboard.boards.ranking import Entry
from leaderboard.catalog.models import Suite
from leaderboard.planners.models import is_bundled

GOLD, FLOOR = "gold", "no-op"


def normalised_scores(*, entries: Sequence[Entry], scores: BoardScores, suite: Suite) -> dict[str, Mapping[str, Any]]:
    """What rows say as `normalised`, by evaluation; nothing for suites whose plans are not executed.

    Args:
        entries: the rows of a board.
        scores: of those with a value for the metric that the board ranks by.
        suite: of all of them.
    """
    column = suite.ranking_column
    if not column.interval.over_scenes:
        return {}
    anchors = {name: _anchor(entries=entries, scores=scores, name=name) for name in (GOLD, FLOOR)}
    if missing := [name for name, found in anchors.items() if not found]:
        told = {"missing": f"No published run of {' and '.join(missing)} under these conditions."}
        return dict.fromkeys(scores.tables, told)
    gold, floor = (np.round(scores.tables[anchors[name]].astype(float), DECIMALS) for name in (GOLD, FLOOR))
    found: dict[str, Mapping[str, Any]] = {}
    for evaluation, table in scores.tables.items():
        try:
            made = normalised(
                scores=np.round(table.astype(float), DECIMALS), gold=gold, floor=floor, method=column.interval,
                strata=scores.strata,
            )  # fmt: skip
        except AnchorsError as error:
            found[evaluation] = {"missing": str(error)}
            continue
        found[evaluation] = {
            "mean": made.mean, "low": made.low, "high": made.high, "tasks": made.count,
            "gold": anchors[GOLD], "no_op": anchors[FLOOR],
        }  # fmt: skip
    return found


def _anchor(*, entries: Sequence[Entry], scores: BoardScores, name: str) -> str:
    """The latest evaluation of a bundled planner among the rows; empty if there is none."""
    runs = [
        entry
        for entry in entries
        if is_bundled(entry.kind) and entry.strategy == name and entry.evaluation in scores.tables
    ]
    return max(runs, key=lambda entry: (entry.finished, entry.evaluation)).evaluation if runs else ""
