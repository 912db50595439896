"""Compares evaluations task by task: intervals of many metrics at once, and paired tests. Pure and seeded.

Intervals are computed on one table: a row for each task, a column for each comparison (a metric of a pair of
evaluations), NaN if one of the two has no score. All columns share the same draws, so twelve metrics over thousands of
tasks cost as much as one. Tests are in closed form: Holm's method over all pairs of a board needs p-values far below
the resolution of random sign changes.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from math import comb

import numpy as np
from numpy.typing import NDArray

from evaluator.core.suites.base import IntervalMethod
from evaluator.scoring.metrics.crossed import (
    EQUAL_MEANS,
    Estimate,
    Matrix,
    are_enough,
    fixed_tasks,
    pooled_strata,
    sampled_tasks,
    sign_p_value,
)
from evaluator.scoring.metrics.runs import RepeatedScores, RunVariance, added, p_values_with_runs, run_variance
from evaluator.scoring.metrics.statistics import (
    DIFFERENCES,
    LEAST_UNITS,
    LEAST_VALUES,
    RESAMPLES,
    SEED,
    Bounds,
    Interval,
    interval,
    paired_shares,
    without_spread,
)
from evaluator.scoring.metrics.student import incomplete_beta, two_sided_p_values

Table = NDArray[np.float64]
_LEAST_RESAMPLED = 50
"""Least number of tasks for a bootstrap of bounded differences: over fewer, t covers their mean more often."""
DECIMALS = 6
"""Scores are compared as they are published."""


def bootstrap_columns(differences: Table, *, bounds: Sequence[Bounds]) -> list[Interval | None]:
    """Mean of each column with a 95 % interval over tasks: a percentile bootstrap, or over few bounded values Student's
    t; of differences of shares that of `statistics.paired_shares`.

    Tasks are the clusters, as in `statistics.mean_of_tasks`: rows are drawn with replacement, and the mean of a
    column is that of the drawn rows with a value (Efron and Tibshirani, An Introduction to the Bootstrap, sections 8.3
    and 13.3). Exchanging the two evaluations only changes signs.

    Args:
        differences: (tasks, columns), NaN if there is no pair. The draws depend on the order of the rows, which must be
            that of the suite.
        bounds: bounds of the values of each column. Equal values have the interval of `without_spread`.

    Returns:
        One interval for each column; None for a column without values.
    """
    known = ~np.isnan(differences)
    counts = known.sum(axis=0)
    if not counts.any():
        return [None] * differences.shape[1]
    weights = _draws(len(differences)).astype(np.float32)
    sums = weights @ np.where(known, differences, 0.0).astype(np.float32)
    with np.errstate(invalid="ignore"):
        means = sums / (weights @ known.astype(np.float32))
    return [
        _interval(values=differences[known[:, column], column], means=means[:, column], bounds=bounds[column])
        if counts[column]
        else None
        for column in range(differences.shape[1])
    ]


def paired_test(
    differences: Table,
    *,
    method: IntervalMethod,
    strata: Sequence[str],
    repeated: tuple[RepeatedScores, RepeatedScores] | None = None,
) -> Estimate:
    """The mean of paired differences with its test, for the comparison page and boards.

    Over scenes it is the estimate of `crossed`. For judged plans, values of 0 and 1 have McNemar's exact test
    (`exact_p`), graded values Student's paired t-test over the tasks.

    On a fixed list the variance by the runs of both planners is added (`runs.run_variance`). Where the test over
    requests, which contains the runs, is more certain, it takes its place: what holds for other requests and runs holds
    for these. In simulations the smaller p-value of both errs no more often than it says
    (`tests/evaluator/scoring/metrics/coverage`).

    Args:
        differences: (tasks, samples) for at least one task with both scores; one sample for judged plans. Scores are
            rounded to `DECIMALS` before the subtraction, so that equal plans tie.
        method: method of the column.
        strata: metric of each task, for `SAMPLED_TASKS`, and for planners that may answer otherwise.
        repeated: what is known about the runs of either, for `FIXED_TASKS`; None: nothing was ever recorded.
    """
    if method is IntervalMethod.FIXED_TASKS:
        return _with_runs(differences, strata=strata, repeated=repeated)
    if method is IntervalMethod.SAMPLED_TASKS:
        return sampled_tasks(differences, strata=strata, bounds=DIFFERENCES)
    values = differences.mean(axis=1)
    # One "task" of as many scenes: the tasks are the units.
    enough = are_enough(tasks=len(values), scenes=1, method=method)
    estimate = fixed_tasks(values[None, :], bounds=DIFFERENCES)
    estimate = replace(estimate, tasks=len(values), enough=enough, over_scenes=0.0)
    is_binary = method is IntervalMethod.WILSON and np.isin(values, (-1.0, 0.0, 1.0)).all()
    return replace(estimate, exact_p=mcnemar(values) if is_binary else None, least_p=_least_p(len(values)))


def _least_p(tasks: int) -> float:
    """The least p-value of graded values over tasks. Those of few tasks may be two values that hardly vary, so that t
    errs more often than it says; a mean over many tasks on a scene is no such value."""
    return sign_p_value(tasks) if tasks < LEAST_VALUES else 0.0


def _with_runs(
    differences: Table, *, strata: Sequence[str], repeated: tuple[RepeatedScores, RepeatedScores] | None
) -> Estimate:
    estimate = fixed_tasks(differences, bounds=DIFFERENCES)
    if repeated is None:
        return estimate
    runs = [run_variance(one, tasks=len(differences)) for one in repeated]
    known = [one for one in runs if one is not None]
    if len(known) < len(runs):
        return replace(estimate, enough=False)
    both = added(known)
    if both.variance <= 0:
        return estimate
    over_requests = sampled_tasks(differences, strata=strata, bounds=DIFFERENCES)
    tests = replace(estimate, runs=both), replace(over_requests, units=estimate.units)
    possible = (one for one in tests if one.enough)
    return min(possible, key=lambda one: (one.p_value or 0.0, one.half_width()), default=tests[0])


def mcnemar(differences: Table) -> float:
    """Two-sided p-value of McNemar's exact test: tasks that differ favour either side with equal probability.

    Args:
        differences: (tasks,) of values that are 0 or 1.

    Returns:
        In (0, 1]; 1 without any difference.
    """
    more, less = int((differences > 0).sum()), int((differences < 0).sum())
    if not more + less:
        return 1.0
    return min(1.0, 2 * _sign_test(positive=max(more, less), total=more + less))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values of several tests, which bound the family-wise error rate.

    Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of Statistics 6(2), 1979: the
    smallest is multiplied by the number of tests, the next by one less, and so on; the results do not decrease.
    """
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    adjusted = [1.0] * len(p_values)
    largest = 0.0
    for place, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = largest
    return adjusted


