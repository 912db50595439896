"""Student's t distribution without scipy, which the web server and the client do not need otherwise.

Single values are computed with Python's floats, ten times as fast as with arrays.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_TINY = 1e-300
_CLOSE = 1e-15
_MOST_TERMS = 500


def two_sided_p(*, t: float, df: float) -> float:
    """Two-sided p-value of a t-distributed statistic, in [0, 1].

    Args:
        t: the statistic; the p-value of infinite values is 0.
        df: degrees of freedom, above 0.
    """
    if math.isinf(t):
        return 0.0
    return _incomplete_beta(a=df / 2, b=0.5, x=df / (df + t * t))


@lru_cache(maxsize=10_000)
def critical_value(df: float, *, chance: float = 0.05) -> float:
    """The critical value of a two-sided test at the level `chance`; by default half the width of a 95 % interval in
    standard errors."""
    low, high = 0.0, 1.9
    while two_sided_p(t=high, df=df) > chance:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if two_sided_p(t=middle, df=df) > chance else (low, middle)
    return (low + high) / 2


def _incomplete_beta(*, a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b) by its continued fraction (Abramowitz and Stegun, Handbook of
    Mathematical Functions, 26.5.8 and 6.6.2), evaluated by Lentz's method."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(a=b, b=a, x=1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    return front * _fraction(a=a, b=b, x=x) / a


def _fraction(*, a: float, b: float, x: float) -> float:
    c, d = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _MOST_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _away_from_zero(1 + term * d)
            c = _away_from_zero(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < _CLOSE:
            break
    return value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def two_sided_p_values(*, t: Array, df: Array) -> Array:
    """`two_sided_p` of the elements of two arrays of the same shape."""
    with np.errstate(over="ignore", invalid="ignore"):
        x = np.where(np.isinf(t), 0.0, df / (df + t * t))
    return incomplete_beta(a=df / 2, b=np.full(df.shape, 0.5), x=x)


def incomplete_beta(*, a: Array, b: Array, x: Array) -> Array:
    """The regularised incomplete beta function I_x(a, b) elementwise; `a` and `b` are above 0, `x` in [0, 1]."""
    shape = x.shape
    a, b, x = a.ravel(), b.ravel(), x.ravel()
    is_swapped = x > (a + 1) / (a + b + 2)
    first, second = np.where(is_swapped, b, a), np.where(is_swapped, a, b)
    argument = np.where(is_swapped, 1 - x, x)
    inside = (argument > 0) & (argument < 1)
    values = np.where(argument >= 1, 1.0, 0.0)
    a, b, x = first[inside], second[inside], argument[inside]
    front = np.exp(_log_gamma(a + b) - _log_gamma(a) - _log_gamma(b) + a * np.log(x) + b * np.log1p(-x))
    values[inside] = front * _fractions(a=a, b=b, x=x) / a
    return np.where(is_swapped, 1 - values, values).reshape(shape)


def _log_gamma(values: Array) -> Array:
    different, places = np.unique(values, return_inverse=True)
    return np.array([math.lgamma(value) for value in different.tolist()])[places]


def _fractions(*, a: Array, b: Array, x: Array) -> Array:
    """`_fraction` elementwise, until all elements have converged."""
    c, d = np.ones(a.shape), 1 / _all_away_from_zero(1 - (a + b) * x / (a + 1))
    value = d.copy()
    for m in range(1, _MOST_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _all_away_from_zero(1 + term * d)
            c = _all_away_from_zero(1 + term / c)
            value *= c * d
        if not (np.abs(c * d - 1) >= _CLOSE).any():
            break
    return value


def _all_away_from_zero(values: Array) -> Array:
    return np.where(np.abs(values) > _TINY, values, _TINY)
