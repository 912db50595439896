"""Which two planners to compare next. Pure.

The best pair is the one after whose vote the sum of the variances of all strengths falls most. In the model of
`bradley_terry.py` a vote on i and j adds w d d' to the information, where d is 1 at i and -1 at j, and w the variance
of its outcome; so the sum falls by w |V d|^2 / (1 + w d' V d), with the covariance matrix V (Sherman and Morrison,
Annals of Mathematical Statistics 21(1), 1950). Planners with few votes win, and opponents near them. The best of
`DRAWN` random pairs is chosen, not the best of all, so that nobody can predict the pair, or wait for one.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from random import Random

import numpy as np

from leaderboard.votes.bradley_terry import VIRTUAL_TIES, win_probability

DRAWN = 12
"""Pairs to choose from."""


def choose(
    candidates: Sequence[str], *, votes: Mapping[tuple[str, str], int], strengths: Mapping[str, float], rng: Random
) -> tuple[str, str]:
    """Two planners in random order.

    Args:
        candidates: at least two.
        votes: number of votes by pair, in any order of its planners; pairs of others do not matter.
        strengths: log-odds; unknown planners are average.
        rng: source of chance.

    Raises:
        ValueError: there are fewer than two candidates.
    """
    if len(candidates) < 2:
        raise ValueError("a pair needs two planners")
    numbers = {planner: number for number, planner in enumerate(candidates)}
    values = [strengths.get(planner, 0.0) for planner in candidates]
    average = [win_probability(value) for value in values]
    information = np.diag([VIRTUAL_TIES * share * (1 - share) for share in average])
    for (one, other), count in votes.items():
        if one in numbers and other in numbers:
            i, j = numbers[one], numbers[other]
            weight = count * _variance(values[i] - values[j])
            information[i, i] += weight
            information[j, j] += weight
            information[i, j] -= weight
            information[j, i] -= weight
    covariance = np.linalg.inv(information)
    pairs = list(combinations(range(len(candidates)), 2))

    def gain(pair: tuple[int, int]) -> float:
        i, j = pair
        change = covariance[:, i] - covariance[:, j]
        weight = _variance(values[i] - values[j])
        return float(weight * (change @ change) / (1 + weight * (change[i] - change[j])))

    pair = max(rng.sample(pairs, min(DRAWN, len(pairs))), key=gain)
    first, second = rng.sample(pair, 2)
    return candidates[first], candidates[second]


def _variance(difference: float) -> float:
    share = win_probability(difference)
    return share * (1 - share)
