"""How many tasks have each cause."""

import pytest

from evaluator.causes import Cause
from leaderboard.results.cause_counts import NOT_FOUND, cause_bars, codes_of, place_of_cause, why, words_of_cause


def test_bars_come_by_frequency_with_their_share_of_the_tasks_that_ran():
    found = cause_bars(
        [
            ("scored", ("wrong_tool", "missing_step")),
            ("planner_fault", ("missing_step",)),
            ("scored", ()),
            ("infra_fault", (NOT_FOUND,)),
            ("not_run", ()),
            ("pending", ()),
        ]
    )
    assert (found.ran, found.below, found.at_gold, found.unknown) == (4, 2, 1, 1)
    assert [(bar.cause, bar.tasks, bar.share) for bar in found.bars] == [
        ("missing_step", 2, 0.5),
        ("wrong_tool", 1, 0.25),
    ]
    assert found.bars[0].label == "Missing step"
    assert found.bars[0].definition == Cause.MISSING_STEP.definition


def test_causes_of_one_frequency_come_in_the_order_of_the_taxonomy():
    found = cause_bars([("scored", ("invented_tool",)), ("scored", ("extra_step",))])
    assert [bar.cause for bar in found.bars] == ["extra_step", "invented_tool"]


def test_without_a_task_that_ran_there_is_no_bar():
    found = cause_bars([("not_run", ()), ("cancelled", ())])
    assert (found.ran, found.bars) == (0, ())


def test_a_row_has_each_cause_once_in_the_order_of_the_taxonomy_and_none_that_is_unknown():
    kept = [{"cause": "wrong_tool"}, {"cause": "missing_step"}, {"cause": "wrong_tool", "step": "s2"}, {"cause": "new"}]
    assert codes_of(kept) == ("missing_step", "wrong_tool")
    assert codes_of(None) is None


@pytest.mark.parametrize(
    ("outcome", "kept", "expected"),
    [
        ("scored", None, (NOT_FOUND,)),
        ("infra_fault", None, (NOT_FOUND,)),
        ("not_run", None, ()),
        ("scored", [], ()),
        ("planner_fault", [{"cause": "timeout"}], ("timeout",)),
    ],
)
def test_a_row_whose_causes_are_not_known_says_so(outcome, kept, expected):
    assert why(kept=kept, outcome=outcome) == expected


def test_every_value_of_the_filter_has_words_and_a_place():
    assert words_of_cause("wrong_tool") == "Wrong tool"
    assert words_of_cause(NOT_FOUND) == "Not found yet"
    assert words_of_cause("no-such-cause") == "No-such-cause"
    places = [place_of_cause(value) for value in (*Cause, NOT_FOUND, "no-such-cause")]
    assert places == sorted(set(places))
