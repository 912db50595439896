"""All pairs of a board at once: the same tests as one by one, and the ranks that follow from them."""

from itertools import combinations

import numpy as np
import pytest

from evaluator.core.suites.base import IntervalMethod
from evaluator.scoring.metrics.paired import LEVEL, PairTests, RankRange, holm, pair_tests, paired_test, rank_ranges

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
        (IntervalMethod.SAMPLED_TASKS, (3, 9, 40)),
        (IntervalMethod.WILSON, (3, 9, 1)),
        (IntervalMethod.BOOTSTRAP, (3, 9, 1)),
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
