"""Which steps of several plans belong together."""

from hypothesis import given
from hypothesis import strategies as st

from leaderboard.pages.side_by_side.aligning import aligned


def rows(*plans: str) -> list[tuple[str, tuple[int | None, ...]]]:
    return [(row.tool, row.places) for row in aligned([list(plan) for plan in plans])]


def test_equal_steps_stand_beside_each_other_and_others_alone():
    assert rows("abd", "acd") == [("a", (0, 0)), ("b", (1, None)), ("c", (None, 1)), ("d", (2, 2))]


def test_a_third_plan_finds_the_steps_of_both():
    found = aligned([list("ab"), list("bc"), list("abc")])
    assert [(row.tool, row.places) for row in found] == [
        ("a", (0, None, 0)), ("b", (1, 0, 1)), ("c", (None, 1, 2)),
    ]  # fmt: skip
    assert [row.is_in_all for row in found] == [False, True, False]


def test_a_tool_that_one_plan_calls_twice_has_a_row_of_its_own():
    assert rows("ab", "aab") == [("a", (None, 0)), ("a", (0, 1)), ("b", (1, 2))]


def test_plans_without_steps_are_plans_too():
    assert rows("", "a") == [("a", (None, 0))]
    assert rows("", "") == []


@given(st.lists(st.text("abc", max_size=8), min_size=2, max_size=4))
def test_every_step_comes_once_and_in_the_order_of_its_plan(plans):
    found = aligned([list(plan) for plan in plans])
    for number, plan in enumerate(plans):
        places = [row.places[number] for row in found if row.places[number] is not None]
        assert places == list(range(len(plan)))
        assert all(row.tool == plan[row.places[number]] for row in found if row.places[number] is not None)
    assert all(len(row.places) == len(plans) for row in found)
