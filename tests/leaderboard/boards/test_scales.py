"""What the board's template gets, without a database."""

import pytest

from leaderboard.boards.scales import scale_of


def row(low: float, mean: float, high: float) -> dict:
    return {"metrics": {"overall": {"low": low, "mean": mean, "high": high}}}


@pytest.mark.parametrize(
    ("rows", "scale"),
    [
        ([row(0.81, 0.85, 0.89)], (0.8, 0.9)),
        ([row(0.81, 0.85, 0.89), row(0.42, 0.5, 0.55)], (0.4, 0.9)),
        ([row(0.0, 0.0, 0.0)], (0.0, 0.1)),
        ([row(1.0, 1.0, 1.0)], (0.9, 1.0)),
        ([row(0.1 + 0.2, 0.35, 0.4)], (0.3, 0.4)),
        ([{"metrics": {"overall": {"mean": 0.5, "low": None, "high": None}}}], (0.5, 0.6)),
        ([{"metrics": {}}, {"metrics": {"overall": None}}], None),
        ([], None),
    ],
)
def test_a_column_of_bars_spans_the_tenths_around_its_intervals(rows, scale):
    assert scale_of(rows=rows, metric="overall") == scale