@lru_cache(maxsize=4)
def _draws(tasks: int) -> NDArray[np.uint16]:
    """How often each resample draws each task, (RESAMPLES, tasks); the same for all tables of a length."""
    rng = np.random.default_rng(SEED)
    drawn = rng.integers(0, tasks, size=(RESAMPLES, tasks))
    drawn += np.arange(RESAMPLES)[:, None] * tasks
    return np.bincount(drawn.ravel(), minlength=RESAMPLES * tasks).reshape(RESAMPLES, tasks).astype(np.uint16)


def _interval(*, values: Table, means: NDArray[np.float32], bounds: Bounds) -> Interval:
    if values.min() == values.max():
        return without_spread(mean=float(values.mean()), bounds=bounds, count=len(values))
    if bounds == DIFFERENCES and np.isin(values, (-1.0, 0.0, 1.0)).all():
        return paired_shares(values.tolist())
    if bounds[1] is not None and len(values) < _LEAST_RESAMPLED:
        estimate = fixed_tasks(values[None, :], bounds=bounds)
        return replace(estimate, tasks=len(values), enough=len(values) >= LEAST_UNITS).interval
    # A resample without tasks of a column has no mean.
    low, high = np.nanquantile(means.astype(np.float64), [0.025, 0.975])
    enough = len(values) >= LEAST_VALUES
    return interval(mean=float(values.mean()), low=float(low), high=float(high), count=len(values), enough=enough)


def _sign_test(*, positive: int, total: int) -> float:
    """Probability of at least `positive` heads in `total` throws of a fair coin, in integer arithmetic."""
    ways = comb(total, positive)
    count = ways
    for heads in range(positive, total):
        ways = ways * (total - heads) // (heads + 1)
        count += ways
    return float(count / 2**total)


