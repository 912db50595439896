"""Rows of bundled planners that others are read against: scores normalised by `no-op` and `gold`, and the baseline, the
score of `majority`, which uses no tool. No database."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from evaluator.scoring.metrics.crossed import AnchorsError, normalised
from evaluator.scoring.metrics.paired import DECIMALS
from leaderboard.boards.rank_tests import BoardScores
from leaderboard.boards.ranking import Entry, value_of
from leaderboard.catalog.models import Suite
from leaderboard.planners.models import is_bundled

GOLD, FLOOR, MAJORITY = "gold", "no-op", "majority"


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
    anchors = {}
    for name in (GOLD, FLOOR):
        runs = [
            entry
            for entry in entries
            if is_bundled(entry.kind) and entry.strategy == name and entry.evaluation in scores.tables
        ]
        latest = max(runs, key=lambda entry: (entry.finished, entry.evaluation), default=None)
        anchors[name] = latest.evaluation if latest else ""
    if missing := [name for name, evaluation in anchors.items() if not evaluation]:
        why = {"missing": f"No published run of {' and '.join(missing)} under these conditions."}
        return dict.fromkeys(scores.tables, why)
    gold, floor = (np.round(scores.tables[anchors[name]].astype(float), DECIMALS) for name in (GOLD, FLOOR))
    scaled: dict[str, Mapping[str, Any]] = {}
    for evaluation, table in scores.tables.items():
        try:
            made = normalised(
                scores=np.round(table.astype(float), DECIMALS), gold=gold, floor=floor, method=column.interval,
                strata=scores.strata,
            )  # fmt: skip
        except AnchorsError as error:
            scaled[evaluation] = {"missing": str(error)}
            continue
        scaled[evaluation] = {
            "mean": made.mean, "low": made.low, "high": made.high, "tasks": made.count,
            "gold": anchors[GOLD], "no_op": anchors[FLOOR],
        }  # fmt: skip
    return scaled


class Baseline(NamedTuple):
    """A row that others are read against."""

    evaluation: str
    planner: str
    value: float
    """Of the metric that the board ranks by."""


def baseline_of(*, rows: Sequence[Mapping[str, Any]], metric: str) -> Baseline | None:
    """The latest row of `majority` with a value; None where there is none."""
    values = [
        (row, value)
        for row in rows
        if is_bundled(row["kind"]) and row.get("strategy") == MAJORITY and (value := value_of(row, metric)) is not None
    ]
    if not values:
        return None
    latest, value = max(values, key=lambda pair: str(pair[0]["finished"]))
    return Baseline(str(latest["evaluation"]), str(latest["planner"]), value)
