"""Who is best on a board, whether the lead is real, and which differences the board can detect. Pure.

The site publishes a summary with each snapshot, `planarena verify` computes it again, and pages and the demo show it as
sentences (`board_sentences.py`). Anchors and figures from papers take no part.
"""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

import numpy as np
from numpy.typing import NDArray

from evaluator.core.signatures.statements import BoardSummary, Gap
from evaluator.core.suites.base import IntervalMethod
from evaluator.scoring.metrics.crossed import EQUAL_MEANS, Estimate, Matrix, least_p_value
from evaluator.scoring.metrics.paired import DECIMALS, LEVEL, PairTests, Scores, adjusted_p_values, paired_test
from evaluator.scoring.metrics.student import critical_value

Flags = NDArray[np.bool_]
POWER = 0.8
"""Chance with which the board detects a difference as large as its resolution."""
_MOST_PAIRS = 40
"""Neighbouring rows whose differences the resolution is estimated from."""


def is_real(gap: Gap) -> bool:
    """Whether the first row is significantly better, as the rank ranges of the board say."""
    return gap.p_value is not None and gap.p_value < LEVEL and gap.mean > 0


def summarise(
    scores: Scores,
    *,
    means: Sequence[float],
    tests: PairTests,
    method: IntervalMethod,
    strata: Sequence[str],
    upper: Scores | None = None,
    higher_is_better: bool = True,
) -> BoardSummary:
    """Summarise the ranked rows of a board.

    Args:
        scores: (rows, tasks, samples) in the order of the ranks; NaN where a task does not count in a row.
        means: of the rows in the primary metric, as published.
        tests: of all pairs of these rows, in the same order.
        method: of the primary metric.
        strata: the metric of each task.
        upper: the scores with undecided tasks counted as the better value; None if every task is decided.
        higher_is_better: the direction of the metric.
    """
    rows = len(means)
    if not rows:
        return BoardSummary(leaders=0)
    sign = 1.0 if higher_is_better else -1.0
    leaders = sum(1 for mean in means if abs(mean - means[0]) <= EQUAL_MEANS)
    p_values = adjusted_p_values(tests.p_values)
    better = (p_values < LEVEL) & (sign * tests.differences > 0)

    def gap(first: int, second: int) -> Gap:
        least, most = _estimates(scores, upper, first=first, second=second, sign=sign, method=method, strata=strata)
        p_value = float(p_values[first, second])
        return Gap(
            first=first,
            second=second,
            # PostgreSQL stores no negative zero.
            mean=sign * float(tests.differences[first, second]) + 0.0,
            low=None if least is None or least.interval.low is None else least.interval.low + 0.0,
            high=None if most is None or most.interval.high is None else most.interval.high + 0.0,
            p_value=None if np.isnan(p_value) else p_value,
        )

    beaten = np.flatnonzero(better[0])
    return BoardSummary(
        leaders=leaders,
        lead=gap(0, leaders) if leaders < rows else None,
        clear_lead=gap(0, int(beaten[0])) if len(beaten) else None,
        groups=_groups(better | better.T, tested=~np.isnan(p_values)),
        resolution=_resolution(scores, tests=tests, method=method, strata=strata),
    )


def _estimates(
    scores: Scores,
    upper: Scores | None,
    *,
    first: int,
    second: int,
    sign: float,
    method: IntervalMethod,
    strata: Sequence[str],
) -> tuple[Estimate | None, Estimate | None]:
    """The first row less the second with undecided tasks decided against the first, and in its favour."""
    top = scores if upper is None else upper
    ends = [(scores[first], top[second]), (top[first], scores[second])]
    if sign < 0:
        ends.reverse()
    least, most = (_difference(one, other, sign=sign, method=method, strata=strata) for one, other in ends)
    return least, most


def _difference(
    first: Scores, second: Scores, *, sign: float = 1.0, method: IntervalMethod, strata: Sequence[str]
) -> Estimate | None:
    """The paired test of two rows on the tasks that both have; None if there are none."""
    differences = sign * (_rounded(first) - _rounded(second))
    common: Flags = np.asarray(~np.isnan(differences).any(axis=1))
    if not common.any():
        return None
    names = [name for name, known in zip(strata, common, strict=True) if known]
    return paired_test(differences[common], method=method, strata=names)


def _rounded(scores: Scores) -> Matrix:
    return np.asarray(np.round(scores.astype(np.float64), DECIMALS), dtype=np.float64)


def _groups(different: Flags, *, tested: Flags) -> tuple[tuple[int, int], ...]:
    """Rows from the top are one group as long as no two of them differ; rows without a test end a group."""
    groups: list[tuple[int, int]] = []
    start = 0
    for row in range(1, len(different) + 1):
        ends = row == len(different) or different[start:row, row].any() or not tested[start:row, row].all()
        if ends:
            if row - start > 1:
                groups.append((start, row - 1))
            start = row
    return tuple(groups)


def _resolution(scores: Scores, *, tests: PairTests, method: IntervalMethod, strata: Sequence[str]) -> float | None:
    """The median over neighbouring rows that differ, at the first level of Holm's method; None if no difference reaches
    that level, because the p-value of so few units has a lower bound."""
    if not tests.count:
        return None
    found = []
    for first, second in list(pairwise(range(len(scores))))[:_MOST_PAIRS]:
        estimate = _difference(scores[first], scores[second], method=method, strata=strata)
        if estimate is None or not estimate.enough or estimate.error <= EQUAL_MEANS:
            continue
        if least_p_value(estimate.units) * tests.count < LEVEL:
            level = critical_value(estimate.df, chance=LEVEL / tests.count)
            found.append((level + critical_value(estimate.df, chance=2 * (1 - POWER))) * estimate.error)
    return median(found) if found else None