LEVEL = 0.05
"""Family-wise error rate over all pairs of a board."""
_CLOSE = 1e-6
"""Squared distances below this share of the rows' squared norms are recomputed without cancellation."""
Scores = NDArray[np.float32] | NDArray[np.float64]
Ends = tuple[Matrix, Matrix]
"""Scores with undecided tasks counted as 0, and as the better value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTests:
    """The paired tests of all pairs of rows."""

    differences: Matrix
    """(rows, rows): mean of the row minus that of the column, over their common tasks. If tasks are undecided, the
    difference nearest to 0 over all ways to settle them."""
    p_values: Matrix
    """(rows, rows), symmetric, two-sided; NaN for too few tasks or scenes (`crossed.are_enough`). The diagonal is 1 for
    testable rows."""

    @property
    def count(self) -> int:
        """Pairs that were tested."""
        return int((~np.isnan(self.p_values[np.triu_indices(len(self.p_values), k=1)])).sum())


@dataclass(frozen=True, slots=True)
class RankRange:
    """The possible ranks of a row by the tests."""

    low: int
    high: int


def pair_tests(
    scores: Scores,
    *,
    method: IntervalMethod,
    strata: Sequence[str],
    upper: Scores | None = None,
    repeated: Sequence[RepeatedScores] | None = None,
) -> PairTests:
    """Test every pair of rows on their common tasks.

    Args:
        scores: (rows, tasks, samples), one sample for judged plans; NaN if a task does not count in a row.
        method: method of the column, which determines test and interval.
        strata: metric of each task, as for `paired_test`.
        upper: scores with undecided tasks counted as the better value; None if every task is decided.
        repeated: what is known about the runs of each row; None: nothing was ever recorded. On a fixed list, rows with
            a single run of a planner that may answer otherwise are not tested.
    """
    rows = len(scores)
    differences, p_values = np.zeros((rows, rows)), np.full((rows, rows), np.nan)
    names = np.asarray(strata, dtype=object)
    groups = list(_groups(np.asarray(~np.isnan(scores).any(axis=2))))
    for place, (first, known) in enumerate(groups):
        for second, also_known in groups[place:]:
            common = known & also_known
            runs = None
            if repeated is not None and method is IntervalMethod.FIXED_TASKS and common.any():
                tasks = int(common.sum())
                runs = _run_variances(
                    first=_run_table(repeated, rows=first, tasks=tasks),
                    second=_run_table(repeated, rows=second, tasks=tasks),
                )
            block = partial(_block, method=method, strata=names[common], runs=runs)
            rows_of_first = _rounded(scores[np.ix_(first, common)])
            rows_of_second = rows_of_first if second is first else _rounded(scores[np.ix_(second, common)])
            if upper is None:
                difference, p_value = block(first=rows_of_first, second=rows_of_second)
            else:
                tops = (_rounded(upper[np.ix_(rows, common)]) for rows in (first, second))
                difference, p_value = _settled(
                    first=(rows_of_first, next(tops)), second=(rows_of_second, next(tops)), block=block
                )
            differences[np.ix_(first, second)], p_values[np.ix_(first, second)] = difference, p_value
            differences[np.ix_(second, first)], p_values[np.ix_(second, first)] = -difference.T, p_value.T
    return PairTests(differences=differences, p_values=p_values)


def rank_ranges(tests: PairTests, *, higher_is_better: bool = True) -> list[RankRange | None]:
    """The possible ranks of each row by Holm's method over all pairs; None for a row that cannot be tested."""
    is_better = (adjusted_p_values(tests.p_values) < LEVEL) & ((tests.differences > 0) == higher_is_better)
    low, high = 1 + is_better.sum(axis=0), len(is_better) - is_better.sum(axis=1)
    testable = ~np.isnan(np.diagonal(tests.p_values))
    return [
        RankRange(int(best), int(worst)) if known else None
        for best, worst, known in zip(low, high, testable, strict=True)
    ]


def adjusted_p_values(p_values: Matrix) -> Matrix:
    """(rows, rows), symmetric: the p-values of all pairs adjusted by Holm's method; NaN where a pair was not tested."""
    upper = np.triu_indices(len(p_values), k=1)
    pairs = p_values[upper]
    places = np.flatnonzero(~np.isnan(pairs))
    order = places[np.argsort(pairs[places], kind="stable")]
    adjusted = np.full(len(pairs), np.nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(pairs[order] * np.arange(len(order), 0, -1)), 1.0)
    table = np.array(p_values)
    table[upper] = adjusted
    table.T[upper] = adjusted
    return table


