"""A strategy's notes as blocks: everything is shown, whatever its shape."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.pages.tasks.notes import MAX_ROWS, note_blocks

MAPPED = {"line": "Step 1: sharpen it", "best": "Image Deblurring", "similarity": 0.81234, "mapped": True}
UNMAPPED = {"line": "Step 2: enjoy", "best": "Sentiment Analysis", "similarity": 0.12, "mapped": False}


def only(notes):
    (block,) = note_blocks(notes)
    return block


def test_short_values_are_facts_and_long_texts_have_a_block():
    facts, text = note_blocks({"raw": "a\nb", "form": "program of lines", "threshold": 0.25, "truncated": True})
    assert facts.facts == (("Form", "program of lines"), ("Threshold", "0.25"), ("Truncated", "yes"))
    assert (text.kind, text.title, text.text) == ("text", "Raw", "a\nb")


def test_lines_that_are_mapped_to_nothing_are_marked():
    block = only({"lines": [MAPPED, UNMAPPED]})
    assert (block.kind, block.title) == ("table", "Lines, and what each was mapped to")
    assert block.columns == ("Line", "Best", "Similarity", "Mapped")
    assert [row.tone for row in block.rows] == ["", "bad"]
    assert block.rows[0].cells == ("Step 1: sharpen it", "Image Deblurring", "0.8123", "yes")


def test_candidates_have_their_tools_in_order_and_their_scores():
    block = only({"candidates": [{"tools": ["a", "b"], "score": 4.5, "thought": ""}, {"tools": [], "score": 1}]})
    assert block.columns == ("Tools", "Score")
    assert [row.cells for row in block.rows] == [("a → b", "4.5"), ("", "1")]


def test_many_numbers_by_name_are_scores_the_best_first():
    block = only({"tool_scores": {"a": 1.0, "b": 5.0, "c": 3.09, "d": 5.0}})
    assert (block.kind, block.facts) == ("scores", (("b", "5"), ("d", "5"), ("c", "3.09"), ("a", "1")))


def test_each_completion_is_followed_by_what_the_model_was_told():
    block = only({"completions": ["Action: x", "Final Answer: y"], "observations": ["result-1 (image)"]})
    assert [row.cells for row in block.rows] == [("Action: x", "result-1 (image)"), ("Final Answer: y", "")]


def test_nested_notes_are_groups_and_empty_ones_are_left_out():
    (group,) = note_blocks({"search": [{"subtask": 0, "candidates": [{"tools": ["a"]}], "tool_scores": {}}], "x": []})
    (first,) = group.children
    assert (first.kind, first.title) == ("group", "Search 1")
    assert [child.kind for child in first.children] == ["facts", "table"]


def test_long_lists_are_cut_and_say_so():
    assert only({"tolerated": ["x"] * (MAX_ROWS + 3)}).left_out == 3
    assert only({"lines": [MAPPED] * (MAX_ROWS + 1)}).left_out == 1


_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=20)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)),
    max_leaves=20,
)


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=8), _JSON, max_size=5))
def test_notes_of_any_shape_become_blocks(notes):
    for block in note_blocks(notes):
        assert block.kind in {"facts", "text", "list", "table", "turns", "scores", "group"}


def test_what_is_nested_too_deeply_is_shown_as_json():
    value = ["deep"]
    for _ in range(12):
        value = {"in": [value, value]}
    assert "deep" in json.dumps([block._asdict() for block in note_blocks({"x": value})], default=str)
