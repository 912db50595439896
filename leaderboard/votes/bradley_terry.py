"""Strengths of planners by the votes on pairs of them. Pure.

In the model of Bradley and Terry (Rank Analysis of Incomplete Block Designs, Biometrika 39(3/4), 1952) planner i wins
against planner j with the probability 1 / (1 + exp(s_j - s_i)). A tie is half a win for each side. Every planner has
also tied once with an average planner, which keeps the strengths of planners finite that won or lost every vote.

Votes of one person depend on each other. Variances are therefore the larger of two: those of independent votes (the
inverse of the information), and those of independent voters (the sandwich, with the scores summed over each voter;
Liang and Zeger, Longitudinal Data Analysis Using Generalized Linear Models, Biometrika 73(1), 1986, equation 7), scaled
by G / (G - 1) for G voters. Intervals and tests use Student's t with one degree of freedom less than voters.

Planners that no chain of votes connects cannot be compared: each connected group has strengths of its own.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluator.scoring.metrics.paired import PairTests, RankRange, rank_ranges
from evaluator.scoring.metrics.statistics import LEAST_UNITS, Interval
from evaluator.scoring.metrics.student import critical_value, two_sided_p

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
VIRTUAL_TIES = 1.0
"""Number of ties of each planner with an average planner."""
LEAST_VOTERS = LEAST_UNITS
"""Voters that a planner needs for an interval and for tests."""
_MOST_STEPS = 100
_LONGEST_STEP = 2.0
_CLOSE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A vote on two planners."""

    first: str
    second: str
    won: float
    """Of the first: 1 for a win, 0.5 for a tie, 0 for a loss."""
    voter: str
    """Whoever decides independently of all others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedPlanner:
    """A planner's place by the votes."""

    planner: str
    strength: float
    """Log-odds against a planner of the group's mean strength."""
    share: Interval
    """Expected share of wins against such a planner, in (0, 1); without ends for fewer than `LEAST_VOTERS` voters."""
    ranks: RankRange | None
    """Ranks in the group that tests cannot rule out; None for too few voters."""
    votes: int
    voters: int


Group = Sequence[RatedPlanner]
"""Planners that votes connect, the strongest first."""


def rate(comparisons: Sequence[Comparison]) -> list[Group]:
    """The strengths of all planners, by connected groups, the largest first. Does not depend on the order of votes."""
    groups = []
    for members in _connected(comparisons):
        inside = [one for one in comparisons if one.first in members]
        groups.append(_rated(planners=sorted(members), comparisons=inside))
    return sorted(groups, key=lambda group: (-len(group), group[0].planner))


def win_probability(difference: float) -> float:
    """The probability to win with a strength that is greater by `difference`."""
    return 1 / (1 + math.exp(-difference)) if difference >= 0 else 1 - 1 / (1 + math.exp(difference))


def strengths_of(groups: Sequence[Group]) -> Mapping[str, float]:
    """Strength by planner."""
    return {row.planner: row.strength for group in groups for row in group}


def _connected(comparisons: Sequence[Comparison]) -> list[frozenset[str]]:
    neighbours: dict[str, set[str]] = defaultdict(set)
    for one in comparisons:
        neighbours[one.first].add(one.second)
        neighbours[one.second].add(one.first)
    return components(neighbours)


def components(neighbours: Mapping[str, set[str]]) -> list[frozenset[str]]:
    """The connected components of an undirected graph, given by the neighbours of each node."""
    found, seen = [], set[str]()
    for start in sorted(neighbours):
        if start in seen:
            continue
        members, waiting = {start}, [start]
        while waiting:
            for other in neighbours[waiting.pop()] - members:
                members.add(other)
                waiting.append(other)
        seen |= members
        found.append(frozenset(members))
    return found


