"""Plots of boards, without a database."""

import pytest

from leaderboard.boards.anchors import baseline_of
from leaderboard.boards.drawing.picture import Cells, Line, Link, Mark, Picture, Text, flat, scale_of
from leaderboard.boards.drawing.scatter import FRAME, MOST_LINKED, Box, box_of
from leaderboard.boards.web.plots import Plot, against_cost, over_time
from leaderboard.boards.web.presenters import dollars_in_words
from tests.leaderboard.boards.rows import METRICS, row, usage

HIGHER, LOWER = METRICS


def on(day: int, planner: str, overall: float, **changes):
    return row(planner, overall=overall, finished=f"2026-11-{day:02}T10:00:00+00:00", **changes)


def names(plot: Plot | None, *, every: bool = False) -> list[str]:
    assert plot is not None
    return [line[1].split(" by ")[0] for line in plot.table if every or line[5]]


def shapes(picture: Picture, kind, role: str = "") -> list:
    return [one for one in flat(picture.items) if isinstance(one, kind) and one.role.startswith(role)]


def test_the_line_over_time_rises_with_every_new_best_and_ends_with_the_data():
    rows = [on(3, "third", 0.4), on(1, "first", 0.3), on(2, "worse", 0.2), on(4, "equal", 0.4)]
    plot = over_time(rows=rows, metric=HIGHER)
    assert names(plot) == ["first", "third"]
    [line] = shapes(plot.picture, Line, "front")
    marks = sorted(mark.x for mark in shapes(plot.picture, Mark))
    assert len(marks) == 4
    assert (line.points[0][0], line.points[-1][0]) == (marks[0], marks[-1])
    assert marks[-1] < FRAME.right - 10
    falling = [on(1, "a", 0.0), on(2, "b", 0.0), on(3, "c", 0.0)]
    for one, value in zip(falling, (0.5, 0.2, 0.3), strict=True):
        one["metrics"]["IR"] = {"mean": value}
    assert names(over_time(rows=falling, metric=LOWER)) == ["a", "b"], "it falls where less is better"


def test_the_frontier_holds_what_no_cheaper_row_beats_and_ends_at_its_last_mark():
    rows = [
        row("cheap", overall=0.2, **usage(1.0)),
        row("dominated", overall=0.1, **usage(2.0)),
        row("dear", overall=0.6, **usage(5.0)),
        row("same cost, worse", overall=0.5, **usage(5.0)),
        row("slowest", overall=0.3, **usage(9.0)),
        row("unknown cost", overall=0.9),
    ]
    plot = against_cost(rows=rows, metric=HIGHER, cost="seconds")
    assert names(plot) == ["cheap", "dear"]
    assert plot.picture.description.startswith("5 planners")
    [line] = shapes(plot.picture, Line, "front")
    best = [mark for mark in shapes(plot.picture, Mark) if mark.role == "dot best"]
    assert line.points[-1] == max((mark.x, mark.y) for mark in best)


def test_an_axis_is_linear_unless_asked_for_and_begins_before_zero():
    rows = [row("a", overall=0.2, **usage(0.01)), row("b", overall=0.5, **usage(10.0)), row("c", **usage(0.1))]
    plot = against_cost(rows=rows, metric=HIGHER, cost="seconds")
    ticks = [text.text for text in shapes(plot.picture, Text, "tick") if text.anchor == "middle"]
    assert ticks == ["0", "2", "4", "6", "8", "10"]
    logarithmic = against_cost(rows=rows, metric=HIGHER, cost="seconds", is_log=True)
    ticks = [text.text for text in shapes(logarithmic.picture, Text, "tick") if text.anchor == "middle"]
    assert ticks == ["0.01", "0.1", "1", "10"]
    assert "(logarithmic)" in logarithmic.heads[1]
    free = against_cost(rows=[*rows, row("free", **usage(0.0))], metric=HIGHER, cost="seconds", is_log=True)
    assert "(logarithmic)" not in free.heads[1], "0 has no place on it"


@pytest.mark.parametrize(
    ("cost", "value", "label", "words"),
    [
        ("seconds", {"usage": {"seconds": 0.02}}, "Milliseconds", "20 ms"),
        ("seconds", {"usage": {"seconds": 20.0}}, "Seconds", "20.0 s"),
        ("cost", {"cost": {"usd": 0.002}}, "US dollars per 1,000 tasks", "$0.002"),
        ("cost", {"cost": {"usd": 0.2}}, "US dollars per task", "$0.20"),
        ("parameters", {"parameters": 7_000_000_000}, "Billion parameters", "7 B"),
    ],
)
def test_an_axis_has_the_unit_of_its_values(cost, value, label, words):
    plot = against_cost(rows=[row("a", **value)], metric=HIGHER, cost=cost)
    assert plot.heads[1].startswith(label)
    assert plot.table[0][2] == words