def _settled(*, first: Ends, second: Ends, block: Callable[..., tuple[Matrix, Matrix]]) -> tuple[Matrix, Matrix]:
    """Differences nearest to 0 and largest p-values over all ways to settle undecided tasks; 0 and 1 if the order of
    two rows depends on them."""
    least, p_least = block(first=first[0], second=second[1])
    most, p_most = block(first=first[1], second=second[0])
    differences = np.where(least > 0, least, np.where(most < 0, most, 0.0))
    unsettled = np.where(np.isnan(p_least), np.nan, 1.0)
    return differences, np.where(least > 0, p_least, np.where(most < 0, p_most, unsettled))


def _groups(known: NDArray[np.bool_]) -> Iterator[tuple[NDArray[np.intp], NDArray[np.bool_]]]:
    """Rows with the same tasks, and these tasks; for evaluations under the same conditions usually one group."""
    masks: dict[bytes, list[int]] = {}
    for row, mask in enumerate(known):
        masks.setdefault(mask.tobytes(), []).append(row)
    for rows in masks.values():
        yield np.array(rows), known[rows[0]]


def _rounded(scores: Scores) -> Matrix:
    return np.asarray(np.round(scores.astype(np.float64), DECIMALS), dtype=np.float64)


def _run_table(repeated: Sequence[RepeatedScores], *, rows: NDArray[np.intp], tasks: int) -> Matrix:
    """(2, rows): variance and degrees of freedom by the runs of each row; NaN if they are not known."""
    found = [run_variance(repeated[row], tasks=tasks) or RunVariance(np.nan, 1.0) for row in rows.tolist()]
    return np.array([[one.variance for one in found], [one.df for one in found]])


def _run_variances(*, first: Matrix, second: Matrix) -> Ends:
    """Variance and degrees of freedom by the runs of each pair of rows, as in `runs.added`."""
    variance = first[0][:, None] + second[0][None, :]
    spread = (first[0] ** 2 / first[1])[:, None] + (second[0] ** 2 / second[1])[None, :]
    with np.errstate(invalid="ignore", divide="ignore"):
        return variance, np.where(spread > 0, variance**2 / spread, np.inf)


def _block(
    *,
    first: Matrix,
    second: Matrix,
    method: IntervalMethod,
    strata: NDArray[np.object_],
    runs: Ends | None = None,
) -> tuple[Matrix, Matrix]:
    """Differences and p-values of each row of `first` (rows, tasks, samples) against each of `second`. `runs` are
    variance and degrees of freedom by the runs of each pair, on a fixed list."""
    _, tasks, samples = first.shape
    units = int(samples if method is IntervalMethod.FIXED_TASKS else tasks)
    if method is IntervalMethod.SAMPLED_TASKS:
        units = min(tasks, samples)
    shape = len(first), len(second)
    if not tasks or not are_enough(tasks=tasks, scenes=samples, method=method):
        return np.zeros(shape), np.full(shape, np.nan)
    differences = first.mean(axis=(1, 2))[:, None] - second.mean(axis=(1, 2))[None, :]
    differences[np.abs(differences) <= EQUAL_MEANS] = 0.0
    if method is IntervalMethod.WILSON and _is_binary(first) and _is_binary(second):
        return differences, _mcnemar(first=first[:, :, 0], second=second[:, :, 0])
    student = partial(_student, differences=differences, units=max(units, tasks))
    if method is IntervalMethod.SAMPLED_TASKS:
        variance, df = _sampled_tasks(first=first, second=second, strata=strata)
        return differences, student(variance=variance, df=df)
    axis = 1 if method is IntervalMethod.FIXED_TASKS else 2
    variance = _variance_of_means(first=first.mean(axis=axis), second=second.mean(axis=axis))
    df = np.full(shape, float(units - 1))
    if runs is None or not (runs[0] != 0).any():
        least = 0.0 if method is IntervalMethod.FIXED_TASKS else _least_p(units)
        return differences, np.maximum(student(variance=variance, df=df), least)
    p_values = student(variance=variance, df=df)
    waver = runs[0] > 0
    p_values[waver] = p_values_with_runs(
        mean=differences[waver], variance=variance[waver], df=df[waver], runs=runs[0][waver], runs_df=runs[1][waver]
    )
    if are_enough(tasks=tasks, scenes=samples, method=IntervalMethod.SAMPLED_TASKS):
        over_requests, df = _sampled_tasks(first=first, second=second, strata=strata)
        # Where runs add nothing, the scenes alone decide about this list.
        smaller = np.minimum(p_values, student(variance=over_requests, df=df))
        p_values = np.where(waver, smaller, p_values)
    return differences, np.where(np.isnan(runs[0]), np.nan, p_values)


