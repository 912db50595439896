"""Intervals are seeded, ordered, and as wide as the values are different."""

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.scoring.metrics.paired import bootstrap_columns
from evaluator.scoring.metrics.statistics import (
    NEEDED,
    PERMUTATIONS,
    clustered_mean,
    ends_of,
    interval,
    mean_of_tasks,
    paired_permutation,
    paired_shares,
    wilson,
    without_spread,
)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_the_interval_holds_the_mean_and_stays_within_the_bounds(values):
    interval = mean_of_tasks(values)
    assert -1e-9 <= interval.low <= interval.mean + 1e-9
    assert interval.mean - 1e-9 <= interval.high <= 1 + 1e-9
    assert interval.low < interval.high
    assert interval.count == len(values)


@pytest.mark.parametrize("count", [5, 10, 30])
@pytest.mark.parametrize("kind", ["one in twenty near 0", "one in twenty at half", "a fifth anywhere", "skewed"])
def test_means_of_few_values_of_which_most_are_1_are_covered(kind, count, full):
    """At ten values of the first kind a percentile bootstrap covers 42 %, BCa 42 %, t 42 % (docs/validity.md)."""
    rng, draws = np.random.default_rng(6), 4000 if full else 300
    near_1 = 1 - 0.01 * rng.random((draws, count))
    rare = rng.random((draws, count)) < 0.05
    values, truth = {
        "one in twenty near 0": (
            np.where(rare, 0.05 * rng.random((draws, count)), near_1),
            0.95 * 0.995 + 0.05 * 0.025,
        ),
        "one in twenty at half": (np.where(rare, 0.5, near_1), 0.95 * 0.995 + 0.05 * 0.5),
        "a fifth anywhere": (np.where(rng.random((draws, count)) < 0.8, 1.0, rng.random((draws, count))), 0.9),
        "skewed": (rng.beta(5, 1, (draws, count)), 5 / 6),
    }[kind]
    ends = [mean_of_tasks(own).ends for own in values.tolist()]
    assert np.mean([low <= truth <= high for low, high in ends]) >= 0.95


def test_an_interval_of_unequal_values_near_equal_ones_is_that_of_equal_ones():
    equal, nearly = mean_of_tasks([0.5] * 20), mean_of_tasks([0.5] * 19 + [0.5 + 1e-9])
    assert nearly.ends == pytest.approx(equal.ends, abs=0.01)


def test_of_equal_values_some_of_what_was_not_drawn_may_be_anything():
    share = 1 - 0.025 ** (1 / 10)
    interval = mean_of_tasks([0.25] * 10)
    assert (interval.low, interval.high) == pytest.approx((0.25 - 0.25 * share, 0.25 + 0.75 * share))
    # All 1: the interval of Clopper and Pearson for 50 of 50 begins at 0.9289.
    assert without_spread(mean=1.0, bounds=(0.0, 1.0), count=50).low == pytest.approx(0.9289, abs=5e-5)
    assert without_spread(mean=3.0, bounds=(0.0, None), count=50).ends is None


@pytest.mark.parametrize("successes", [0, 1, 49, 50])
def test_shares_have_wilsons_interval_which_is_never_a_point(successes):
    values = [1.0] * successes + [0.0] * (50 - successes)
    assert mean_of_tasks(values) == wilson(successes=successes, total=50)


@pytest.mark.parametrize("n", [10, 50, 120])
@pytest.mark.parametrize("rare", [0.001, 0.01, 0.03])
def test_intervals_of_values_near_a_bound_cover(n, rare):
    """Each task is 0.4 instead of 1 with a small chance; most samples of tasks show no spread at all."""
    rng = np.random.default_rng(4)
    truth, draws = 1 - 0.6 * rare, 600
    drawn = np.where(rng.random((draws, n)) < rare, 0.4, 1.0)
    ends = [mean_of_tasks(values).ends for values in drawn.tolist() if len(set(values)) == 1]
    assert len(ends) > 10
    assert np.mean([low <= truth <= high for low, high in ends]) >= 0.95


