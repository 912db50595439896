"""The indicators in words and in groups, without a database."""

import pytest

from leaderboard.evaluations.indicators import (
    MEANINGS,
    ORDER,
    breakdown,
    counted_values,
    good_marks,
    marks,
    words_of,
)

GOOD = {"SE": 1.0, "IR": 0.0, "NR": 1.0, "HR": 0.0, "CR": 1.0}
WORST = {"SE": 0.0, "IR": 1.0, "NR": 0.0, "HR": 1.0, "CR": 0.0}


def test_every_indicator_has_words_for_both_values():
    assert set(ORDER) == set(MEANINGS) == set(GOOD)
    assert all(words_of(name, 0.0) != words_of(name, 1.0) for name in ORDER)


@pytest.mark.parametrize(
    ("outcome", "indicators", "counted"),
    [
        ("scored", {**GOOD, "valid": 1.0}, GOOD),
        ("planner_fault", {}, WORST),
        ("infra_fault", {}, {}),
        ("not_run", {}, {}),
        ("", {}, {}),
    ],
)
def test_a_planner_fault_counts_as_the_worst_and_what_was_not_measured_not_at_all(outcome, indicators, counted):
    assert counted_values(outcome=outcome, indicators=indicators) == counted


def test_marks_tell_good_from_bad_whatever_the_direction():
    assert all(mark.good for mark in marks(GOOD))
    assert not any(mark.good for mark in marks(WORST))
    assert [f"{mark.name} {mark.value}" for mark in marks(WORST)] == ["SE 0", "IR 1", "NR 0", "HR 1", "CR 0"]
    assert (good_marks(GOOD), good_marks(WORST), good_marks({})) == (5, 0, None)


def test_groups_come_in_the_order_asked_for_with_wilsons_interval():
    tasks = [("hard", WORST), *[("easy", GOOD), ("easy", WORST)] * 5, ("", GOOD), ("easy", {})]
    found = breakdown(facet="level", label="Level", tasks=tasks, order=("easy", "medium", "hard"))
    assert [(row.value, row.count) for row in found.rows] == [("easy", 10), ("hard", 1)]
    solved = found.rows[0].shares[0]
    # Wilson's interval of 5 of 10, computed by hand: 0.5 -+ 0.26341.
    assert (solved.name, solved.interval.mean) == ("SE", 0.5)
    assert solved.interval.ends == pytest.approx((0.2366, 0.7634), abs=5e-4)
    assert found.rows[1].shares[0].bar == {"mean": 0.0, "low": None, "high": None, "tasks": 1}