def _sampled_tasks(*, first: Matrix, second: Matrix, strata: NDArray[np.object_]) -> tuple[Matrix, Matrix]:
    """Variance and degrees of freedom of each pair's difference, as in `crossed.sampled_tasks`."""
    _, tasks, scenes = first.shape
    between = np.zeros((len(first), len(second)))
    rest, df_tasks = between.copy(), between.copy()
    pooled = pooled_strata(strata.tolist())
    for name in np.unique(pooled):
        members = pooled == name
        count = int(members.sum())
        if count < 2:
            continue
        share = (count / tasks) ** 2
        first_part = first[:, members]
        second_part = first_part if second is first else second[:, members]
        part = share * _variance_of_means(first=first_part.mean(axis=2), second=second_part.mean(axis=2))
        between += part
        df_tasks += part**2 / (count - 1)
        if scenes > 1:
            squares = _square_distances(first=_residuals(first_part), second=_residuals(second_part))
            rest += share * squares / ((count - 1) * (scenes - 1)) / (count * scenes)
    over_scenes = _variance_of_means(first=first.mean(axis=1), second=second.mean(axis=1))
    variance = np.maximum.reduce([between + over_scenes - rest, between, over_scenes])
    spread = df_tasks + over_scenes**2 / max(scenes - 1, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        df = np.where(spread > 0, np.maximum((between + over_scenes) ** 2 / spread, 1.0), float(max(scenes - 1, 1)))
    return variance, df


def _residuals(scores: Matrix) -> Matrix:
    """Residuals of each row after removing task and scene effects, (rows, tasks * scenes)."""
    centred: Matrix = scores - scores.mean(axis=2, keepdims=True)
    centred -= centred.mean(axis=1, keepdims=True)
    return centred.reshape(len(scores), -1)


def _variance_of_means(*, first: Matrix, second: Matrix) -> Matrix:
    """Variance of the mean of each pair's differences over the second axis; 0 for a single value."""
    count = first.shape[1]
    if count < 2:
        return np.zeros((len(first), len(second)))
    first_part, second_part = (table - table.mean(axis=1, keepdims=True) for table in (first, second))
    return np.asarray(_square_distances(first=first_part, second=second_part) / (count - 1) / count)


def _square_distances(*, first: Matrix, second: Matrix) -> Matrix:
    """Squared distance of each row of `first` from each of `second`."""
    first_norms, second_norms = (np.einsum("ij,ij->i", table, table) for table in (first, second))
    sizes = first_norms[:, None] + second_norms[None, :]
    distances: Matrix = sizes - 2 * (first @ second.T)
    for row, close in enumerate(distances <= _CLOSE * sizes):
        if close.any():
            distances[row, close] = np.square(first[row] - second[close]).sum(axis=1)
    return distances


def _student(*, differences: Matrix, variance: Matrix, df: Matrix, units: int) -> Matrix:
    # If both sides are the same rows, each pair is tested once.
    is_square = bool((differences == -differences.T).all()) if len(differences) == differences.shape[1] else False
    p_values = np.ones(differences.shape)
    differs = differences != 0
    if is_square:
        differs = np.triu(differs)
    known = differs & (variance > EQUAL_MEANS**2)
    p_values[differs & ~known] = sign_p_value(units)
    t = np.abs(differences[known]) / np.sqrt(variance[known])
    p_values[known] = two_sided_p_values(t=t, df=df[known])
    return np.triu(p_values) + np.triu(p_values, k=1).T if is_square else p_values


def _is_binary(scores: Matrix) -> bool:
    return bool(((scores == 0) | (scores == 1)).all())


def _mcnemar(*, first: Matrix, second: Matrix) -> Matrix:
    """`mcnemar` of each pair of rows."""
    more_first, more_second = first @ (1 - second).T, (1 - first) @ second.T
    pairs = np.stack([np.maximum(more_first, more_second).ravel(), (more_first + more_second).ravel()], axis=1)
    different, places = np.unique(pairs, axis=0, return_inverse=True)
    more, total = different.T
    # The probability of at least k heads in n throws of a fair coin is I_1/2(k, n - k + 1).
    chance = incomplete_beta(a=np.maximum(more, 1.0), b=total - more + 1, x=np.full(more.shape, 0.5))
    return np.where(total == 0, 1.0, np.minimum(1.0, 2 * chance))[places.ravel()].reshape(more_first.shape)
