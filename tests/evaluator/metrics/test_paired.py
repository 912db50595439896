"""Comparisons are symmetric, seeded, and agree with what is known by hand and with the tests for one metric."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from evaluator.metrics.paired import bootstrap_columns, holm, two_sided_p_values
from evaluator.metrics.statistics import LEAST_VALUES, cluster_bootstrap, paired_permutation

TABLES = arrays(
    np.float64,
    st.tuples(st.integers(1, 30), st.integers(1, 3)),
    elements=st.one_of(st.sampled_from([-1.0, 0.0, 1.0, np.nan]), st.floats(-1, 1, width=32)),
)


def column(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)[:, None]


@settings(max_examples=40, deadline=None)
@given(TABLES)
def test_exchanging_the_evaluations_only_changes_signs(table):
    for one, other in zip(bootstrap_columns(table), bootstrap_columns(-table), strict=True):
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert one.mean == pytest.approx(-other.mean, abs=1e-9)
            assert (one.ends is None) == (other.ends is None)
            if one.ends and other.ends:
                assert one.ends == pytest.approx((-other.ends[1], -other.ends[0]), abs=1e-6)
    assert two_sided_p_values(table) == two_sided_p_values(-table)


@settings(max_examples=40, deadline=None)
@given(TABLES)
def test_the_interval_holds_within_the_values_and_p_is_a_probability(table):
    for number, interval in enumerate(bootstrap_columns(table)):
        values = table[~np.isnan(table[:, number]), number]
        assert (interval is None) == (not len(values))
        if interval is not None:
            assert interval.count == len(values)
            assert (interval.ends is None) == (len(values) < LEAST_VALUES)
            if interval.ends:
                low, high = interval.ends
                assert values.min() - 1e-6 <= low <= high <= values.max() + 1e-6
            assert interval.mean == pytest.approx(values.mean())
    assert all(0 < p_value <= 1 for p_value in two_sided_p_values(table))


def test_identical_evaluations_differ_by_nothing_and_p_is_1():
    (interval,) = bootstrap_columns(np.zeros((50, 1)))
    assert interval is not None
    assert (interval.mean, interval.low, interval.high, interval.count) == (0, 0, 0, 50)
    assert two_sided_p_values(np.zeros((50, 1))) == [1.0]


def test_by_hand_three_of_three_in_one_direction():
    """Of 2^3 sign changes one is as large as (0.1, 0.2, 0.3) and one as small: p = 2 / 8."""
    assert two_sided_p_values(column(0.1, 0.2, 0.3)) == [0.25]
    (interval,) = bootstrap_columns(column(0.1, 0.2, 0.3))
    assert interval is not None
    assert interval.mean == pytest.approx(0.2)


def test_by_hand_the_sign_test_of_yes_or_no_figures():
    """20 against 10 discordant tasks: McNemar's exact two-sided p-value is 0.0987 (binomial table)."""
    (p_value,) = two_sided_p_values(column(*[1.0] * 20, *[-1.0] * 10, *[0.0] * 70, np.nan))
    assert p_value == pytest.approx(0.0987, abs=5e-5)


def test_the_sign_test_is_what_trying_all_sign_changes_gives():
    for positive in range(8, 15):
        differences = [1.0] * positive + [-1.0] * (14 - positive)
        more = two_sided_p_values(column(*differences, 0.0))[0]
        assert more == pytest.approx(min(1.0, 2 * paired_permutation(differences)) if positive > 7 else 1.0)
    # One more task, and the exact test takes over from enumeration: both count 15 fair coins.
    assert two_sided_p_values(column(*[0.5] * 15)) == [2 * 2**-15]


def test_drawn_sign_changes_agree_with_the_test_for_one_metric():
    rng = np.random.default_rng(3)
    table = rng.normal(0.08, 0.5, size=(120, 3))
    for number, p_value in enumerate(two_sided_p_values(table)):
        assert p_value == pytest.approx(2 * paired_permutation(table[:, number].tolist()), abs=0.012)


def test_a_column_is_judged_alike_whatever_stands_beside_it_where_nothing_is_drawn():
    one, other = [0.5] * 9 + [-0.5] * 2, [0.1, 0.2, -0.3] + [0.0] * 8
    both = np.array([one, other]).T
    assert two_sided_p_values(both) == [*two_sided_p_values(column(*one)), *two_sided_p_values(column(*other))]


def test_the_interval_is_that_of_the_cluster_bootstrap_but_for_the_draws():
    values = np.random.default_rng(5).random(200)
    (paired,) = bootstrap_columns(values[:, None])
    single = cluster_bootstrap(values.tolist())
    assert paired is not None
    assert (paired.low, paired.high) == pytest.approx((single.low, single.high), abs=0.004)


def test_tasks_without_a_pair_are_left_out_and_counted_out():
    (interval,) = bootstrap_columns(column(*[0.4] * 10, np.nan, np.nan))
    assert interval is not None
    assert (interval.mean, interval.low, interval.high) == pytest.approx((0.4, 0.4, 0.4))
    assert interval.count == 10


def test_a_column_of_fewer_than_ten_pairs_has_no_interval():
    """Also beside one that has enough: each column counts its own."""
    few = np.concatenate([np.arange(9.0), [np.nan] * 3])
    found, enough = bootstrap_columns(np.stack([few, np.arange(12.0)], axis=1))
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
