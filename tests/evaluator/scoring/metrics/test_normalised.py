"""Scores between doing nothing and gold plans."""

import numpy as np
import pytest

from evaluator.core.suites.base import IntervalMethod
from evaluator.scoring.metrics.crossed import AnchorsError, normalised

STRATA = ["a"] * 6 + ["b"] * 10
METHODS = [IntervalMethod.FIXED_TASKS, IntervalMethod.SAMPLED_TASKS]


def tables(scenes: int = 12) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A planner, gold plans and doing nothing: 0.5, about 0.8 and about 0.2."""
    rng = np.random.default_rng(1)
    shape = (len(STRATA), scenes)
    return rng.normal(0.5, 0.1, shape), rng.normal(0.8, 0.05, shape), rng.normal(0.2, 0.05, shape)


@pytest.mark.parametrize("method", METHODS)
def test_the_anchors_are_1_and_0_exactly(method):
    _, gold, floor = tables()
    for scores, expected in ((gold, 1), (floor, 0)):
        found = normalised(scores=scores, gold=gold, floor=floor, method=method, strata=STRATA)
        assert (found.mean, found.low, found.high) == pytest.approx((expected, expected, expected), abs=1e-12)


def test_by_hand_over_ten_scenes():
    """Room is 0.5 on every scene; the planner is 0.1 or 0.3 above the floor on five scenes each: ratio 0.4, standard
    deviation of the ratio over scenes 0.21082, its error 0.066667, and Student's t with 9 degrees of freedom 2.2622."""
    floor = np.zeros((4, 10))
    scores = np.tile([0.1, 0.3], 5)[None, :] + floor
    found = normalised(scores=scores, gold=floor + 0.5, floor=floor, method=METHODS[0], strata=["a"] * 4)
    assert (found.mean, found.low, found.high) == pytest.approx((0.4, 0.4 - 0.15081, 0.4 + 0.15081), abs=1e-5)


def test_over_fewer_than_five_scenes_there_is_no_interval():
    scores, gold, floor = tables(4)
    found = normalised(scores=scores, gold=gold, floor=floor, method=METHODS[0], strata=STRATA)
    assert (found.ends, found.count) == (None, 16)


def test_only_tasks_that_count_in_all_three_are_compared():
    scores, gold, floor = tables()
    scores[0], gold[1], floor[2] = np.nan, np.nan, np.nan
    found = normalised(scores=scores, gold=gold, floor=floor, method=METHODS[1], strata=STRATA)
    rest = normalised(scores=scores[3:], gold=gold[3:], floor=floor[3:], method=METHODS[1], strata=STRATA[3:])
    assert found == rest


def test_anchors_without_room_say_so():
    scores, gold, floor = tables()
    with pytest.raises(AnchorsError, match="no better than doing nothing"):
        normalised(scores=scores, gold=floor, floor=gold, method=METHODS[0], strata=STRATA)
    with pytest.raises(AnchorsError, match="no task in common"):
        normalised(scores=scores * np.nan, gold=gold, floor=floor, method=METHODS[0], strata=STRATA)
