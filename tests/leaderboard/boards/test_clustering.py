"""The order of similar rows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from leaderboard.boards.drawing import clustering
from leaderboard.boards.drawing.clustering import similar_order


def matrix(*rows: str) -> np.ndarray:
    """Each row by its digits in tenths; `-` is a missing value."""
    return np.array([[np.nan if one == "-" else int(one) / 10 for one in row] for row in rows], dtype=np.float32)


def test_similar_rows_are_neighbours_and_low_ones_first():
    assert similar_order(matrix("9900", "0099", "9901", "0098", "0000")) == [4, 3, 1, 0, 2]


def test_equal_rows_keep_their_order():
    assert similar_order(matrix("11", "99", "11", "99", "11")) == [0, 2, 4, 1, 3]


def test_a_missing_value_counts_as_the_mean_of_the_row():
    assert similar_order(matrix("9-9", "000", "999", "---")) == [1, 3, 0, 2]


def test_too_many_rows_are_sorted_by_their_means(monkeypatch):
    monkeypatch.setattr(clustering, "MOST_CLUSTERED", 2)
    assert similar_order(matrix("90", "05", "99", "00")) == [3, 1, 0, 2]


@given(arrays(np.float32, st.tuples(st.integers(0, 12), st.integers(1, 4)), elements=st.floats(0, 1, width=32)))
def test_every_row_comes_once_and_always_in_the_same_place(values):
    order = similar_order(values)
    assert sorted(order) == list(range(len(values)))
    assert similar_order(values.copy()) == order
