"""Reference rows of bundled planners: `no-op` and `gold` normalise the scores of a board, and `majority`, which uses no
tool, is its baseline. These and further anchors are reference lines of boards. No database access."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from evaluator.scoring.board_table import ANCHORS
from evaluator.scoring.metrics.crossed import AnchorsError, normalised
from evaluator.scoring.metrics.paired import DECIMALS
from leaderboard.boards.rank_tests import BoardScores
from leaderboard.boards.ranking import Entry, is_anchor_row, value_of
from leaderboard.catalog.models import Suite
from leaderboard.planners.models import is_bundled

GOLD, FLOOR, MAJORITY = "gold", "no-op", "majority"


def normalised_scores(*, entries: Sequence[Entry], scores: BoardScores, suite: Suite) -> dict[str, Mapping[str, Any]]:
    """The `normalised` field of rows, by evaluation; empty for suites whose plans are not executed.

    Args:
        entries: the rows of a board.
        scores: of the entries with a value for the board's primary metric.
        suite: of the board.
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
        reason = {"missing": f"No published run of {' and '.join(missing)} under these conditions."}
        return dict.fromkeys(scores.tables, reason)
    gold, floor = (np.round(scores.tables[anchors[name]].astype(float), DECIMALS) for name in (GOLD, FLOOR))
    scaled: dict[str, Mapping[str, Any]] = {}
    for evaluation, table in scores.tables.items():
        try:
            value = normalised(
                scores=np.round(table.astype(float), DECIMALS), gold=gold, floor=floor, method=column.interval,
                strata=scores.strata,
            )  # fmt: skip
        except AnchorsError as error:
            scaled[evaluation] = {"missing": str(error)}
            continue
        scaled[evaluation] = {
            "mean": value.mean, "low": value.low, "high": value.high, "tasks": value.count,
            "gold": anchors[GOLD], "no_op": anchors[FLOOR],
        }  # fmt: skip
    return scaled


class Baseline(NamedTuple):
    """The reference row of a board."""

    evaluation: str
    planner: str
    value: float
    """Mean of the board's primary metric."""


def baseline_of(*, rows: Sequence[Mapping[str, Any]], metric: str) -> Baseline | None:
    """The latest row of `majority` with a value, or None."""
    values = [
        (row, value)
        for row in rows
        if is_bundled(row["kind"]) and row.get("strategy") == MAJORITY and (value := value_of(row, metric)) is not None
    ]
    if not values:
        return None
    latest, value = max(values, key=lambda pair: str(pair[0]["finished"]))
    return Baseline(str(latest["evaluation"]), str(latest["planner"]), value)


class Anchor(NamedTuple):
    """A reference line of a board."""

    name: str
    """Of the strategy, without the seed of a further run."""
    value: float
    """Mean of the board's primary metric."""


def anchors_of(*, rows: Sequence[Mapping[str, Any]], metric: str) -> list[Anchor]:
    """The latest row of each anchor with a value, in the order of `ANCHORS`."""
    latest: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        if not is_anchor_row(row) or value_of(row, metric) is None:
            continue
        name = row["strategy"].partition("/")[0]
        if name not in latest or str(row["finished"]) > str(latest[name]["finished"]):
            latest[name] = row
    return [Anchor(name, value_of(latest[name], metric)) for name in ANCHORS if name in latest]
