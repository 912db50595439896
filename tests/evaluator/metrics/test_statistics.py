"""Intervals are seeded, ordered, and as wide as the values are different."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.metrics.statistics import cluster_bootstrap


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_the_interval_holds_the_mean_and_stays_within_the_values(values):
    interval = cluster_bootstrap(values)
    assert min(values) - 1e-9 <= interval.low <= interval.mean + 1e-9
    assert interval.mean - 1e-9 <= interval.high <= max(values) + 1e-9
    assert interval.count == len(values)


def test_the_order_of_the_tasks_changes_nothing():
    assert cluster_bootstrap([0.1, 0.9, 0.4]) == cluster_bootstrap([0.9, 0.4, 0.1])


def test_equal_values_have_no_width():
    interval = cluster_bootstrap([0.25] * 9)
    assert (interval.low, interval.mean, interval.high) == (0.25, 0.25, 0.25)


def test_the_width_is_near_the_normal_approximation():
    values = [number / 99 for number in range(100)]
    interval = cluster_bootstrap(values)
    standard_error = 0.2916 / 10
    assert interval.high - interval.low == pytest.approx(2 * 1.96 * standard_error, rel=0.1)


def test_nothing_has_no_interval():
    with pytest.raises(ValueError, match="at least one"):
        cluster_bootstrap([])
