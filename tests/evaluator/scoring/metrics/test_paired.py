"""Comparisons are symmetric, seeded, and agree with what is known by hand and with the tests for one metric."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from evaluator.core.suites.base import IntervalMethod
from evaluator.scoring.metrics.paired import (
    LEVEL,
    PairTests,
    RankRange,
    bootstrap_columns,
    holm,
    mcnemar,
    pair_tests,
    paired_test,
    rank_ranges,
)
from evaluator.scoring.metrics.statistics import (
    DIFFERENCES,
    Interval,
    mean_of_tasks,
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
            assert 0 <= one.p_value <= 1
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


def test_the_interval_is_that_of_the_mean_of_tasks_but_for_the_draws():
    values = np.random.default_rng(5).random(200)
    (paired,) = bootstrapped(values[:, None])
    single = mean_of_tasks(values.tolist())
    assert paired is not None
    assert (paired.low, paired.high) == pytest.approx((single.low, single.high), abs=0.004)


def test_tasks_without_a_pair_are_left_out_and_counted_out():
    (interval,) = bootstrapped(column(*[0.4] * 10, np.nan, np.nan))
    assert interval is not None
    share = unseen_share(10)
    assert (interval.mean, interval.low, interval.high) == pytest.approx((0.4, 0.4 - 1.4 * share, 0.4 + 0.6 * share))
    assert interval.count == 10


def test_an_unbounded_column_of_fewer_than_ten_pairs_has_no_interval():
    """Also beside one that has enough: each column counts its own."""
    few = np.concatenate([np.arange(9.0), [np.nan] * 3])
    table = np.stack([few, np.arange(12.0)], axis=1)
    found, enough = bootstrap_columns(table, bounds=[(0.0, None)] * 2)
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


STRATA = ["ViT"] * 13 + ["BERT"] * 9 + ["CLIP"]
SCENES = {IntervalMethod.FIXED_TASKS: 12, IntervalMethod.SAMPLED_TASKS: 16}


def scores(*, method: IntervalMethod, rows: int = 7, spread: float = 0.05) -> np.ndarray:
    """(rows, tasks, samples) with effects of rows, tasks and scenes; some rows are equal or nearly."""
    rng = np.random.default_rng(2)
    samples = SCENES.get(method, 1)
    made = rng.normal(0.5, 0.1, (1, len(STRATA), 1)) + rng.normal(0, 0.05, (1, 1, samples))
    made = made + rng.normal(0, 0.1, (rows, len(STRATA), samples)) + rng.normal(0, spread, (rows, 1, 1))
    if method is IntervalMethod.WILSON:
        made = (made > 0.5).astype(float)
    made[1] = made[0]
    made[2] = made[0]
    made[2, 3] = 1 - made[2, 3]
    return np.round(made, 6)


@pytest.mark.parametrize("method", IntervalMethod)
def test_every_pair_has_the_test_that_it_has_alone(method):
    table = scores(method=method)
    found = pair_tests(table, method=method, strata=STRATA)
    for one, other in combinations(range(len(table)), 2):
        alone = paired_test(np.round(table[one] - table[other], 9), method=method, strata=STRATA)
        assert found.p_values[one, other] == found.p_values[other, one] == pytest.approx(alone.p_value, rel=1e-6)
        assert found.differences[one, other] == -found.differences[other, one] == pytest.approx(alone.mean, abs=1e-12)
    assert found.count == len(table) * (len(table) - 1) // 2


@pytest.mark.parametrize("method", IntervalMethod)
def test_rows_with_other_tasks_are_compared_on_what_both_have(method):
    table = scores(method=method)
    table[3, :2] = np.nan
    table[4, 20:] = np.nan
    found = pair_tests(table, method=method, strata=STRATA)
    for one, other in combinations(range(len(table)), 2):
        differences = table[one] - table[other]
        common = ~np.isnan(differences).any(axis=1)
        alone = paired_test(np.round(differences[common], 9), method=method, strata=np.array(STRATA)[common].tolist())
        assert found.p_values[one, other] == pytest.approx(alone.p_value, rel=1e-6)


def test_rows_of_floats_in_single_precision_are_read_as_they_were_published():
    table = scores(method=IntervalMethod.FIXED_TASKS)
    wide = pair_tests(table, method=IntervalMethod.FIXED_TASKS, strata=STRATA)
    slim = pair_tests(table.astype(np.float32), method=IntervalMethod.FIXED_TASKS, strata=STRATA)
    assert np.array_equal(wide.p_values, slim.p_values)


@pytest.mark.parametrize(
    ("method", "shape"),
    [
        (IntervalMethod.FIXED_TASKS, (3, 40, 4)),
        (IntervalMethod.SAMPLED_TASKS, (3, 4, 40)),
        (IntervalMethod.SAMPLED_TASKS, (3, 40, 4)),
        (IntervalMethod.BOOTSTRAP, (3, 4, 1)),
    ],
)
def test_too_few_scenes_or_tasks_are_not_tested(method, shape):
    table = np.random.default_rng(0).random(shape).round(0)
    found = pair_tests(table, method=method, strata=["a"] * shape[1])
    assert np.isnan(found.p_values).all()
    assert found.count == 0
    assert rank_ranges(found) == [None] * 3


def test_a_row_without_scores_has_no_range_and_leaves_those_of_the_others_open():
    table = np.repeat([0.9, 0.1, 0.5], 40).reshape(3, 40, 1) + np.random.default_rng(1).normal(0, 0.01, (3, 40, 1))
    table[2] = np.nan
    found = rank_ranges(pair_tests(table, method=IntervalMethod.BOOTSTRAP, strata=["a"] * 40))
    assert found == [RankRange(1, 2), RankRange(2, 3), None]


def tests_of(p_values: dict[tuple[int, int], float], *, rows: int) -> PairTests:
    """Row 0 is the best, and so on."""
    table = np.ones((rows, rows))
    for (one, other), p_value in p_values.items():
        table[one, other] = table[other, one] = p_value
    places = np.arange(rows)
    return PairTests(differences=(places[None, :] - places[:, None]).astype(float), p_values=table)


tests_of.__test__ = False


def test_ranges_by_hand():
    """Three pairs. Holm: 0.01 * 3 and 0.02 * 2 are significant, 0.06 is not."""
    tests = tests_of({(0, 2): 0.01, (1, 2): 0.02, (0, 1): 0.06}, rows=3)
    assert rank_ranges(tests) == [RankRange(1, 2), RankRange(1, 2), RankRange(3, 3)]
    assert rank_ranges(tests, higher_is_better=False) == [RankRange(2, 3), RankRange(2, 3), RankRange(1, 1)]


def test_holm_stops_at_the_first_pair_that_does_not_differ():
    """0.02 * 3 is not significant, so that 0.024 * 2 is not either."""
    assert rank_ranges(tests_of({(0, 1): 0.02, (0, 2): 0.024, (1, 2): 0.5}, rows=3)) == [RankRange(1, 3)] * 3


def test_significant_pairs_are_those_of_holms_adjusted_p_values():
    table = scores(method=IntervalMethod.FIXED_TASKS, rows=12, spread=0.01)
    tests = pair_tests(table, method=IntervalMethod.FIXED_TASKS, strata=STRATA)
    pairs = list(combinations(range(12), 2))
    adjusted = holm([tests.p_values[pair] for pair in pairs])
    better = [set[int]() for _ in range(12)]
    for (one, other), p_value in zip(pairs, adjusted, strict=True):
        if p_value < LEVEL:
            worse, best = (one, other) if tests.differences[one, other] < 0 else (other, one)
            better[worse].add(best)
    assert 0 < sum(map(len, better)) < len(pairs)
    for row, found in enumerate(rank_ranges(tests)):
        worse = sum(row in others for others in better)
        assert found == RankRange(1 + len(better[row]), 12 - worse)


def test_a_single_row_has_the_only_rank():
    found = pair_tests(np.ones((1, 20, 1)), method=IntervalMethod.WILSON, strata=["a"] * 20)
    assert rank_ranges(found) == [RankRange(1, 1)]
    assert rank_ranges(pair_tests(np.ones((0, 20, 1)), method=IntervalMethod.WILSON, strata=["a"] * 20)) == []
