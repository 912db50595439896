"""The score of what was read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.metrics.results import rule_score
from evaluator.metrics.results.texts import edit_distance, reading_score
from evaluator.metrics.rule_names import READING


@pytest.mark.parametrize(
    ("text", "reference", "score"),
    [
        ("old mill", "old mill", 1),
        ("  OLD\nmill ", "old mill", 1),
        ("", "", 1),
        ("", "mill", 0),
        ("mall", "mill", 0.75),
        ("old mil", "old mill", 0.875),
        ("mill old", "old mill", 0.25),
        ("the sign says mill", "mill", 4 / 18),
    ],
)
def test_the_share_of_the_longer_text_that_is_right(text, reference, score):
    assert reading_score(text, reference) == pytest.approx(score)


@given(first=st.text("ab ", max_size=8), second=st.text("ab ", max_size=8), third=st.text("ab ", max_size=8))
def test_edit_distance_is_a_distance(first, second, third):
    assert (edit_distance(first, second) == 0) == (first == second)
    assert edit_distance(first, second) == edit_distance(second, first)
    assert edit_distance(first, third) <= edit_distance(first, second) + edit_distance(second, third)
    assert abs(len(first) - len(second)) <= edit_distance(first, second) <= max(len(first), len(second))


def test_only_texts_are_compared():
    rule = rule_score(READING)
    assert rule is not None
    assert rule.score(outputs=["a"], references=["a"]) == [1]
    with pytest.raises(TypeError, match="compares str"):
        rule.score(outputs=["a"], references=[None])  # type: ignore[list-item]
