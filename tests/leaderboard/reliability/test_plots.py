"""Plots of reliability profiles: coordinates stay within the drawing, whiskers and curves are where figures say."""

import pytest

from leaderboard.pages.line_plot import HEIGHT, LEFT, RIGHT, WIDTH
from leaderboard.pages.reliability.plots import dot_plot, reliability_diagram, risk_coverage


def value(mean: float, low: float | None = None, high: float | None = None) -> dict[str, object]:
    return {"mean": mean, "low": low, "high": high, "count": 30}


def test_a_dot_plot_has_a_whisker_for_each_interval_and_none_without():
    plot = dot_plot(key="k", title="t", x_label="x", values=[("a", value(0.5, 0.25, 1.0)), ("b", value(1.0))])
    first, second = plot.rows
    assert float(first.low) < float(first.x) < float(first.high) == plot.right
    assert (second.low, second.high) == ("", "")
    assert first.words == "a: 0.500, 95 % interval 0.250 to 1.000"


@pytest.mark.parametrize("largest", [0.3, 1.0, 1.01, 1.3, 2.0, 7.5, 40.0, 1200.0])
def test_the_scale_holds_the_largest_value_and_one_and_has_few_ticks(largest):
    plot = dot_plot(key="k", title="t", x_label="x", values=[("a", value(largest))], reference="nothing lost")
    assert 3 <= len(plot.ticks) <= 9
    assert plot.left <= float(plot.rows[0].x) <= plot.right
    assert plot.left <= float(plot.reference.at) <= plot.right
    assert float(plot.ticks[-1].at) == pytest.approx(plot.right, abs=0.1)


def test_without_values_there_is_no_dot_plot():
    assert dot_plot(key="k", title="t", x_label="x", values=[]) is None


def test_a_calibrated_bin_is_on_the_diagonal():
    bins = [{"low": 0.0, "high": 0.1, "answers": 3, "confidence": 0.0, "success": 0.0}]
    bins.append({"low": 0.9, "high": 1.0, "answers": 5, "confidence": 1.0, "success": 1.0})
    plot = reliability_diagram(bins)
    corners = [tuple(map(float, point.split())) for point in plot.reference.removeprefix("M").split("L")]
    assert [(float(dot.x), float(dot.y)) for dot in plot.dots] == corners
    assert "5 answers" in plot.dots[1].words


def test_the_curve_ends_at_the_risk_of_all_answers():
    plot = risk_coverage([[(number + 1) / 50, 0.25] for number in range(50)])
    last = plot.line.split("L")[-1].split()
    assert float(last[0]) == WIDTH - RIGHT
    assert last[1] == plot.reference.split("L")[-1].split()[1]
    assert LEFT < float(plot.dots[0].x) < WIDTH
    assert 0 < float(last[1]) < HEIGHT
    assert len(plot.dots) <= 11
