"""Ranks of a snapshot's rows, computed again: the order from the figures, the ranges from the results of all tasks."""

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from evaluator.client.verify.documents import Row
from evaluator.client.verify.report import Report
from evaluator.core.signatures.statements import BoardSummary, SuiteFacts
from evaluator.core.suites.base import Column
from evaluator.scoring.board_agreement import RowFigures, agreements, exact_column, headroom, random_plans
from evaluator.scoring.board_summary import summarise
from evaluator.scoring.metrics.aggregate import TaskScore, score_tables
from evaluator.scoring.metrics.crossed import AnchorsError, normalised
from evaluator.scoring.metrics.paired import DECIMALS, Scores, pair_tests, rank_ranges
from evaluator.scoring.metrics.runs import RepeatedScores
from evaluator.scoring.metrics.statistics import Interval
from evaluator.scoring.uncertainty import repeated_of_row, uncertainty_of

Runs = Sequence[Sequence[TaskScore]]
"""The results of each run that a row shows: usually one."""


_SAME = 1e-9
"""Processors add numbers in different orders."""
MOST_SCORES = 500_000_000
"""Scores that are tested at once: 2 GB."""


def check_order(*, rows: Sequence[Row], suite: SuiteFacts, report: Report) -> None:
    """Check order and ranks as `leaderboard/boards/ranking.py` defines them."""
    sign = 1.0 if suite.higher_is_better else -1.0
    metrics = [row.metrics.get(suite.ranked_by) for row in rows]
    means = [None if metric is None else sign * metric.mean for metric in metrics]
    known = [mean for mean in means if mean is not None]
    ascending = sorted(mean for row, mean in zip(rows, means, strict=True) if mean is not None and not row.is_anchor)
    if known != sorted(known, reverse=True) or None in means[: len(known)]:
        report.mismatch(
            "rows", "the rows are not in the order of their ranks", expected=f"by {suite.ranked_by}", found="not"
        )
    for row, mean in zip(rows, means, strict=True):
        wanted = None
        if mean is not None and not row.is_anchor:
            wanted = len(ascending) - bisect_right(ascending, mean) + 1
        if row.rank != wanted:
            text = f"the rank of evaluation {row.evaluation} does not follow from the means"
            report.mismatch("rows", text, expected=wanted, found=row.rank)


def check_agreement(*, rows: Sequence[Row], suite: SuiteFacts, summary: BoardSummary, of: str, report: Report) -> None:
    """Check what the summary says of other metrics, random plans and shortcuts, which follows from the rows. Which end
    of a column is better is taken from the summary."""
    if summary.agreements is None:
        report.note("rows", f"{of}: signed before summaries compared the metrics of a board")
        return
    figures = [figures_of(row) for row in rows]
    ranked_by, better, keys = suite.ranked_by, suite.higher_is_better, {column.key for column in suite.columns}
    signed = {one.column: one.higher_is_better for one in summary.agreements if one.column in keys - {suite.ranked_by}}
    expected = agreements(figures, primary=ranked_by, higher_is_better=better, directions=signed)
    facts = [[(one.column, one.rows) for one in listed] for listed in (expected, summary.agreements)]
    correlations = [[one.correlation for one in listed] for listed in (expected, summary.agreements)]
    if facts[0] != facts[1] or not _alike(*correlations):
        text = f"{of}: the rank correlations of the metrics do not follow from the rows"
        found = [one.model_dump() for one in summary.agreements]
        report.mismatch("rows", text, expected=[one.model_dump() for one in expected], found=found)
    plans = random_plans(figures, primary=ranked_by, higher_is_better=better, exact=exact_column(suite.columns))
    if plans != summary.random_plans:
        text = f"{of}: what the summary says of random plans does not follow from the rows"
        report.mismatch("rows", text, expected=plans, found=summary.random_plans)
    room = headroom(figures, primary=ranked_by, higher_is_better=better)
    if room != summary.headroom:
        text = f"{of}: the headroom over shortcuts does not follow from the rows"
        report.mismatch("rows", text, expected=room, found=summary.headroom)


def figures_of(row: Row) -> RowFigures:
    """A row as `evaluator.scoring.board_agreement` reads it."""
    return RowFigures(
        evaluation=row.evaluation,
        finished=row.finished,
        rank=row.rank,
        strategy=row.strategy,
        means={key: metric.mean for key, metric in row.metrics.items() if metric is not None},
    )


