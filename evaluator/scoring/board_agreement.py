"""Whether the other metrics of a board agree with the metric it ranks by, what random plans score there, and how much
headroom shortcuts leave. Pure.

All follow from the figures of the rows alone. They are part of the summary that the site signs (`board_summary.py`).
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import numpy as np

from evaluator.core.signatures.statements import Agreement, BoardSummary, ColumnFacts, Headroom, RandomPlans
from evaluator.core.suites.base import EXACT, Column, shown_columns
from evaluator.scoring.board_table import GOLD, RANDOM, SHORTCUTS, WITHOUT_UNDERSTANDING

LEAST_ROWS = 5
"""Ranked rows below which a rank correlation is not computed: of four rows, one exchange moves it by up to 0.6."""
CONTRADICTS = 0.5
"""Rank correlation below which a metric contradicts the primary one."""


class RowFigures(NamedTuple):
    """The figures of a row, in the order of the board."""

    evaluation: str
    finished: datetime
    rank: int | None
    strategy: str
    """Of a bundled planner; empty for others."""
    means: Mapping[str, float]
    """By column."""


def with_agreement(summary: BoardSummary, *, rows: Sequence[RowFigures], columns: Sequence[Column]) -> BoardSummary:
    """The summary of a board with all that follows from the figures of its rows.

    Args:
        summary: from the paired tests.
        rows: of the board.
        columns: of the suite.
    """
    column = next(column for column in columns if column.primary)
    key, better = column.key, column.higher_is_better
    plans = random_plans(rows, primary=key, higher_is_better=better, exact=exact_column(columns))
    compared = agreements(rows, primary=key, higher_is_better=better, directions=directions_of(columns))
    room = headroom(rows, primary=key, higher_is_better=better)
    return summary.model_copy(update={"agreements": compared, "random_plans": plans, "headroom": room})


def directions_of(columns: Sequence[Column]) -> dict[str, bool]:
    """By key, whether higher is better in the columns that are compared with the primary one: the columns of a board of
    which one end is better than the other, in their order."""
    return {
        column.key: column.higher_is_better
        for column in shown_columns(columns)
        if column.ordered and not column.primary
    }


def agreements(
    rows: Sequence[RowFigures], *, primary: str, higher_is_better: bool, directions: Mapping[str, bool]
) -> tuple[Agreement, ...]:
    """The rank correlation of each other metric with the primary one over the ranked rows. Metrics that too few rows
    have, or in which all rows are equal, are left out.

    Args:
        rows: of a board.
        primary: key of the column that the board ranks by.
        higher_is_better: its direction.
        directions: of the other columns, by key.
    """
    ranked = [row.means for row in rows if row.rank is not None]
    found = []
    for key, direction in directions.items():
        pairs = [(means[primary], means[key]) for means in ranked if means.keys() >= {primary, key}]
        if len(pairs) < LEAST_ROWS:
            continue
        first, second = zip(*pairs, strict=True)
        if (correlation := rank_correlation(first, second)) is not None:
            found.append(
                Agreement(
                    column=key,
                    higher_is_better=direction,
                    rows=len(pairs),
                    # PostgreSQL stores no negative zero.
                    correlation=(correlation if direction == higher_is_better else -correlation) + 0.0,
                )
            )
    return tuple(found)


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's rank correlation, in [-1, 1]; equal values share the mean of their ranks. None if all values of a
    sequence are equal."""
    deviations = [_mean_ranks(values) - (len(values) + 1) / 2 for values in (first, second)]
    scale = float(np.sqrt(np.prod([np.square(part).sum() for part in deviations])))
    return float(np.clip(deviations[0] @ deviations[1] / scale, -1.0, 1.0)) if scale else None


def _mean_ranks(values: Sequence[float]) -> np.ndarray:
    _, places, counts = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[places], dtype=np.float64)


def exact_column(columns: Iterable[Column | ColumnFacts]) -> str:
    """Key of the column with the share of exact plans; empty if there is none."""
    return next((column.key for column in columns if column.indicator and column.key == EXACT), "")


def random_plans(rows: Sequence[RowFigures], *, primary: str, higher_is_better: bool, exact: str) -> RandomPlans | None:
    """What random valid plans score on a board, and the ranked rows that they are ahead of although more of the rows'
    plans are exact; None without a column of exact plans, or without a row of the anchor.

    Args:
        rows: of a board. Of several rows of the anchor, the newest counts.
        primary: key of the column that the board ranks by.
        higher_is_better: its direction.
        exact: key of the column with the share of exact plans; empty if there is none.
    """
    anchors = [row for row in rows if row.strategy == RANDOM and row.rank is None and primary in row.means]
    if not exact or not anchors:
        return None
    anchor = max(anchors, key=lambda row: (row.finished, row.evaluation))
    mean, share = anchor.means[primary], anchor.means.get(exact)
    ranked = [row.means for row in rows if row.rank is not None]
    above = [
        position
        for position, means in enumerate(ranked)
        if share is not None
        and means.get(exact, share) > share
        and (means[primary] < mean if higher_is_better else means[primary] > mean)
    ]
    return RandomPlans(
        evaluation=anchor.evaluation, mean=mean, exact=share, above=len(above), highest=above[0] if above else None
    )


def headroom(rows: Sequence[RowFigures], *, primary: str, higher_is_better: bool) -> Headroom | None:
    """The gold plans of a board, and the best of the planners that understand nothing; None without gold plans, or
    where no shortcut was evaluated, since floors alone say nothing of shortcuts.

    Args:
        rows: of a board. Of several rows of an anchor, the newest counts.
        primary: key of the column that the board ranks by.
        higher_is_better: its direction.
    """
    newest: dict[str, RowFigures] = {}
    for row in rows:
        name = row.strategy.partition("/")[0]
        if row.rank is None and primary in row.means and name in WITHOUT_UNDERSTANDING | {GOLD}:
            newest[name] = max(newest.get(name, row), row, key=lambda one: (one.finished, one.evaluation))
    gold = newest.pop(GOLD, None)
    if gold is None or newest.keys().isdisjoint(SHORTCUTS):
        return None
    sign = 1 if higher_is_better else -1
    name = max(sorted(newest), key=lambda name: sign * newest[name].means[primary])
    best = newest[name]
    return Headroom(shortcut=name, evaluation=best.evaluation, mean=best.means[primary], gold=gold.means[primary])
