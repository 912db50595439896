"""The indicators in words and in groups, without a database."""

import pytest

from evaluator.suites.base import Column, IntervalMethod
from evaluator.suites.toolbench.suite import COLUMNS
from leaderboard.results.indicators import good_marks, marks

GOOD = {"SE": 1.0, "IR": 0.0, "NR": 1.0, "HR": 0.0, "CR": 1.0}
WORST = {"SE": 0.0, "IR": 1.0, "NR": 0.0, "HR": 1.0, "CR": 0.0}


def of(values: dict[str, float]):
    return marks(COLUMNS, outcome="scored", indicators=values)


@pytest.mark.parametrize(
    ("outcome", "indicators", "counted"),
    [
        ("scored", {**GOOD, "valid": 1.0}, of(GOOD)),
        ("planner_fault", {}, of(WORST)),
        ("infra_fault", GOOD, ()),
        ("not_run", {}, ()),
        ("", {}, ()),
    ],
)
def test_a_planner_fault_counts_as_the_worst_and_what_was_not_measured_not_at_all(outcome, indicators, counted):
    assert marks(COLUMNS, outcome=outcome, indicators=indicators) == counted


def test_marks_tell_good_from_bad_whatever_the_direction():
    assert all(mark.good for mark in of(GOOD))
    assert not any(mark.good for mark in of(WORST))
    assert [f"{mark.name} {mark.value}" for mark in of(WORST)] == ["SE 0", "IR 1", "NR 0", "HR 1", "CR 0"]
    assert (good_marks(of(GOOD)), good_marks(of(WORST)), good_marks(())) == (5, 0, None)


def test_a_suite_has_the_marks_that_its_columns_have_words_for():
    solved = Column(
        key="solved",
        label="Solved",
        description="",
        indicator=True,
        interval=IntervalMethod.WILSON,
        good="yes",
        bad="no",
    )
    graded = Column(key="f1", label="F1", description="", indicator=True)
    (mark,) = marks([solved, graded], outcome="scored", indicators={"solved": 1.0, "f1": 0.5})
    assert (mark.title, mark.words, mark.good) == ("Solved", "yes", True)