def _rated(*, planners: Sequence[str], comparisons: Sequence[Comparison]) -> Group:
    numbers = {planner: number for number, planner in enumerate(planners)}
    first = np.array([numbers[one.first] for one in comparisons])
    second = np.array([numbers[one.second] for one in comparisons])
    won = np.array([one.won for one in comparisons])
    names = sorted({one.voter for one in comparisons})
    places = {voter: number for number, voter in enumerate(names)}
    voter = np.array([places[one.voter] for one in comparisons])
    strengths, information = _solved(first=first, second=second, won=won, count=len(planners))
    model: Matrix = np.asarray(np.linalg.inv(information), dtype=np.float64)
    scores = _scores(strengths, first=first, second=second, won=won, voter=voter, voters=len(names))
    factor = len(names) / max(len(names) - 1, 1)
    robust: Matrix = factor * model @ (scores.T @ scores) @ model
    votes = np.bincount(first, minlength=len(planners)) + np.bincount(second, minlength=len(planners))
    pairs_seen = {
        (number, by) for ends in (first, second) for number, by in zip(ends.tolist(), voter.tolist(), strict=True)
    }
    voters = np.bincount([number for number, _ in pairs_seen], minlength=len(planners))
    centring = np.eye(len(planners)) - 1 / len(planners)
    variances = np.maximum(*(np.diag(centring @ one @ centring) for one in (model, robust)))
    ranks = rank_ranges(_tests(strengths, covariances=(model, robust), voters=voters))
    rows = [
        RatedPlanner(
            planner=planner,
            strength=float(strength),
            share=_share(strength=float(strength), variance=float(variance), voters=int(by), votes=int(count)),
            ranks=rank,
            votes=int(count),
            voters=int(by),
        )
        for planner, strength, variance, by, count, rank in zip(
            planners, strengths - strengths.mean(), variances, voters, votes, ranks, strict=True
        )
    ]
    return sorted(rows, key=lambda row: (-row.strength, row.planner))


def _solved(*, first: NDArray[np.int_], second: NDArray[np.int_], won: Vector, count: int) -> tuple[Vector, Matrix]:
    """Strengths and information by Newton's method, with bounded steps."""
    strengths = np.zeros(count)
    information = np.eye(count)
    for _ in range(_MOST_STEPS):
        expected = _win(strengths[first] - strengths[second])
        average = _win(strengths)
        slope = VIRTUAL_TIES * (0.5 - average)
        np.add.at(slope, first, won - expected)
        np.add.at(slope, second, expected - won)
        weight = expected * (1 - expected)
        information = np.diag(VIRTUAL_TIES * average * (1 - average))
        np.add.at(information, (first, first), weight)
        np.add.at(information, (second, second), weight)
        np.add.at(information, (first, second), -weight)
        np.add.at(information, (second, first), -weight)
        step = np.linalg.solve(information, slope)
        longest = float(np.abs(step).max())
        strengths = strengths + step * min(1.0, _LONGEST_STEP / max(longest, _CLOSE))
        if longest < _CLOSE:
            break
    return strengths, information


def _win(differences: Vector) -> Vector:
    return np.asarray(1 / (1 + np.exp(-np.clip(differences, -50, 50))), dtype=np.float64)


def _scores(
    strengths: Vector,
    *,
    first: NDArray[np.int_],
    second: NDArray[np.int_],
    won: Vector,
    voter: NDArray[np.int_],
    voters: int,
) -> Matrix:
    """(voters, planners): the slope of each voter's log-likelihood."""
    surprise = won - _win(strengths[first] - strengths[second])
    scores = np.zeros((voters, len(strengths)))
    np.add.at(scores, (voter, first), surprise)
    np.add.at(scores, (voter, second), -surprise)
    return scores


def _share(*, strength: float, variance: float, voters: int, votes: int) -> Interval:
    share = win_probability(strength)
    if voters < LEAST_VOTERS:
        return Interval(mean=share, low=None, high=None, count=votes)
    half = critical_value(voters - 1) * math.sqrt(variance)
    return Interval(
        mean=share, low=win_probability(strength - half), high=win_probability(strength + half), count=votes
    )


def _tests(strengths: Vector, *, covariances: Sequence[Matrix], voters: NDArray[np.int_]) -> PairTests:
    """Test every pair of planners of a group that both have enough voters."""
    differences = strengths[:, None] - strengths[None, :]
    variance = np.maximum(*(np.add.outer(np.diag(one), np.diag(one)) - 2 * one for one in covariances))
    p_values = np.full(differences.shape, np.nan)
    tested = np.flatnonzero(voters >= LEAST_VOTERS)
    for i in tested:
        p_values[i, i] = 1.0
        for j in tested[tested > i]:
            t = float(differences[i, j] / math.sqrt(variance[i, j]))
            p_values[i, j] = p_values[j, i] = two_sided_p(t=t, df=float(min(voters[i], voters[j]) - 1))
    return PairTests(differences=differences, p_values=p_values)
