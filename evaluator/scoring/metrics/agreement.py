"""Krippendorff's alpha: how far the votes on many things agree beyond chance."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Literal

Level = Literal["nominal", "ordinal", "interval"]
Distance = Callable[[float, float], float]


def krippendorff_alpha(votes: Sequence[Sequence[float | None]], *, level: Level) -> float | None:
    """Alpha of votes on units, from coincidences (Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011).

    Args:
        votes: for each unit the values that it got, in any order; None is a vote that is missing. Units with fewer than
            two votes tell nothing about agreement and are left out.
        level: what a difference means: `nominal` (different or not), `ordinal` (how many ranks lie between), `interval`
            (the squared difference).

    Returns:
        At most 1; 1 is perfect agreement, 0 is what chance gives, negative is systematic disagreement. None where it
        is not defined: no unit has two votes, or all votes are the same value.
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
    middles = _rank_middles(totals)
    return lambda first, second: (middles[first] - middles[second]) ** 2


def _rank_middles(totals: Mapping[float, int]) -> dict[float, float]:
    """The middle of the ranks that each value takes; their differences are Krippendorff's ordinal metric."""
    middles: dict[float, float] = {}
    below = 0
    for value in sorted(totals):
        middles[value] = below + totals[value] / 2
        below += totals[value]
    return middles