@pytest.mark.parametrize("seconds", [[0.0], [0.0, 0.0], [3.0], [0.001, 5000.0]])
def test_every_mark_lies_within_the_frame(seconds):
    rows = [row(f"p{n}", overall=[-0.3, 1.0][n % 2], **usage(value)) for n, value in enumerate(seconds)]
    for plot in (against_cost(rows=rows, metric=HIGHER, cost="seconds"), over_time(rows=rows, metric=HIGHER)):
        for mark in shapes(plot.picture, Mark):
            assert FRAME.left <= mark.x <= FRAME.right
            assert FRAME.top <= mark.y <= FRAME.bottom


def test_equal_values_are_all_seen_and_lead_to_their_evaluations():
    rows = [row(f"twin {n}", overall=0.5, **usage(2.0)) for n in range(30)]
    plot = against_cost(rows=rows, metric=HIGHER, cost="seconds")
    links = [item for item in plot.picture.items if isinstance(item, Link)]
    assert {link.address for link in links} == {f"/evaluations/{one['evaluation']}/" for one in rows}
    marks = shapes(plot.picture, Mark)
    apart = [abs(a.x - b.x) + abs(a.y - b.y) for n, a in enumerate(marks) for b in marks[:n]]
    assert min(apart) > 10
    assert len(shapes(plot.picture, Line, "leader")) == 29


def test_no_name_covers_a_mark_or_another_name():
    rows = [row(f"planner {n}", overall=0.3 + (n % 7) / 50, **usage(1.0 + n % 5)) for n in range(40)]
    plot = against_cost(rows=rows, metric=HIGHER, cost="seconds")
    boxes = [box_of(text) for text in shapes(plot.picture, Text, "name")]
    assert 3 < len(boxes) < 40
    assert not [n for n, box in enumerate(boxes) for other in boxes[:n] if box.overlaps(other)]
    marks = [Box(mark.x - 4, mark.y - 4, mark.x + 4, mark.y + 4) for mark in shapes(plot.picture, Mark)]
    assert not [box for box in boxes for mark in marks if box.overlaps(mark)]


def test_of_very_many_the_best_are_links_and_the_others_small_dots():
    rows = [row(f"p{n}", overall=n / 1000, **usage(1.0 + n)) for n in range(400)]
    plot = against_cost(rows=rows, metric=HIGHER, cost="seconds")
    assert len(shapes(plot.picture, Mark)) == len(plot.table) == MOST_LINKED
    [crowd] = shapes(plot.picture, Cells, "crowd")
    assert len(crowd.runs) == plot.left_out == 400 - MOST_LINKED


def test_without_values_there_is_no_plot():
    assert over_time(rows=[row(overall=None)], metric=HIGHER) is None
    assert against_cost(rows=[row()], metric=HIGHER, cost="tokens") is None


def test_costs_are_written_with_three_digits_however_small():
    words = {None: "", 0.0: "$0", 0.00001: "$0.00001", 0.0001234: "$0.000123", 0.5: "$0.50", 12.345: "$12.35"}
    assert {usd: dollars_in_words(usd) for usd in words} == words


def test_a_column_of_bars_spans_the_tenths_around_its_intervals():
    def bar(low: float | None, mean: float, high: float | None) -> dict:
        return {"metrics": {"overall": {"low": low, "mean": mean, "high": high}}}

    for rows, scale in (
        ([bar(0.81, 0.85, 0.89)], (0.8, 0.9)),
        ([bar(0.81, 0.85, 0.89), bar(0.42, 0.5, 0.55)], (0.4, 0.9)),
        ([bar(0.0, 0.0, 0.0)], (0.0, 0.1)),
        ([bar(1.0, 1.0, 1.0)], (0.9, 1.0)),
        ([bar(0.1 + 0.2, 0.35, 0.4)], (0.3, 0.4)),
        ([bar(None, 0.5, None)], (0.5, 0.6)),
        ([{"metrics": {}}, {"metrics": {"overall": None}}], None),
        ([], None),
    ):
        assert scale_of(rows=rows, metric="overall") == scale


def majority(overall=0.3, **changes):
    return row("majority", overall=overall, **{"strategy": "majority", **changes})


def test_the_latest_majority_planner_is_the_baseline():
    rows = [row(), majority(0.2), majority(0.4, finished="2026-11-21T10:00:00+00:00", evaluation="last")]
    found = baseline_of(rows=rows, metric="overall")
    assert (found.evaluation, found.planner, found.value) == ("last", "majority", 0.4)
    for other in (row("majority"), majority(kind="endpoint"), majority(None)):
        assert baseline_of(rows=[other, row()], metric="overall") is None, "its name alone is not enough"


def test_plots_have_a_line_for_it():
    rows = [row(overall=0.5), majority(0.3)]
    found = baseline_of(rows=rows, metric="overall")
    plot = over_time(rows=rows, metric=HIGHER, baseline=found)
    shapes = [item for item in plot.picture.items if isinstance(item, Line | Text)]
    [line] = [one for one in shapes if one.role == "baseline"]
    [text] = [one for one in shapes if isinstance(one, Text) and one.text.startswith("baseline")]
    assert text.text == "baseline majority 0.300"
    assert FRAME.top < line.points[0][1] < FRAME.bottom
    without = over_time(rows=rows, metric=HIGHER)
    assert "baseline" not in {item.role for item in without.picture.items if isinstance(item, Line)}
