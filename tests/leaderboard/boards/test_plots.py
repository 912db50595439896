"""Coordinates of plots, without a database."""

import re

import pytest

from leaderboard.boards.pages.presenters import dollars_in_words
from leaderboard.boards.plots import HEIGHT, LEFT, RIGHT, TOP, WIDTH, against_cost, over_time
from tests.leaderboard.boards.rows import METRICS, row, usage

HIGHER, LOWER = METRICS


def on(day: int, planner: str, overall: float, **changes):
    return row(planner, overall=overall, finished=f"2026-11-{day:02}T10:00:00+00:00", **changes)


def names(plot) -> list[str]:
    return [line[1].split(" by ")[0] for line in plot.table]


def test_the_line_over_time_rises_with_every_new_best():
    rows = [on(3, "third", 0.4), on(1, "first", 0.3), on(2, "worse", 0.2), on(4, "equal", 0.4)]
    plot = over_time(rows=rows, metric=HIGHER)
    assert names(plot) == ["first", "third"]
    assert plot.dots.count("M") == 4
    assert plot.line.endswith(f"H{WIDTH - RIGHT:.1f}")


def test_where_less_is_better_the_line_falls():
    rows = [on(1, "a", 0.0), on(2, "b", 0.0), on(3, "c", 0.0)]
    for one, value in zip(rows, (0.5, 0.2, 0.3), strict=True):
        one["metrics"]["IR"] = {"mean": value}
    assert names(over_time(rows=rows, metric=LOWER)) == ["a", "b"]


def test_the_front_holds_what_no_cheaper_row_beats():
    rows = [
        row("cheap", overall=0.2, **usage(1.0)),
        row("dominated", overall=0.1, **usage(2.0)),
        row("dear", overall=0.6, **usage(5.0)),
        row("same cost, worse", overall=0.5, **usage(5.0)),
        row("unknown cost", overall=0.9),
    ]
    plot = against_cost(rows=rows, metric=HIGHER, cost="seconds")
    assert names(plot) == ["cheap", "dear"]
    assert plot.description.startswith("4 planners")


def test_costs_of_very_different_size_are_drawn_on_a_logarithmic_axis():
    rows = [row("a", overall=0.2, **usage(0.01)), row("b", overall=0.5, **usage(10.0)), row("c", **usage(0.1))]
    plot = against_cost(rows=rows, metric=HIGHER, cost="seconds")
    assert "(logarithmic)" in plot.x_label
    assert [tick.text for tick in plot.x_ticks] == ["10 ms", "100 ms", "1.0 s", "10.0 s"]


@pytest.mark.parametrize("seconds", [[0.0], [0.0, 0.0], [3.0], [0.001, 5000.0]])
def test_every_point_lies_within_the_frame(seconds):
    rows = [row(f"p{n}", overall=[-0.3, 1.0][n % 2], **usage(value)) for n, value in enumerate(seconds)]
    plots = [against_cost(rows=rows, metric=HIGHER, cost="seconds"), over_time(rows=rows, metric=HIGHER)]
    for plot in plots:
        for x, y in re.findall(r"M(-?[\d.]+) (-?[\d.]+)h0", plot.dots):
            assert LEFT <= float(x) <= WIDTH - RIGHT
            assert TOP <= float(y) <= HEIGHT


def test_without_values_there_is_no_plot():
    assert over_time(rows=[row(overall=None)], metric=HIGHER) is None
    assert against_cost(rows=[row()], metric=HIGHER, cost="tokens") is None


@pytest.mark.parametrize(
    ("usd", "words"),
    [(None, ""), (0.0, "$0"), (0.00001, "$0.00001"), (0.0001234, "$0.000123"), (0.5, "$0.50"), (12.345, "$12.35")],
)
def test_costs_are_written_with_three_digits_however_small(usd, words):
    assert dollars_in_words(usd) == words


def test_the_front_by_cost_holds_only_rows_whose_cost_is_known():
    rows = [row("paid", overall=0.4, cost={"usd": 0.002}), row("free?", overall=0.9), row("dear", cost={"usd": 0.1})]
    plot = against_cost(rows=rows, metric=HIGHER, cost="cost")
    assert names(plot) == ["paid", "dear"]
    assert plot.x_label.startswith("US dollars at declared prices")
