"""Who is best on a board, whether the lead is real, and which differences the board can detect. Pure.

The site publishes a summary with each snapshot, `planarena verify` computes it again, and pages and the demo show it as
sentences (`board_sentences.py`). Anchors and figures from papers take no part.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluator.core.signatures.statements import BoardSummary, Gap, Needed
from evaluator.core.suites.base import IntervalMethod
from evaluator.scoring.metrics.crossed import EQUAL_MEANS, Estimate, Matrix, sign_p_value
from evaluator.scoring.metrics.paired import DECIMALS, LEVEL, PairTests, Scores, adjusted_p_values, paired_test
from evaluator.scoring.metrics.runs import RepeatedScores

Pair = tuple[RepeatedScores, RepeatedScores] | None
"""What is known about the runs of two rows."""
Flags = NDArray[np.bool_]
POWER = 0.8
"""Chance with which the board detects a difference as large as its resolution."""
POINTS = 0.02
"""The difference for which the board says what it would need."""
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
    repeated: Sequence[RepeatedScores] | None = None,
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
        repeated: what is known about the runs of each row, as for the tests.
        higher_is_better: the direction of the metric.
    """
    rows = len(means)
    if not rows:
        return BoardSummary(leaders=0)
    sign = 1.0 if higher_is_better else -1.0
    leaders = sum(1 for mean in means if abs(mean - means[0]) <= EQUAL_MEANS)
    p_values = adjusted_p_values(tests.p_values)
    better = (p_values < LEVEL) & (sign * tests.differences > 0)

    def runs_of(first: int, second: int) -> Pair:
        return None if repeated is None else (repeated[first], repeated[second])

    def gap(first: int, second: int) -> Gap:
        difference = partial(_difference, sign=sign, method=method, strata=strata, repeated=runs_of(first, second))
        least, most = _estimates(scores, upper, first=first, second=second, sign=sign, difference=difference)
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
    found = _detectable(scores, tests=tests, method=method, strata=strata, runs_of=runs_of)
    return BoardSummary(
        leaders=leaders,
        lead=gap(0, leaders) if leaders < rows else None,
        clear_lead=gap(0, int(beaten[0])) if len(beaten) else None,
        groups=_groups(better | better.T, tested=~np.isnan(p_values)),
        resolution=median(one.resolution for one in found) if found else None,
        needed=_needed(found, method=method),
    )


def _estimates(
    scores: Scores,
    upper: Scores | None,
    *,
    first: int,
    second: int,
    sign: float,
    difference: Callable[[Scores, Scores], Estimate | None],
) -> tuple[Estimate | None, Estimate | None]:
    """The first row less the second with undecided tasks decided against the first, and in its favour."""
    top = scores if upper is None else upper
    ends = [(scores[first], top[second]), (top[first], scores[second])]
    if sign < 0:
        ends.reverse()
    least, most = (difference(one, other) for one, other in ends)
    return least, most


def _difference(
    first: Scores,
    second: Scores,
    *,
    sign: float = 1.0,
    method: IntervalMethod,
    strata: Sequence[str],
    repeated: Pair = None,
) -> Estimate | None:
    """The paired test of two rows on the tasks that both have; None if there are none."""
    differences = sign * (_rounded(first) - _rounded(second))
    common: Flags = np.asarray(~np.isnan(differences).any(axis=1))
    if not common.any():
        return None
    names = [name for name, known in zip(strata, common, strict=True) if known]
    return paired_test(differences[common], method=method, strata=names, repeated=repeated)


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


class _Detectable(NamedTuple):
    """What the test of two rows detects with a chance of `POWER`, at the first level of Holm's method."""

    resolution: float
    tasks: float
    """Number of tasks, and of scenes, with which it would detect `POINTS` if the other number stayed as it is; infinite
    if no number would."""
    scenes: float


def _detectable(
    scores: Scores,
    *,
    tests: PairTests,
    method: IntervalMethod,
    strata: Sequence[str],
    runs_of: Callable[[int, int], Pair],
) -> list[_Detectable]:
    """Of neighbouring rows that differ and can be tested."""
    found: list[_Detectable] = []
    if not tests.count:
        return found
    for first, second in list(pairwise(range(len(scores))))[:_MOST_PAIRS]:
        repeated = runs_of(first, second)
        estimate = _difference(scores[first], scores[second], method=method, strata=strata, repeated=repeated)
        if estimate is None or not estimate.enough:
            continue
        error = math.sqrt(estimate.error**2 + estimate.runs.variance)
        if error <= EQUAL_MEANS:
            continue
        least = np.count_nonzero(~np.isnan(scores[first] - scores[second]).any(axis=1))
        if estimate.exact_p is not None and sign_p_value(int(least)) * tests.count >= LEVEL:
            # An exact test of so few tasks never reaches the level.
            continue
        resolution = estimate.half_width(chance=LEVEL / tests.count) + estimate.half_width(chance=2 * (1 - POWER))
        # The variance with which it would be `POINTS`.
        wanted = (error * POINTS / resolution) ** 2
        by_tasks = error**2 - estimate.over_scenes
        tasks = estimate.tasks * _times(by_tasks, rest=estimate.over_scenes, wanted=wanted)
        scenes = scores.shape[2] * _times(estimate.over_scenes, rest=by_tasks, wanted=wanted)
        found.append(_Detectable(resolution, tasks, scenes))
    return found


def _times(part: float, *, rest: float, wanted: float) -> float:
    """How many times as many units bring a variance of which they are a part down to the wanted one."""
    return part / (wanted - rest) if rest < wanted else math.inf


def _needed(found: Sequence[_Detectable], *, method: IntervalMethod) -> Needed | None:
    """The median over pairs; of a fixed list, whose tasks are given, the number of scenes."""
    if not found or median(one.resolution for one in found) <= POINTS:
        return None
    by_scenes = method is IntervalMethod.FIXED_TASKS
    count = median(one.scenes if by_scenes else one.tasks for one in found)
    if math.isinf(count) or math.isnan(count):
        return None
    return Needed(unit="scenes" if by_scenes else "tasks", count=math.ceil(count))
