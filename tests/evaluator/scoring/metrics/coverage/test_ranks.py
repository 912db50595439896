"""How often the ranks of a board are wrong, and how often they tell planners apart. Scores as in `test_coverage`."""

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluator.core.suites.base import IntervalMethod
from evaluator.scoring.metrics.paired import PairTests, RankRange, pair_tests, rank_ranges
from tests.evaluator.scoring.metrics.coverage.test_coverage import SCENES, TASKS, Table, drawn_tasks, measured, right_in

__all__ = ["measured"]
pytestmark = pytest.mark.full
EQUAL = 8
"""Planners of one board that are equal on average."""
REPLICATIONS = 4000


def equal_planners(measured) -> list[Table]:
    """Planners that each answer a random half of the tasks better and the others worse, by as much as gold and empty
    plans differ there, and whose means over all tasks and scenes are equal within each stratum."""
    rng = np.random.default_rng(3)
    made = []
    for _ in range(EQUAL):
        effect = (measured.gold - measured.noop) * rng.choice([-0.5, 0.5], len(measured.gold))[:, None]
        for one in np.unique(measured.strata):
            effect[measured.strata == one] -= effect[measured.strata == one].mean()
        made.append(effect)
    return made


def board(
    *, planners: list[Table], method: IntervalMethod, strata: NDArray[np.str_], rng: np.random.Generator
) -> PairTests:
    """One evaluation of all planners: scenes are drawn, and where they are a sample also the tasks."""
    scenes = rng.integers(0, planners[0].shape[1], SCENES)
    if method is IntervalMethod.FIXED_TASKS:
        rows = np.arange(len(strata))
    else:
        rows = drawn_tasks(strata=strata, rng=rng, count=TASKS)
    scores = np.stack([planner[np.ix_(rows, scenes)] for planner in planners])
    if not method.over_scenes:
        scores = scores.mean(axis=2, keepdims=True)
    return pair_tests(scores, method=method, strata=strata[rows].tolist())


@pytest.mark.parametrize(
    "method", [IntervalMethod.FIXED_TASKS, IntervalMethod.SAMPLED_TASKS, IntervalMethod.BOOTSTRAP], ids=str
)
def test_equal_planners_are_rarely_told_apart_one_by_one_and_as_a_board(measured, method):
    if method is IntervalMethod.BOOTSTRAP:
        # Judged plans have one value each, without scenes.
        tables = [np.repeat(table.mean(axis=1, keepdims=True), SCENES, axis=1) for table in equal_planners(measured)]
    else:
        tables = equal_planners(measured)
    rng, pairs = np.random.default_rng(5), np.triu_indices(EQUAL, k=1)
    singly, together = 0.0, 0
    for _ in range(REPLICATIONS):
        tests = board(planners=tables, method=method, strata=measured.strata, rng=rng)
        singly += float((tests.p_values[pairs] < 0.05).mean())
        together += rank_ranges(tests) != [RankRange(1, EQUAL)] * EQUAL
    assert singly / REPLICATIONS <= 0.06
    assert 0 < together / REPLICATIONS <= 0.06


def test_of_shares_equal_planners_are_rarely_told_apart():
    rng, pairs = np.random.default_rng(6), np.triu_indices(EQUAL, k=1)
    singly, together = 0.0, 0
    for _ in range(REPLICATIONS):
        scores = (rng.random((EQUAL, TASKS, 1)) < 0.8).astype(float)
        tests = pair_tests(scores, method=IntervalMethod.WILSON, strata=["a"] * TASKS)
        singly += float((tests.p_values[pairs] < 0.05).mean())
        together += rank_ranges(tests) != [RankRange(1, EQUAL)] * EQUAL
    assert 0.02 <= singly / REPLICATIONS <= 0.06
    assert together / REPLICATIONS <= 0.06


def test_on_a_seasons_board_planners_that_are_right_in_80_and_85_of_a_hundred_requests_have_ranks_of_their_own(
    measured,
):
    """The right tasks of each planner are among those of the next better one; six planners, fifteen pairs."""
    rows = drawn_tasks(strata=measured.strata, rng=np.random.default_rng(9), count=2000)
    gold, noop, strata = measured.gold[rows], measured.noop[rows], measured.strata[rows]
    planners = [noop]
    for share in (0.5, 0.65, 0.80, 0.85):
        planners.append(np.where(right_in(share, rng=np.random.default_rng(10), tasks=len(rows)), gold, noop))
    planners.append(gold)
    rng, separated = np.random.default_rng(5), 0
    runs = 400
    for _ in range(runs):
        drawn = drawn_tasks(strata=strata, rng=rng, count=2000)
        scenes = rng.integers(0, gold.shape[1], SCENES)
        scores = np.stack([planner[np.ix_(drawn, scenes)] for planner in planners])
        found = rank_ranges(pair_tests(scores, method=IntervalMethod.SAMPLED_TASKS, strata=strata[drawn].tolist()))
        separated += found[3:5] == [RankRange(3, 3), RankRange(2, 2)]
    assert separated / runs >= 0.85
