"""Intervals, tests and agreement between votes, pure and seeded. No torch, since the web server uses them."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt

LEAST_VALUES = 10
"""Least number of tasks for a bootstrap, whose resamples of fewer do not represent the population. Of a hidden split,
groups of fewer tasks are not shown."""
LEAST_UNITS = 5
"""Least number of scenes, and of tasks that vary, for Student's t (docs/validity.md, "Intervals over few scenes")."""
NEEDED = f"{LEAST_UNITS} independent scenes, or {LEAST_VALUES} tasks for differences and unbounded values"
"""The requirement for an interval, in words."""
TOO_FEW = f"No 95 % interval: it needs at least {NEEDED}, and sizes must differ."
"""The text on pages instead of an interval."""
Bounds = tuple[float, float | None]
"""Lower and upper bound of values; None: no upper bound."""
Values = npt.NDArray[np.float64]
UNIT: Bounds = (0.0, 1.0)
DIFFERENCES: Bounds = (-1.0, 1.0)
"""Of differences of two values in `UNIT`."""
RESAMPLES = 2000
SEED = 20240229
PERMUTATIONS = 20_000
"""Number of random sign changes if there are too many to enumerate."""
_MOST_ENUMERATED = 14
"""Most differences for which all sign changes are enumerated, up to 16,384."""
Z_95 = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with a 95 % interval, in the unit of the values."""

    mean: float
    low: float | None
    """None, like `high`, for too few scenes or unbounded values (`NEEDED`), and for equal unbounded values."""
    high: float | None
    count: int
    """Number of values, such as tasks."""

    @property
    def ends(self) -> tuple[float, float] | None:
        """The ends of the interval, if there is one."""
        return ends_of(low=self.low, high=self.high)

    def in_words(self, *, form: str = ".4f") -> str:
        """The interval as a text, such as `0.6500 to 0.7700`, or a dash with the reason if there is none."""
        return ends_in_words(low=self.low, high=self.high, form=form)


def interval(*, mean: float, low: float, high: float, count: int, enough: bool = True) -> Interval:
    """A mean with its interval, or without one if there are too few values.

    Args:
        mean: the mean.
        low: low end of the interval.
        high: high end of the interval.
        count: number of values, such as tasks.
        enough: whether there are enough independent values for the method.
    """
    return Interval(mean=mean, low=low if enough else None, high=high if enough else None, count=count)


def unseen_share(units: int) -> float:
    """The share of a population that n draws miss with a probability of 2.5 %: 1 - 0.025^(1/n), about 3.7 / n.

    The upper end of the interval of Clopper and Pearson (Biometrika 26(4), 1934) for no success in n trials.
    """
    return 1 - math.pow(0.025, 1 / units)


def without_spread(
    *, mean: float, bounds: Bounds, count: int, units: int | None = None, enough: bool = True
) -> Interval:
    """The interval of values that are all equal, which resampling and t give no width.

    `unseen_share` of what the values were drawn from may be anywhere within the bounds; all else equals the values. Of
    values that are all 1 it is the interval of Clopper and Pearson.

    Args:
        mean: the value.
        bounds: bounds of values. Without an upper bound there is no interval.
        count: number of values, such as tasks.
        units: number of independent values; None: all.
        enough: see `interval`.
    """
    low, high = bounds
    if high is None:
        return Interval(mean=mean, low=None, high=None, count=count)
    share = unseen_share(count if units is None else units)
    return interval(
        mean=mean,
        low=mean - share * max(mean - low, 0.0),
        high=mean + share * max(high - mean, 0.0),
        count=count,
        enough=enough,
    )


def ends_of(*, low: float | None, high: float | None) -> tuple[float, float] | None:
    """The ends of an interval, if there is one."""
    return None if low is None or high is None else (low, high)


def ends_in_words(*, low: float | None, high: float | None, form: str = ".4f") -> str:
    """The ends of an interval as a text, or a dash with the reason if there is none."""
    ends = ends_of(low=low, high=high)
    if ends is None:
        return f"— (needs {NEEDED})"
    return f"{ends[0]:{form}} to {ends[1]:{form}}"


def mean_of_tasks(values: Sequence[float], *, bounds: Bounds = UNIT) -> Interval:
    """Mean of per-task values with a 95 % interval over tasks.

    A task is a cluster: its samples share request and plan, so they are averaged first (Efron and Tibshirani, An
    Introduction to the Bootstrap, section 8.3). Values in `UNIT` that are all 0 or 1 have Wilson's interval, other
    values within bounds Gaffke's, and differences and unbounded values a percentile bootstrap over at least
    `LEAST_VALUES` tasks.

    Args:
        values: one mean score per task, at least one; the result does not depend on their order.
        bounds: bounds of the values.
    """
    if not values:
        raise ValueError("an interval needs at least one value")
    array = np.sort(np.asarray(values, dtype=np.float64))
    if bounds == UNIT and np.isin(array, (0.0, 1.0)).all():
        return wilson(successes=int(array.sum()), total=len(array))
    if array[0] == array[-1]:
        return without_spread(mean=float(array[0]), bounds=bounds, count=len(array))
    return _ratio(sums=array, sizes=np.ones(len(array)), bounds=bounds)


def clustered_mean(clusters: Sequence[Sequence[float]], *, bounds: Bounds = UNIT) -> Interval:
    """Mean of all values with a 95 % interval over clusters of any sizes.

    As `mean_of_tasks`, with clusters drawn as a whole and weighted by their size (Davison and Hinkley, Bootstrap
    Methods and their Application, section 3.8); the unseen cluster has the mean size.

    Args:
        clusters: at least one cluster of values, such as those of one task; none is empty.
        bounds: bounds of the values.

    Returns:
        The interval; `count` is the number of clusters.
    """
    if not clusters or not all(clusters):
        raise ValueError("an interval needs at least one cluster, and each at least one value")
    # Sorted, so that the result does not depend on the order of the clusters.
    parts = sorted((math.fsum(values), len(values)) for values in clusters)
    sums, sizes = (np.asarray(column, dtype=np.float64) for column in zip(*parts, strict=True))
    mean = float(sums.sum() / sizes.sum())
    if np.allclose(sums, mean * sizes, rtol=0, atol=1e-12):
        return without_spread(mean=mean, bounds=bounds, count=len(parts))
    return _ratio(sums=sums, sizes=sizes, bounds=bounds)


def _ratio(*, sums: Values, sizes: Values, bounds: Bounds) -> Interval:
    """The mean of the values of clusters, given by their sums and sizes.

    Of bounded values the interval is Gaffke's: its ends are quantiles of the mean under random weights, as in the
    Bayesian bootstrap, with one more value at the bound, which stands for what was not drawn (Gaffke, Three Test
    Statistics for a Nonparametric One-sided Hypothesis on the Mean of a Nonnegative Variable, Mathematical Methods of
    Statistics 14(4), 2005; Learned-Miller and Thomas, A New Confidence Interval for the Mean of a Bounded Random
    Variable, arXiv 1905.06208). Of equal values it is that of `without_spread`, of 0 and 1 that of Clopper and Pearson.
    Unlike the percentile bootstrap, BCa and t it covers means of few values of which most are 1 (docs/validity.md,
    "Intervals over few tasks"). Differences seldom come near their bounds, and would have intervals of half the range.
    """
    count, mean = len(sums), float(sums.sum() / sizes.sum())
    low, high = bounds
    if high is None or bounds == DIFFERENCES:
        indices = _resamples(count)
        means = sums[indices].sum(axis=1) / sizes[indices].sum(axis=1)
        ends = np.quantile(means, [0.025, 0.975])
        return interval(mean=mean, low=float(ends[0]), high=float(ends[1]), count=count, enough=count >= LEAST_VALUES)
    weights = _weights(count)
    size = float(sizes.mean())
    seen, unseen = weights[:, :-1] @ sums, weights[:, -1] * size
    total = weights[:, :-1] @ sizes + unseen
    least = float(np.quantile((seen + unseen * low) / total, 0.025))
    most = float(np.quantile((seen + unseen * high) / total, 0.975))
    return interval(mean=mean, low=min(least, mean), high=max(most, mean), count=count)


@lru_cache(maxsize=1)
def _weights(count: int) -> Values:
    """Weights of each value and of an unseen one in each draw, (RESAMPLES, count + 1), in units of their mean. Cached
    for the next column, which usually has as many values."""
    weights = np.random.default_rng(SEED).standard_exponential(size=(RESAMPLES, count + 1))
    weights.flags.writeable = False
    return weights


@lru_cache(maxsize=1)
def _resamples(count: int) -> npt.NDArray[np.int32]:
    """The clusters of each resample, (RESAMPLES, count). Cached for the next column, which usually has as many."""
    indices = np.random.default_rng(SEED).integers(0, count, size=(RESAMPLES, count)).astype(np.int32)
    indices.flags.writeable = False
    return indices


def wilson(*, successes: int, total: int) -> Interval:
    """Share of successes with its 95 % Wilson score interval, in [0, 1].

    Unlike the normal approximation it stays within [0, 1] and is accurate for shares near 0 and 1, such as error rates
    (Wilson 1927; Brown, Cai and DasGupta, Interval Estimation for a Binomial Proportion, Statistical Science 16(2),
    2001, equation 4).

    Args:
        successes: from 0 to `total`.
        total: number of trials, at least 1.
    """
    if total < 1 or not 0 <= successes <= total:
        raise ValueError(f"{successes} successes of {total} trials are no share")
    share = successes / total
    spread = Z_95 * math.sqrt(share * (1 - share) / total + Z_95**2 / (4 * total**2))
    scale = 1 + Z_95**2 / total
    middle = share + Z_95**2 / (2 * total)
    low = 0.0 if successes == 0 else (middle - spread) / scale
    high = 1.0 if successes == total else (middle + spread) / scale
    return interval(mean=share, low=low, high=high, count=total)


def paired_shares(differences: Sequence[float]) -> Interval:
    """Difference of two shares of the same tasks with its 95 % adjusted Wald interval, in [-1, 1].

    Unlike the bootstrap it has a width for equal differences (Bonett and Price, Adjusted Wald Confidence Interval for a
    Difference of Binomial Proportions Based on Paired Data, Journal of Educational and Behavioral Statistics 37(4),
    2012, equation 4: one pair is added to each kind of disagreement).

    Args:
        differences: one for each task, at least one, each -1, 0 or 1.
    """
    total = len(differences)
    more, less = sum(value == 1 for value in differences), sum(value == -1 for value in differences)
    if not total or more + less + sum(value == 0 for value in differences) != total:
        raise ValueError("paired shares need at least one difference, and each must be -1, 0 or 1")
    first, second = (more + 1) / (total + 2), (less + 1) / (total + 2)
    middle = first - second
    spread = Z_95 * math.sqrt((first + second - middle**2) / (total + 2))
    return interval(
        mean=(more - less) / total, low=max(-1.0, middle - spread), high=min(1.0, middle + spread), count=total
    )


def paired_permutation(differences: Sequence[float]) -> float:
    """One-sided p-value of the hypothesis that paired differences are symmetric around 0, against a positive mean.

    Under the hypothesis both signs of each difference are equally likely. The p-value is the share of sign changes
    whose sum is at least the observed one: of all sign changes, or of `PERMUTATIONS` random ones and the observed one
    (Dwass 1957; Phipson and Smyth, Permutation P-values Should Never Be Zero, Statistical Applications in Genetics and
    Molecular Biology 9(1), 2010, equation 2).

    Args:
        differences: one per pair; zeros are ignored.

    Returns:
        In (0, 1]; 1 without any difference. For k positive differences it is 2^-k, so that fewer than five can never be
        significant at 5 %.
    """
    array = np.sort(np.asarray([value for value in differences if value != 0], dtype=np.float64))
    if not len(array):
        return 1.0
    # Sums of floats depend on their order: a tolerance for sums that equal the observed one.
    observed = array.sum() - 1e-12 * np.abs(array).sum()
    if len(array) <= _MOST_ENUMERATED:
        codes = np.arange(2 ** len(array))[:, None] >> np.arange(len(array))
        return float(np.mean((1.0 - 2.0 * (codes & 1)) @ array >= observed))
    rng = np.random.default_rng(SEED)
    signs = rng.integers(0, 2, size=(PERMUTATIONS, len(array)), dtype=np.int8) * 2.0 - 1.0
    return float((1 + np.count_nonzero(signs @ array >= observed)) / (PERMUTATIONS + 1))


Level = Literal["nominal", "ordinal", "interval"]
Distance = Callable[[float, float], float]


def krippendorff_alpha(votes: Sequence[Sequence[float | None]], *, level: Level) -> float | None:
    """Alpha of votes on units, from coincidences (Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011).

    Args:
        votes: for each unit its values, in any order; None is a missing vote. Units with fewer than two votes are
            omitted.
        level: the distance of values: `nominal` (different or not), `ordinal` (difference of ranks), `interval`
            (squared difference).

    Returns:
        At most 1; 1 is perfect agreement, 0 is chance, negative is systematic disagreement. None if it is undefined: no
        unit has two votes, or all votes are equal.
    """
    units = [values for unit in votes if len(values := [value for value in unit if value is not None]) > 1]
    totals = Counter(value for unit in units for value in unit)
    if len(totals) < 2:
        return None
    distance = _distance(level=level, totals=totals)
    observed = sum(_disagreement(Counter(unit), distance) / (len(unit) - 1) for unit in units)
    expected = _disagreement(totals, distance) / (totals.total() - 1)
    return 1.0 - observed / expected


def _disagreement(counts: Mapping[float, int], distance: Distance) -> float:
    """Sum of the distances of all ordered pairs of votes."""
    return sum(
        2.0 * counts[first] * counts[second] * distance(first, second) for first, second in combinations(counts, 2)
    )


def _distance(*, level: Level, totals: Mapping[float, int]) -> Distance:
    if level == "nominal":
        return lambda first, second: float(first != second)
    if level == "interval":
        return lambda first, second: (first - second) ** 2
    # Krippendorff's ordinal metric is the difference of the mean ranks of values.
    ranks: dict[float, float] = {}
    below = 0
    for value in sorted(totals):
        ranks[value] = below + totals[value] / 2
        below += totals[value]
    return lambda first, second: (ranks[first] - ranks[second]) ** 2
