"""Episodes beside each other: which actions share a row, and which are marked."""

import pytest

from evaluator.transcripts import ActionRun, StopReason, Transcript, TurnRun
from leaderboard.pages.side_by_side.turns import episodes
from leaderboard.pages.tasks.transcript_shown import MOST_TURNS, shown_transcript


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
    assert found.expected.text == "8"


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


@pytest.mark.parametrize("texts", [(None, "8"), ("8", None)])
def test_the_right_answer_is_that_of_whichever_episode_has_one(texts):
    assert episodes([shown(["Add 1"], expected=text) for text in texts]).expected.text == "8"


def test_episodes_without_turns_have_no_row_and_long_ones_are_cut():
    assert rows_of(shown(), shown(letter="B")) == []
    long = shown(*[["Add 1"]] * (MOST_TURNS + 3))
    found = episodes([long, shown(["Add 1"], letter="B")])
    assert (len(found.rows), found.left_out) == (MOST_TURNS, 3)
    assert found.sentence == "The actions first differ in turn 2."
