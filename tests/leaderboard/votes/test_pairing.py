"""Pairs that are chosen for information."""

from collections import Counter
from random import Random

import numpy as np
import pytest

from leaderboard.votes.bradley_terry import Comparison, rate, strengths_of, win_probability
from leaderboard.votes.pairing import choose

TRUE = {f"p{number}": (number - 4.5) / 1.5 for number in range(10)}


def error_after(*, votes: int, informed: bool, seed: int) -> float:
    """Mean squared error of the strengths after so many votes on chosen or random pairs."""
    rng, found, played = Random(seed), [], Counter[tuple[str, str]]()
    strengths: dict[str, float] = {}
    for number in range(votes):
        first, second = (
            choose(sorted(TRUE), votes=played, strengths=strengths, rng=rng)
            if informed
            else rng.sample(sorted(TRUE), 2)
        )
        played[(first, second)] += 1
        won = float(rng.random() < win_probability(TRUE[first] - TRUE[second]))
        found.append(Comparison(first=first, second=second, won=won, voter=str(number % 20)))
        if informed and number % 15 == 14:
            strengths = dict(strengths_of(rate(found)))
    strengths = dict(strengths_of(rate(found)))
    return float(np.mean([(strengths.get(planner, 0.0) - value) ** 2 for planner, value in TRUE.items()]))


def test_chosen_pairs_give_better_strengths_than_random_ones():
    chosen = [error_after(votes=150, informed=True, seed=seed) for seed in range(30)]
    random = [error_after(votes=150, informed=False, seed=seed) for seed in range(30)]
    assert np.mean(chosen) < 0.9 * np.mean(random)


def test_a_new_planner_is_asked_soon():
    played = {("a", "b"): 50, ("a", "c"): 50, ("b", "c"): 50}
    pair = choose(["a", "b", "c", "new"], votes=played, strengths={}, rng=Random(0))
    assert "new" in pair


def test_a_new_planner_meets_the_opponent_nearest_to_it():
    strengths = {"near": 0.1, "far": 4.0}
    played = {("near", "far"): 3000}
    pair = choose(["new", "near", "far"], votes=played, strengths=strengths, rng=Random(0))
    assert set(pair) == {"new", "near"}


def test_the_order_of_a_pair_is_random():
    orders = Counter(choose(["a", "b"], votes={}, strengths={}, rng=Random(seed)) for seed in range(200))
    assert 70 < orders[("a", "b")] < 130


def test_nobody_can_predict_the_pair():
    names = [f"p{number}" for number in range(12)]
    pairs = {frozenset(choose(names, votes={}, strengths={}, rng=Random(seed))) for seed in range(50)}
    assert len(pairs) > 20


def test_one_planner_is_no_pair():
    with pytest.raises(ValueError, match="two planners"):
        choose(["a"], votes={}, strengths={}, rng=Random(0))