def check_ranges(
    *, rows: Sequence[Row], results: Mapping[str, Runs], columns: Sequence[Column], suite: SuiteFacts, samples: int,
    summary: BoardSummary, report: Report,
) -> None:  # fmt: skip
    """Test every pair of ranked rows again, and check the rank ranges, the board's summary, the margins of rows and
    normalised scores.

    Args:
        rows: of a snapshot.
        results: of the evaluations that each row shows, by the row's evaluation.
        columns: of the suite.
        suite: which of them ranks.
        samples: of each executed task.
        summary: the signed one.
        report: the findings are added to it.
    """
    missing = [row.evaluation for row in rows if row.evaluation not in results]
    if missing:
        report.not_checked("rows", f"ranges of ranks: the results of {len(missing)} evaluations are missing")
        return
    column = next(column for column in columns if column.key == suite.ranked_by)
    measured = [row for row in rows if row.metrics.get(suite.ranked_by) is not None]
    before = len(report.findings)
    tasks = len({result.task for row in measured for run in results[row.evaluation] for result in run})
    if len(measured) * tasks * (samples if column.interval.over_scenes else 1) > MOST_SCORES:
        text = f"ranges of ranks: {len(measured)} rows of {tasks} tasks are too many to test again"
        report.not_checked("rows", text)
        return
    runs = [results[row.evaluation] for row in measured]
    tables, strata = score_tables(column=column, runs=runs, samples=samples)
    upper, _ = score_tables(column=column, runs=runs, samples=samples, upper=True) if column.undecided else (None, None)
    places = [place for place, row in enumerate(measured) if not row.is_anchor]
    ranked = [measured[place] for place in places]
    scores, top = tables[places], None if upper is None else upper[places]
    repeated = _repeated(rows=measured, runs=runs, column=column)
    of_ranked = None if repeated is None else [repeated[place] for place in places]
    tests = pair_tests(scores, method=column.interval, strata=strata, upper=top, repeated=of_ranked)
    ranges = rank_ranges(tests, higher_is_better=suite.higher_is_better)
    wanted = {row.evaluation: found and (found.low, found.high) for row, found in zip(ranked, ranges, strict=True)}
    for row in rows:
        expected = (*(wanted.get(row.evaluation) or (None, None)), tests.count)
        if (row.rank_low, row.rank_high, row.rank_tests) != expected:
            text = f"the range of ranks of evaluation {row.evaluation} does not follow from paired tests"
            report.mismatch("rows", text, expected=expected, found=(row.rank_low, row.rank_high, row.rank_tests))
    means = [metric.mean for row in ranked if (metric := row.metrics.get(suite.ranked_by)) is not None]
    expected_summary = summarise(
        scores, means=means, tests=tests, method=column.interval, strata=strata, upper=top, repeated=of_ranked,
        higher_is_better=suite.higher_is_better,
    )  # fmt: skip
    if not _alike(_figures(expected_summary), _figures(summary)):
        text = "the summary of the board does not follow from paired tests"
        found = summary.model_dump(mode="json")
        report.mismatch("rows", text, expected=expected_summary.model_dump(mode="json"), found=found)
    for place, row in enumerate(measured if repeated is not None else ()):
        margins = uncertainty_of(
            column=column, table=np.asarray(tables[place], dtype=np.float64), strata=strata,
            repeated=(repeated or [])[place], upper=None if upper is None else np.asarray(upper[place]),
        )  # fmt: skip
        _check_margins(row, expected=None if margins is None else margins.to_json(), report=report)
    _check_normalised(rows=measured, tables=tables, column=column, strata=strata, report=report)
    if len(report.findings) == before:
        pairs = f"{tests.count} pair{'' if tests.count == 1 else 's'}"
        report.ok("rows", f"ranges of ranks and the summary follow from paired tests of {pairs}, by Holm's method")


def _repeated(*, rows: Sequence[Row], runs: Sequence[Runs], column: Column) -> list[RepeatedScores] | None:
    """What is known about the runs of each row; None on boards from before planners were asked again."""
    if all(row.asked is None for row in rows):
        return None
    return [
        repeated_of_row(
            column=column, runs=own, is_deterministic=row.asked is not None and row.asked.is_deterministic
        )
        for row, own in zip(rows, runs, strict=True)
    ]  # fmt: skip


def _check_margins(row: Row, *, expected: Mapping[str, Any] | None, report: Report) -> None:
    if not _alike(_flat(expected), _flat(row.uncertainty)):
        text = f"the margins of evaluation {row.evaluation} do not follow from its results"
        report.mismatch("rows", text, expected=expected, found=row.uncertainty)


def _flat(margins: Mapping[str, Any] | None) -> list[float | None]:
    """The figures of margins in the order of their names."""
    figures: list[float | None] = []
    for _, value in sorted((margins or {}).items()):
        if isinstance(value, Mapping):
            figures += _flat(value)
        else:
            figures.append(value if isinstance(value, int | float) else None)
    return figures


def _figures(summary: BoardSummary) -> list[float | None]:
    """All figures of a summary, in an order that depends on its structure alone."""
    gaps = [
        figure
        for gap in (summary.lead, summary.clear_lead)
        for figure in ((gap.first, gap.second, gap.mean, gap.low, gap.high, gap.p_value) if gap else [None] * 6)
    ]
    ends = [end for group in summary.groups for end in group]
    needed = [None, None] if summary.needed is None else [summary.needed.unit == "tasks", summary.needed.count]
    return [summary.leaders, *gaps, summary.resolution, *needed, len(ends), *ends]


def _check_normalised(
    *, rows: Sequence[Row], tables: Scores, column: Column, strata: Sequence[str], report: Report
) -> None:
    """Check normalised scores against the anchors that each row names, which are rows of the same snapshot."""
    wide = dict(zip([row.evaluation for row in rows], np.round(tables.astype(np.float64), DECIMALS), strict=True))
    for row in rows:
        shown = row.normalised
        if shown is None or shown.mean is None:
            continue
        found: Interval | None = None
        if shown.gold in wide and shown.no_op in wide:
            with suppress(AnchorsError):
                found = normalised(
                    scores=wide[row.evaluation], gold=wide[shown.gold], floor=wide[shown.no_op], method=column.interval,
                    strata=strata,
                )  # fmt: skip
        expected = found and (found.mean, found.low, found.high)
        if not _alike(expected or (None, None, None), (shown.mean, shown.low, shown.high)):
            text = f"the normalised score of evaluation {row.evaluation} does not follow from the anchors that it names"
            report.mismatch("rows", text, expected=expected, found=(shown.mean, shown.low, shown.high))


def _alike(one: Sequence[float | None], other: Sequence[float | None]) -> bool:
    return len(one) == len(other) and all(
        a is b if a is None or b is None else math.isclose(a, b, rel_tol=_SAME, abs_tol=_SAME)
        for a, b in zip(one, other, strict=False)
    )
