"""Scores by task and planner, without a database."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from evaluator.core.suites.base import Column, IntervalMethod
from leaderboard.boards.drawing.heat_map import Block, heat_map, level_of
from leaderboard.boards.drawing.picture import Area, Cells, Link, flat
from leaderboard.boards.matrix import (
    AS_IN_SUITE,
    CLUSTERED,
    HARDEST,
    SIMILAR,
    HeatPlanner,
    HeatTask,
    Solved,
    TaskMatrix,
    bands_of,
    planners_in_order,
    similar_order,
    solved_by,
)

GRADED = Column(key="overall", label="Overall", description="")
SHARE = Column(key="solved", label="Solved", description="", interval=IntervalMethod.WILSON)
NAN = float("nan")


def planners(count: int, *, gold: int | None = None) -> tuple[HeatPlanner, ...]:
    return tuple(HeatPlanner(f"p{n}", "ada", f"e{n}", n + 1, knows_gold=n == gold) for n in range(count))


def matrix(values: list[list[float]]) -> TaskMatrix:
    array = np.array(values, dtype=np.float32)
    of = planners(array.shape[1])
    solved, rule = solved_by(values=array, planners=of, column=SHARE, gold=None)
    tasks = tuple(HeatTask(str(number), "") for number in range(len(array)))
    return TaskMatrix(array, tasks, of, solved, rule, 0.0, 1.0)


def test_of_shares_the_best_value_alone_is_solved():
    values = np.array([[0, 0.9], [1, 0], [1, 1], [NAN, NAN], [NAN, 1]], dtype=np.float32)
    solved, _ = solved_by(values=values, planners=planners(2), column=SHARE, gold=None)
    assert solved == (Solved.NONE, Solved.SOME, Solved.ALL, Solved.UNKNOWN, Solved.ALL)


def test_of_graded_scores_most_of_the_gold_plans_score_is_solved_and_gold_itself_does_not_count():
    values = np.array([[0.5, 0.4, 0.46], [0.5, 0.1, 0.2], [0.0, 0.0, 0.0]], dtype=np.float32)
    solved, rule = solved_by(values=values, planners=planners(3, gold=0), column=GRADED, gold=0)
    assert solved == (Solved.SOME, Solved.NONE, Solved.NONE)
    assert "90 %" in rule


def test_without_gold_any_score_above_the_lowest_is_solved():
    values = np.array([[0.0, 0.1], [0.0, 0.0]], dtype=np.float32)
    solved, rule = solved_by(values=values, planners=planners(2), column=GRADED, gold=None)
    assert solved == (Solved.SOME, Solved.NONE)
    assert "above the lowest" in rule


def test_unsolved_tasks_come_first_and_similar_ones_together():
    found = matrix([[1, 1], [1, 0], [0, 0], [0, 1], [1, 0], [0, 0], [NAN, NAN]])
    bands = bands_of(found, order=CLUSTERED)
    assert [(band.solved, band.tasks) for band in bands] == [
        (Solved.NONE, (2, 5)),
        (Solved.SOME, (3, 1, 4)),
        (Solved.ALL, (0,)),
        (Solved.UNKNOWN, (6,)),
    ]
    [hardest] = bands_of(found, order=HARDEST)
    assert hardest.tasks == (2, 5, 1, 3, 4, 0, 6)
    [same] = bands_of(found, order=AS_IN_SUITE)
    assert same.tasks == tuple(range(7))


def test_similar_planners_are_neighbours():
    found = matrix([[1, 0, 1], [1, 0, 1], [0, 1, 0], [0, 0, 0]])
    assert planners_in_order(found, order="rank") == (0, 1, 2)
    order = planners_in_order(found, order=SIMILAR)
    assert abs(order.index(0) - order.index(2)) == 1


def test_shades_are_tenths_of_the_range():
    levels = {0.0: 0, 0.04: 0, 0.06: 1, 0.5: 5, 1.0: 10, 2.0: 10, -1: 0}
    assert {value: level_of(value, low=0.0, high=1.0) for value in levels} == levels


def draw(found: TaskMatrix, *, blocks: tuple[Block, ...] = ()):
    bands = bands_of(found, order=AS_IN_SUITE)
    columns = planners_in_order(found, order="rank")
    addresses = [f"/{one.evaluation}/" for one in found.planners]
    return heat_map(matrix=found, bands=bands, columns=columns, addresses=addresses, blocks=blocks, title="Tasks")


def test_neighbours_of_one_shade_are_one_rectangle():
    cells = [item for item in draw(matrix([[1, 0], [1, 0], [0, NAN]])).items if isinstance(item, Cells)]
    assert {one.role: len(one.runs) for one in cells} == {"missing": 1, "heat-0": 2, "heat-10": 1}


def test_very_many_tasks_share_pixels_and_blocks_cover_all_of_them():
    rng = np.random.default_rng(0)
    found = matrix((rng.random((2500, 4)) < 0.5).astype(float).tolist())
    blocks = tuple(Block(f"?page={n}", f"page {n}", first, 100) for n, first in enumerate(range(0, 2500, 100)))
    drawn = draw(found, blocks=blocks)
    assert drawn.width < 1300
    right = max(x + width for item in drawn.items if isinstance(item, Cells) for x, _, width in item.runs)
    areas = [item for item in flat(drawn.items) if isinstance(item, Area)]
    assert right == pytest.approx(areas[-1].x + areas[-1].width, abs=1.5)
    assert sum(isinstance(item, Link) for item in drawn.items) == 25 + 4


def digits(*rows: str) -> np.ndarray:
    """Each row by its digits in tenths; `-` is a missing value."""
    return np.array([[np.nan if one == "-" else int(one) / 10 for one in row] for row in rows], dtype=np.float32)


def test_similar_rows_are_neighbours_from_the_lowest_one_on():
    assert similar_order(digits("9900", "0099", "9901", "0098", "0000")) == [4, 3, 1, 2, 0]
    assert similar_order(digits("11", "99", "11", "99", "11")) == [0, 2, 4, 1, 3], "equal rows keep their order"
    assert similar_order(digits("9-9", "000", "999", "---")) == [1, 3, 0, 2], "a gap counts as the mean of its row"


@given(arrays(np.float32, st.tuples(st.integers(0, 12), st.integers(1, 4)), elements=st.floats(0, 1, width=32)))
def test_every_row_comes_once_and_always_in_the_same_place(values):
    order = similar_order(values)
    assert sorted(order) == list(range(len(values)))
    assert similar_order(values.copy()) == order
