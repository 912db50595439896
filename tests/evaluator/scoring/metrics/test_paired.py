"""Comparisons are symmetric, seeded, and agree with what is known by hand and with the tests for one metric."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from evaluator.core.suites.base import IntervalMethod
from evaluator.scoring.metrics.paired import bootstrap_columns, holm, mcnemar, paired_test
from evaluator.scoring.metrics.statistics import (
    DIFFERENCES,
    Interval,
    cluster_bootstrap,
    paired_permutation,
    unseen_share,
)

TABLES = arrays(
    np.float64,
    st.tuples(st.integers(1, 30), st.integers(1, 3)),
    elements=st.one_of(st.sampled_from([-1.0, 0.0, 1.0, np.nan]), st.floats(-1, 1, width=32)),
)


def bootstrapped(table: np.ndarray) -> list[Interval | None]:
    return bootstrap_columns(table, bounds=[DIFFERENCES] * table.shape[1])


def column(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)[:, None]


@settings(max_examples=40, deadline=None)
@given(TABLES)
def test_exchanging_the_evaluations_only_changes_signs(table):
    for one, other in zip(bootstrapped(table), bootstrapped(-table), strict=True):
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert one.mean == pytest.approx(-other.mean, abs=1e-9)
            assert (one.ends is None) == (other.ends is None)
            if one.ends and other.ends:
                assert one.ends == pytest.approx((-other.ends[1], -other.ends[0]), abs=1e-6)
    for method in IntervalMethod:
        differences = np.nan_to_num(table)
        strata = ["a"] * len(differences)
        one, other = (paired_test(sign * differences, method=method, strata=strata) for sign in (1, -1))
        assert (one.p_value is None) == (other.p_value is None) == (not one.enough)
        if one.p_value is not None:
            assert 0 < one.p_value <= 1
            assert one.p_value == pytest.approx(other.p_value, rel=1e-6)


def test_identical_evaluations_differ_by_nothing_and_p_is_1():
    (interval,) = bootstrapped(np.zeros((50, 1)))
    assert interval is not None
    # Up to 7 % of all tasks may differ by 1 without one among 50.
    assert (interval.mean, interval.low, interval.high) == pytest.approx((0, -0.0711, 0.0711), abs=5e-5)
    (sizes,) = bootstrap_columns(np.zeros((50, 1)), bounds=[(-math.inf, None)])
    assert sizes is not None
    assert (sizes.mean, sizes.ends) == (0, None)
    for method in (IntervalMethod.WILSON, IntervalMethod.BOOTSTRAP):
        assert paired_test(np.zeros((50, 1)), method=method, strata=()).p_value == 1.0


def test_by_hand_the_sign_test_of_yes_or_no_figures():
    """20 against 10 discordant tasks: McNemar's exact two-sided p-value is 0.0987 (binomial table)."""
    differences = column(*[1.0] * 20, *[-1.0] * 10, *[0.0] * 70)
    found = paired_test(differences, method=IntervalMethod.WILSON, strata=())
    assert found.p_value == pytest.approx(0.0987, abs=5e-5)
    assert (found.mean, found.units) == (pytest.approx(0.1), 100)


def test_the_sign_test_is_what_trying_all_sign_changes_gives():
    for positive in range(8, 15):
        differences = [1.0] * positive + [-1.0] * (14 - positive)
        assert mcnemar(np.array([*differences, 0.0])) == pytest.approx(min(1.0, 2 * paired_permutation(differences)))
    assert mcnemar(np.ones(200)) == 2.0**-199


def test_graded_values_have_students_paired_t_over_tasks():
    """Differences 1 to 12 less 5: mean 1.5, standard deviation 3.6056, t = 1.4412 with 11 degrees of freedom; the
    two-sided p-value is 0.1774."""
    found = paired_test(column(*range(-4, 8)), method=IntervalMethod.BOOTSTRAP, strata=())
    assert found.p_value == pytest.approx(0.1774, abs=5e-5)
    assert (found.mean, found.units, found.tasks) == (1.5, 12, 12)


def test_the_t_test_of_many_tasks_agrees_with_random_sign_changes():
    rng = np.random.default_rng(3)
    table = rng.normal(0.08, 0.5, size=(120, 3))
    for values in table.T:
        p_value = paired_test(values[:, None], method=IntervalMethod.BOOTSTRAP, strata=()).p_value
        assert p_value == pytest.approx(2 * paired_permutation(values.tolist()), abs=0.012)


def test_values_that_are_shares_have_the_t_test_even_in_a_column_of_yes_or_no():
    values = column(*[0.5] * 9, *[-0.5] * 2, *[0.0] * 9)
    graded = paired_test(values, method=IntervalMethod.BOOTSTRAP, strata=())
    assert paired_test(values, method=IntervalMethod.WILSON, strata=()).p_value == graded.p_value


def test_the_interval_is_that_of_the_cluster_bootstrap_but_for_the_draws():
    values = np.random.default_rng(5).random(200)
    (paired,) = bootstrapped(values[:, None])
    single = cluster_bootstrap(values.tolist())
    assert paired is not None
    assert (paired.low, paired.high) == pytest.approx((single.low, single.high), abs=0.004)


def test_tasks_without_a_pair_are_left_out_and_counted_out():
    (interval,) = bootstrapped(column(*[0.4] * 10, np.nan, np.nan))
    assert interval is not None
    share = unseen_share(10)
    assert (interval.mean, interval.low, interval.high) == pytest.approx((0.4, 0.4 - 1.4 * share, 0.4 + 0.6 * share))
    assert interval.count == 10


def test_a_column_of_fewer_than_ten_pairs_has_no_interval():
    """Also beside one that has enough: each column counts its own."""
    few = np.concatenate([np.arange(9.0), [np.nan] * 3])
    found, enough = bootstrapped(np.stack([few, np.arange(12.0)], axis=1))
    assert found is not None
    assert enough is not None
    assert (found.mean, found.low, found.high, found.count) == (4.0, None, None, 9)
    assert enough.ends is not None


@pytest.mark.parametrize(
    ("given_values", "expected"),
    [
        ([], []),
        ([0.04], [0.04]),
        # Holm's own rule by hand: 3 * 0.01, 2 * 0.02, then 0.03 raised to what stands before it.
        ([0.02, 0.01, 0.03], [0.04, 0.03, 0.04]),
        ([0.9, 0.8], [1.0, 1.0]),
    ],
)
def test_holm_by_hand(given_values, expected):
    assert holm(given_values) == pytest.approx(expected)