INTERVALS = {
    "bootstrap": lambda count: mean_of_tasks([1.0, 9.0] * (count // 2) + [5.0] * (count % 2), bounds=(0.0, None)),
    "clusters": lambda count: clustered_mean([[0.1], [0.9, 5.0]] * (count // 2) + [[3.0]], bounds=(0.0, None)),
    "pairs": lambda count: bootstrap_columns(np.linspace(0, 1, count)[:, None], bounds=[(-9.0, None)])[0],
}


@pytest.mark.parametrize("name", INTERVALS)
@pytest.mark.parametrize("count", [2, 8])
def test_there_is_no_bootstrap_over_fewer_than_ten_values(name, count):
    found = INTERVALS[name](count)
    assert (found.low, found.high, found.ends) == (None, None, None)
    assert found.in_words() == f"— (needs {NEEDED})"


@pytest.mark.parametrize("name", INTERVALS)
def test_there_is_one_over_ten(name):
    found = INTERVALS[name](10)
    assert found.low <= found.mean <= found.high
    assert found.in_words(form=".2f") == f"{found.low:.2f} to {found.high:.2f}"


@pytest.mark.parametrize("count", [1, 2, 9])
def test_bounded_values_have_an_interval_however_few_they_are(count):
    for found in (
        wilson(successes=count // 2, total=count),
        mean_of_tasks([0.25 + 0.5 * place / count for place in range(count)]),
    ):
        assert found.low < found.mean < found.high or found.mean in (0.0, 1.0)


def test_what_counts_are_independent_units():
    assert interval(mean=0.5, low=0.4, high=0.6, count=185, enough=False).ends is None
    assert interval(mean=0.5, low=0.4, high=0.6, count=2, enough=True).ends == (0.4, 0.6)
    assert ends_of(low=None, high=None) is None


def test_nothing_has_no_interval():
    with pytest.raises(ValueError, match="at least one"):
        mean_of_tasks([])


@pytest.mark.parametrize("count", [1, 4, 5, 14])
def test_of_differences_that_are_all_positive_one_sign_change_in_all_is_as_extreme(count):
    assert paired_permutation([0.1] * count) == 2**-count


def test_pairs_without_a_difference_tell_nothing():
    assert paired_permutation([]) == 1.0
    assert paired_permutation([0.0] * 30) == 1.0
    assert paired_permutation([0.0] * 30 + [0.1] * 3) == paired_permutation([0.1] * 3) == 1 / 8


def test_all_sign_changes_are_counted_where_they_can_be():
    # Sums of signs of 0.3, 0.2 and 0.1: 0.6, 0.4, 0.2 and 0 (twice) are at least 0.
    assert paired_permutation([0.3, -0.2, -0.1]) == 5 / 8


def test_random_sign_changes_are_near_the_binomial_test():
    # 20 of 30 equal differences are positive: P(at least 20 of 30) = 0.0494 (binomial).
    assert paired_permutation([0.5] * 20 + [-0.5] * 10) == pytest.approx(0.0494, abs=0.005)


def test_a_p_value_of_drawn_sign_changes_counts_the_seen_one_in():
    assert paired_permutation([0.1] * 60) == 1 / (PERMUTATIONS + 1)


def test_the_mean_is_that_of_all_values():
    assert clustered_mean([[0.0, 0.0, 0.0], [1.0]]).mean == pytest.approx(0.25)
    assert clustered_mean([[0.0, 0.0, 0.0], [1.0]]).count == 2


def test_copies_within_clusters_make_the_interval_no_narrower():
    clusters = [[value / 10] for value in range(10)]
    once, often = clustered_mean(clusters), clustered_mean([cluster * 50 for cluster in clusters])
    assert (often.low, often.high) == pytest.approx((once.low, once.high))
    assert once.low < once.mean < once.high


def test_nothing_has_no_mean():
    for clusters in ([], [[0.5], []]):
        with pytest.raises(ValueError, match="at least one"):
            clustered_mean(clusters)


def test_ten_differences_of_one_by_hand():
    # With one pair added to each kind: (11 - 1) / 12, give or take 1.96 sqrt((1 - (10 / 12)^2) / 12).
    found = paired_shares([1.0] * 10)
    assert (found.mean, found.count, found.high) == (1.0, 10, 1.0)
    assert found.low == pytest.approx(0.8333 - 0.3127, abs=1e-3)


@pytest.mark.parametrize(("more", "less"), [(0.3, 0.1), (0.2, 0.2), (0.6, 0.0), (0.05, 0.05), (0.9, 0.02)])
def test_it_covers_the_difference_in_about_95_of_100_samples(more, less):
    total, covered = 30, 0.0
    for first in range(total + 1):
        for second in range(total + 1 - first):
            rest = total - first - second
            chance = comb(total, first) * comb(total - first, second) * more**first * less**second
            chance *= (1 - more - less) ** rest
            found = paired_shares([1] * first + [-1] * second + [0] * rest)
            covered += chance * (found.low <= more - less <= found.high)
    assert 0.93 < covered <= 1.0


@given(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=10, max_size=60))
def test_the_other_direction_mirrors_it_and_it_always_has_a_width(values):
    found, mirrored = paired_shares(values), paired_shares([-value for value in values])
    assert (found.low, found.high) == (pytest.approx(-mirrored.high), pytest.approx(-mirrored.low))
    assert -1 <= found.low < found.high <= 1


@pytest.mark.parametrize("values", [[], [0.5], [1.0, 2.0]])
def test_what_is_no_difference_of_shares_is_refused(values):
    with pytest.raises(ValueError, match="each must be -1, 0 or 1"):
        paired_shares(values)


@pytest.mark.parametrize(
    ("successes", "total", "low", "high"),
    [
        # Newcombe, Two-sided confidence intervals for the single proportion, Statistics in Medicine 17 (1998), Table I,
        # method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_published_intervals(successes, total, low, high):
    found = wilson(successes=successes, total=total)
    assert (found.low, found.high) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))
    assert found.mean == successes / total
    assert found.count == total


@given(st.integers(10, 400).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
def test_the_interval_holds_the_share_within_0_and_1_and_mirrors(drawn):
    successes, total = drawn
    found = wilson(successes=successes, total=total)
    assert 0.0 <= found.low <= found.mean <= found.high <= 1.0
    mirrored = wilson(successes=total - successes, total=total)
    assert found.low == pytest.approx(1 - mirrored.high)


@pytest.mark.parametrize(("successes", "total"), [(0, 0), (-1, 5), (6, 5)])
def test_what_is_no_share_is_refused(successes, total):
    with pytest.raises(ValueError, match="are no share"):
        wilson(successes=successes, total=total)
