"""Consistency of runs, against values that were worked out by hand or by counting."""

from itertools import combinations, product
from math import comb, exp
from statistics import mean

import pytest

from evaluator.core.plans.model import Plan, Step
from evaluator.reliability.consistency import (
    PlansAlike,
    outcome_consistency,
    pass_hat_k,
    plans_alike,
    resource_consistency,
)


@pytest.mark.parametrize("runs", [1, 4, 7])
def test_pass_hat_k_is_the_share_of_all_choices_of_k_runs_that_all_succeed(runs):
    for successes in range(runs + 1):
        outcomes = [True] * successes + [False] * (runs - successes)
        for k in range(1, runs + 1):
            chosen = list(combinations(outcomes, k))
            expected = sum(map(all, chosen)) / len(chosen)
            assert pass_hat_k(successes=successes, runs=runs, k=k) == pytest.approx(expected)
    for successes, k in ((1, 0), (1, runs + 1), (runs + 1, 1), (-1, 1)):
        with pytest.raises(ValueError, match="cannot be estimated"):
            pass_hat_k(successes=successes, runs=runs, k=k)


def test_outcomes_are_consistent_if_all_runs_end_alike():
    results = [outcome_consistency(successes=count, runs=4) for count in range(5)]
    assert results == pytest.approx([1.0, 0.0, -1 / 3, 0.0, 1.0])
    with pytest.raises(ValueError, match="two runs"):
        outcome_consistency(successes=1, runs=1)


@pytest.mark.parametrize("chance", [0.0, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("runs", [2, 3, 5, 10])
def test_the_expected_consistency_of_outcomes_does_not_depend_on_the_number_of_runs(runs, chance):
    expected = sum(
        comb(runs, successes)
        * chance**successes
        * (1 - chance) ** (runs - successes)
        * outcome_consistency(successes=successes, runs=runs)
        for successes in range(runs + 1)
    )
    assert expected == pytest.approx((2 * chance - 1) ** 2)


def test_the_expected_consistency_of_resources_does_not_depend_on_the_number_of_runs():
    """Each run uses 1, 2 or 6 with equal chances: the mean over all ways in which runs may come out."""
    means = [mean(map(resource_consistency, product((1.0, 2.0, 6.0), repeat=runs))) for runs in (2, 3, 5)]
    assert means == pytest.approx([means[0]] * 3)


def test_resources_are_consistent_if_all_runs_use_as_much():
    assert resource_consistency([3.0, 3.0, 3.0]) == 1.0
    assert resource_consistency([0.0, 0.0]) == 1.0
    # Mean 2, deviation 1.
    assert resource_consistency([1.0, 3.0]) == pytest.approx(exp(-0.5))
    assert resource_consistency([10.0, 30.0]) == pytest.approx(exp(-0.5))


def plan(*calls: tuple[str, str, str], answers: tuple[str, ...]) -> Plan:
    steps = tuple(
        Step(id=f"s{number}", tool=tool, inputs={"image": given}, outputs={"image": made})
        for number, (tool, given, made) in enumerate(calls)
    )
    return Plan(steps=steps, answers=answers)


CHAIN = plan(("Denoise", "$image", "a"), ("Colorize", "a", "b"), answers=("b",))
RENAMED = plan(("Denoise", "$image", "x"), ("Colorize", "x", "y"), answers=("y",))
REORDERED = plan(("Colorize", "a", "b"), ("Denoise", "$image", "a"), answers=("b",))
SHORTER = plan(("Denoise", "$image", "a"), answers=("a",))
CYCLE = plan(("Denoise", "b", "a"), ("Colorize", "a", "b"), answers=("b",))


def test_names_and_the_order_of_steps_do_not_count():
    assert plans_alike([CHAIN, RENAMED, REORDERED]) == PlansAlike(equal=1.0, edges=1.0)


def test_pairs_with_another_plan_are_not_equal_but_share_edges():
    # Edges of the chain: $image-Denoise, Denoise-Colorize, Colorize-answer; of the shorter one: $image-Denoise,
    # Denoise-answer. One is shared: F1 = 2 / 5.
    result = plans_alike([CHAIN, RENAMED, SHORTER])
    assert result.equal == pytest.approx(1 / 3)
    assert result.edges == pytest.approx((1 + 0.4 + 0.4) / 3)


def test_a_missing_plan_and_one_with_a_cycle_are_like_no_other():
    assert plans_alike([CHAIN, None]) == PlansAlike(equal=0.0, edges=0.0)
    assert plans_alike([CYCLE, CYCLE]).equal == 0.0
    assert plans_alike([CHAIN]) is None
    assert plans_alike([None, None]) is None
