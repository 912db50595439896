"""Strengths by votes: recovered, with intervals that cover, over voters whose votes depend on each other."""

from random import Random

import numpy as np
import pytest

from leaderboard.votes.bradley_terry import LEAST_VOTERS, Comparison, rate, strengths_of, win_probability

TRUE = {"a": 1.2, "b": 0.6, "c": 0.0, "d": -0.6, "e": -1.2}


def vote(first: str, second: str, won: float = 1.0, voter: str = "v") -> Comparison:
    return Comparison(first=first, second=second, won=won, voter=voter)


def simulated(
    *, rng: Random, voters: int, each: int, opinionated: bool, true: dict[str, float] = TRUE
) -> list[Comparison]:
    """Votes by the model. Opinionated voters have one opinion of each pair, which they repeat."""
    votes = []
    for number in range(voters):
        opinions: dict[frozenset[str], float] = {}
        for _ in range(each):
            first, second = rng.sample(sorted(true), 2)
            won = float(rng.random() < win_probability(true[first] - true[second]))
            if opinionated:
                of_first = won if first < second else 1 - won
                known = opinions.setdefault(frozenset((first, second)), of_first)
                won = known if first < second else 1 - known
            votes.append(vote(first, second, won, voter=f"v{number}"))
    return votes


def test_many_votes_recover_the_strengths():
    [rows] = rate(simulated(rng=Random(1), voters=400, each=20, opinionated=False))
    assert [row.planner for row in rows] == sorted(TRUE)
    assert max(abs(row.strength - TRUE[row.planner]) for row in rows) < 0.12
    assert [(row.ranks.low, row.ranks.high) for row in rows] == [(n, n) for n in range(1, 6)]


@pytest.mark.parametrize("opinionated", [False, True])
def test_intervals_cover_the_true_share_although_voters_repeat_themselves(opinionated):
    covered = []
    rng = Random(2)
    for _ in range(150):
        [rows] = rate(simulated(rng=rng, voters=25, each=15, opinionated=opinionated))
        covered += [row.share.low <= win_probability(TRUE[row.planner]) <= row.share.high for row in rows]
    # 750 intervals that are nominally 95 %; of one data set they are dependent.
    assert 0.93 <= np.mean(covered) <= 0.995


def test_equal_planners_are_seldom_told_apart():
    equal, wrong = dict.fromkeys("abcde", 0.0), 0
    rng = Random(3)
    for _ in range(150):
        [rows] = rate(simulated(rng=rng, voters=25, each=15, opinionated=True, true=equal))
        wrong += any(row.ranks.low > 1 or row.ranks.high < 5 for row in rows)
    assert wrong / 150 <= 0.08


def test_a_planner_that_won_every_vote_has_a_finite_strength():
    [rows] = rate([vote("a", "b", voter=f"v{number}") for number in range(40)])
    assert [row.planner for row in rows] == ["a", "b"]
    assert 1 < rows[0].strength < 10


def test_a_tie_is_half_a_win_of_each():
    [ties] = rate([vote("a", "b", 0.5, voter=str(number)) for number in range(10)])
    assert [row.strength for row in ties] == pytest.approx([0, 0])
    [mixed] = rate([vote("a", "b", number % 2, voter=str(number)) for number in range(10)])
    assert [row.strength for row in mixed] == pytest.approx([0, 0])


def test_planners_that_no_votes_connect_are_in_groups_of_their_own():
    groups = rate([vote("a", "b"), vote("b", "c"), vote("x", "y", 0)])
    assert [[row.planner for row in rows] for rows in groups] == [["a", "b", "c"], ["y", "x"]]
    for rows in groups:
        assert sum(row.strength for row in rows) == pytest.approx(0)


def test_too_few_voters_give_neither_an_interval_nor_a_rank():
    [rows] = rate([vote("a", "b", voter=str(number % (LEAST_VOTERS - 1))) for number in range(100)])
    assert [(row.share.ends, row.ranks) for row in rows] == [(None, None), (None, None)]
    assert (rows[0].votes, rows[0].voters) == (100, LEAST_VOTERS - 1)


def test_the_order_of_votes_and_sides_changes_nothing():
    votes = simulated(rng=Random(4), voters=6, each=10, opinionated=True)
    turned = [vote(one.second, one.first, 1 - one.won, one.voter) for one in reversed(votes)]
    assert strengths_of(rate(turned)) == pytest.approx(strengths_of(rate(votes)))


def test_one_busy_voter_widens_the_intervals():
    """A hundred votes of one person are not those of a hundred people."""
    few = [vote("a", "b", float(number < 4), voter=f"v{number % 6}") for number in range(6)]
    busy = [*few, *(vote("a", "b", 1, voter="v0") for _ in range(100))]
    many = [*few, *(vote("a", "b", 1, voter=f"w{number}") for number in range(100))]
    [[of_one, _]], [[of_many, _]] = rate(busy), rate(many)
    assert of_one.strength == pytest.approx(of_many.strength)
    assert of_one.share.high - of_one.share.low > 2 * (of_many.share.high - of_many.share.low)


def test_no_votes_rate_nobody():
    assert rate([]) == []
