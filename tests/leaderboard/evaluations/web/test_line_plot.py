"""Coordinates of line plots."""

from leaderboard.evaluations.web.line_plot import BOTTOM, HEIGHT, TOP, Point, sequence_plot, up


def plot(points, scale=(0.0, 1.0), first=1):
    return sequence_plot(
        key="p", title="t", description="d", labels=("x", "y"), points=points, scale=scale, first=first
    )


def test_values_are_at_equal_distances_with_their_intervals_and_numbers():
    drawn = plot([Point(0.2, 0.1, 0.3, "a"), Point(0.4, None, None, "b"), Point(0.6, 0.5, 0.7, "c")], first=4)
    places = [float(dot.x) for dot in drawn.dots]
    assert round(places[1] - places[0], 1) == round(places[2] - places[1], 1)
    assert [tick.text for tick in drawn.x_ticks] == ["4", "5", "6"]
    assert [(whisker.low, whisker.high) for whisker in drawn.whiskers] == [(up(0.1), up(0.3)), (up(0.5), up(0.7))]
    assert drawn.line.count("L") == 2


def test_the_line_is_interrupted_where_a_value_is_missing():
    drawn = plot([Point(0.2, None, None, "a"), None, Point(0.4, None, None, "b"), Point(0.5, None, None, "c")])
    assert drawn.line.count("M") == 2
    assert drawn.line.count("L") == 1
    assert len(drawn.dots) == 3


def test_an_axis_without_an_upper_end_reaches_the_largest_value():
    drawn = plot([Point(2.0, 1.0, 4.0, "a"), Point(3.0, None, None, "b")], scale=(0.0, None))
    assert drawn.whiskers[0].high == f"{TOP:.1f}"
    assert drawn.y_ticks[0].at == f"{HEIGHT - BOTTOM:.1f}"
    assert drawn.y_ticks[-1].text == "4"


def test_many_values_have_a_number_at_every_other_one():
    drawn = plot([Point(0.5, None, None, str(number)) for number in range(30)])
    assert len(drawn.x_ticks) <= 12
