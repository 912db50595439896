"""Planning replies: subgoals, or the wish to stop."""

import pytest

from evaluator.plans.turns import MAX_SUBGOALS, Stop, Subgoals, TurnSyntaxError, read_plan_reply


def texts(reply):
    found = read_plan_reply(reply)
    assert isinstance(found, Subgoals)
    return [(subgoal.number, subgoal.text) for subgoal in found.subgoals]


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("Subgoal 1: Add; Subgoal 2: Divide.", [(1, "Add"), (2, "Divide.")]),
        ("Subgoal 1: Add; then stop; Subgoal 2: Divide;", [(1, "Add; then stop"), (2, "Divide")]),
        ("No, I will keep planning. Subgoal 2: Divide Subgoal 1.", [(2, "Divide Subgoal 1.")]),
        ("no, I will keep planning\nsubgoal 3: Go", [(3, "Go")]),
        ("\nSubgoal 1: a\nSubgoal 2: b", [(1, "a"), (2, "b")]),
    ],
)
def test_subgoals_are_read(reply, wanted):
    assert texts(reply) == wanted


def test_the_wish_to_stop_is_read():
    assert read_plan_reply(" Yes, I will stop planning. ") == Stop()
    assert "ignored 'Subgoal 2: x'" in read_plan_reply("Yes, I will stop planning. Subgoal 2: x").tolerated[0]


def test_numbers_that_do_not_follow_are_recorded():
    assert read_plan_reply("Subgoal 1: a; Subgoal 3: b").tolerated == ("line 1, column 15: Subgoal 3 after Subgoal 1",)


@pytest.mark.parametrize(
    ("reply", "offset", "words"),
    [
        ("", 0, "found the end"),
        ("Let us add.", 0, "found 'Let us add.'"),
        ("No, I will keep planning.", 25, "found the end"),
        ("Subgoal 1: a; Subgoal 2: ; Subgoal 3: b", 14, "Subgoal 2 has no text"),
    ],
)
def test_other_replies_are_errors_with_their_position(reply, offset, words):
    with pytest.raises(TurnSyntaxError) as raised:
        read_plan_reply(reply)
    assert raised.value.place.offset == offset
    assert words in raised.value.message


def test_a_thousand_subgoals_are_refused():
    with pytest.raises(TurnSyntaxError, match=f"at most {MAX_SUBGOALS} subgoals"):
        read_plan_reply("; ".join(f"Subgoal {number}: Go" for number in range(1000)))
