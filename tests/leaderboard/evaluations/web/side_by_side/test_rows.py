"""Steps, turns and candidates beside each other: which share a row, and which are marked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.arc.plan_forms import CANDIDATES
from evaluator.core.transcripts import ActionRun, StopReason, Transcript, TurnRun
from leaderboard.evaluations.web.side_by_side import aligned, candidates, episodes
from leaderboard.evaluations.web.tasks.grids_shown import grids_page
from leaderboard.evaluations.web.tasks.transcript_shown import MOST_TURNS, shown_transcript
from tests.leaderboard import grids


def shown(*turns: list[str], letter: str = "A", expected: str | None = "8"):
    """An episode whose turns have these actions, such as `Add 1, 2`."""
    runs = [
        TurnRun(
            received=["{}"],
            actions=[ActionRun(tool=text.partition(" ")[0], arguments=text.partition(" ")[2]) for text in turn],
        )
        for turn in turns
    ]
    found = Transcript(
        sample=0, formulation="iterative", turns=runs, stop=StopReason.ANSWERED, answer="7", expected=expected,
        score=0.0,
    )  # fmt: skip
    return shown_transcript(found, label=f"{letter}, ")


def rows_of(*transcripts):
    found = episodes(transcripts)
    assert found is not None
    return [
        (row.title, row.differs, [cell.action.text if cell and cell.action else None for cell in row.cells])
        for row in found.rows
    ]


def test_turns_are_aligned_by_number_and_different_actions_are_marked():
    one, other = shown(["Add 1, 2"], ["Add 3, 4"]), shown(["Add 1,  2"], ["Add 3, 5"], letter="B")
    assert rows_of(one, other) == [
        ("Turn 1", False, ["Add(1, 2)", "Add(1,  2)"]),
        ("Turn 2", True, ["Add(3, 4)", "Add(3, 5)"]),
    ]
    found = episodes([one, other])
    assert found.sentence == "The actions first differ in turn 2."
    for texts in (("8", "8"), (None, "8"), ("8", None)):
        assert episodes([shown(["Add 1"], expected=text) for text in texts]).expected.text == "8"


def test_actions_of_one_turn_are_aligned_by_their_tools():
    one, other = shown(["Look a", "Add 1, 2"]), shown(["Add 1, 2", "Stop x"], letter="B")
    assert rows_of(one, other) == [
        ("Turn 1, action 1", True, ["Look(a)", None]),
        ("Turn 1, action 2", False, ["Add(1, 2)", "Add(1, 2)"]),
        ("Turn 1, action 3", True, [None, "Stop(x)"]),
    ]
    first, *others = episodes([one, other]).rows
    assert all(cell.turn is not None for cell in first.cells)
    assert all(cell is None or cell.turn is None for row in others for cell in row.cells)


def test_an_episode_that_has_ended_differs_from_one_that_goes_on_without_an_action():
    assert rows_of(shown(["Add 1, 2"]), shown(["Add 1, 2"], [], letter="B")) == [
        ("Turn 1", False, ["Add(1, 2)"] * 2),
        ("Turn 2", True, [None, None]),
    ]


def test_what_is_withheld_differs_from_nothing():
    one = shown(["Add 1, 2"])
    assert rows_of(None, one) == [("Turn 1", False, [None, "Add(1, 2)"])]
    assert rows_of(None, one, shown(["Add 1, 2"], letter="C")) == [("Turn 1", False, [None, *["Add(1, 2)"] * 2])]
    assert episodes([None, one]).sentence == ""
    assert episodes([None, one, one]).sentence == "All planners take the same actions."
    assert episodes([None, None]) is None


def test_episodes_without_turns_have_no_row_and_long_ones_are_cut():
    assert rows_of(shown(), shown(letter="B")) == []
    long = shown(*[["Add 1"]] * (MOST_TURNS + 3))
    found = episodes([long, shown(["Add 1"], letter="B")])
    assert (len(found.rows), found.left_out) == (MOST_TURNS, 3)
    assert found.sentence == "The actions first differ in turn 2."


@pytest.fixture(scope="module")
def pages():
    given = {task.key: task.values_given for task in grids.TASKS}
    return {
        record.task: grids_page(given=given[record.task], record=record, tools=CANDIDATES.tools)
        for record in grids.records()
    }


def test_candidates_are_beside_each_other_by_their_place(pages):
    found = candidates([pages[grids.THIRD], pages[grids.STEPS]], letters="AB")
    assert [(row.title, row.differs, [cell is not None for cell in row.cells]) for row in found.final] == [
        ("Candidate 1", True, [True, True]),
        ("Candidate 2", False, [True, False]),
        ("Candidate 3", False, [True, False]),
    ]
    assert [cell.title for cell in found.final[0].cells] == ["A, Candidate 1", "B, Candidate 1"]


def test_tries_that_fail_differ_from_those_that_succeed(pages):
    found = candidates([pages[grids.EPISODE], pages[grids.THIRD]], letters="AB")
    assert [(row.title, row.differs) for row in found.tried] == [("Try 1", True), ("Try 2", True), ("Try 3", False)]
    assert all(one.expected is None for row in found.tried for cell in row.cells if cell for one in cell.demonstrations)


def test_what_is_withheld_has_no_cell(pages):
    found = candidates([None, pages[grids.THIRD]], letters="AB")
    assert [row.cells[0] for row in found.final] == [None] * 3
    assert found.demonstrations == pages[grids.THIRD].demonstrations
    assert not any(row.differs for row in found.final)
    assert candidates([None, None], letters="AB") is None


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


def test_repeated_tools_have_rows_of_their_own_and_plans_without_steps_are_plans_too():
    assert rows("ab", "aab") == [("a", (None, 0)), ("a", (0, 1)), ("b", (1, 2))]
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
