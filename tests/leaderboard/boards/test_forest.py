"""The forest plot in a board's table, without a database."""

import pytest

from evaluator.core.signatures.statements import BoardSummary
from evaluator.core.suites.base import Column
from leaderboard.boards.drawing.forest import Forest, forest_of
from tests.leaderboard.boards.rows import METRICS, row

COLUMN = Column.from_json(METRICS[0])


def anchor(name: str, overall: float, *, day: int = 1) -> dict:
    finished = f"2026-11-{day:02}T10:00:00+00:00"
    return row(f"{name} of day {day}", overall=overall, strategy=name, rank=None, finished=finished)


def planner(name: str, overall: float, rank: int) -> dict:
    return row(name, overall=overall, kind="endpoint", rank=rank)


def plot(*rows: dict, groups: tuple[tuple[int, int], ...] = ()) -> Forest:
    summary = BoardSummary(leaders=1, groups=groups)
    return forest_of(rows=rows, summary=summary, column=COLUMN, scale=(0.0, 1.0))


def test_a_row_has_its_mean_its_interval_and_what_undecided_tasks_leave_open():
    marks = plot().marks({"mean": 0.5, "low": 0.25, "high": 1.0, "upper": 0.75})
    assert marks == ("50.0%", ("25.0%", "100.0%"), ("50.0%", "75.0%"))
    assert plot().marks({"mean": 1.5, "low": None, "high": None}) == ("100.0%", None, None), "off the scale: at its end"


def test_planners_that_cannot_be_told_apart_share_a_band_around_their_means():
    rows = [
        planner("a", 0.9, 1),
        planner("b", 0.6, 2),
        anchor("gold", 0.55),
        planner("c", 0.5, 3),
        planner("d", 0.1, 4),
    ]
    found = plot(*rows, groups=((1, 2),))
    of = {one["planner"]: found.bands.get(one["evaluation"]) for one in rows}
    assert of["b"] == of["c"] == ("48.5%", "13.0%")
    assert [name for name, band in of.items() if band is None] == ["a", "gold of day 1", "d"]
    assert set(found.ties.values()) == {(2, 3)}


def test_the_latest_row_of_each_anchor_is_a_line_also_of_further_seeds():
    found = plot(
        anchor("gold", 0.9, day=1), anchor("gold", 1.0, day=2), anchor("random-valid/2", 0.4), planner("a", 0.5, 1)
    )
    assert [(line.name, line.value, line.at) for line in found.references] == [
        ("gold", 1.0, "100.0%"),
        ("random-valid", 0.4, "40.0%"),
    ]


@pytest.mark.parametrize(("near", "line"), [(0.30, 2), (0.80, 1)])
def test_names_of_lines_do_not_cover_each_other(near, line):
    first, second = plot(anchor("no-op", 0.32), anchor("majority", near)).references
    assert (first.line, second.line) == (1, line)


def test_a_name_without_room_is_left_out():
    lines = plot(anchor("no-op", 0.5), anchor("majority", 0.5), anchor("parrot", 0.5)).references
    assert [line.line for line in lines] == [1, 2, 0]
