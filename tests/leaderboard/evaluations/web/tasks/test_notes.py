"""A strategy's notes, reasons, defects and steps as a page shows them, without a database."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.core.records import Outcome, ResultRecord
from evaluator.core.suites.registry import suite_of
from leaderboard.evaluations.web.tasks.planning_presenters import (
    MAX_ROWS,
    calls,
    defects,
    note_blocks,
    split_reasons,
    step_problems,
)

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


def test_long_lists_are_cut_and_what_is_nested_too_deeply_is_json():
    assert only({"tolerated": ["x"] * (MAX_ROWS + 3)}).left_out == 3
    assert only({"lines": [MAPPED] * (MAX_ROWS + 1)}).left_out == 1
    value = ["deep"]
    for _ in range(12):
        value = {"in": [value, value]}
    assert "deep" in json.dumps([block._asdict() for block in note_blocks({"x": value})], default=str)


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


SUITE = suite_of("toolmini")


@pytest.mark.parametrize(
    ("text", "parts", "sentences"),
    [
        ("", [], ()),
        ("Every argument has the declared type.", [], ("Every argument has the declared type.",)),
        (
            "step 1 (a): x is b, which does not exist there; step 12 (c): repeats step 1",
            [],
            ("Step 1 (a): x is b, which does not exist there", "Step 12 (c): repeats step 1"),
        ),
        (
            'ask "one; two" in a.png: no output is this; count "x (y)": no output is this',
            ['ask "one; two" in a.png', 'count "x (y)"'],
            ('Ask "one; two" in a.png: no output is this', 'Count "x (y)": no output is this'),
        ),
    ],
)
def test_joined_reasons_are_taken_apart_where_one_begins(text, parts, sentences):
    assert split_reasons(text, parts=parts) == sentences


def test_defects_that_this_release_does_not_know_are_shown_as_they_are():
    known, unknown = defects(["deprecated", "haunted"], defined=SUITE.defects)
    assert known.excludes
    assert "deprecated" in known.description
    assert (unknown.name, unknown.description, unknown.excludes) == ("haunted", "", False)


def make_record(**changes: object) -> ResultRecord:
    steps = [{"id": f"s{number}", "tool": "t", "inputs": {"image": "a.png"}, "outputs": {}} for number in (1, 2)]
    values = {"SE": 0.0, "IR": 1.0, "NR": 0.0, "HR": 0.0, "CR": 0.0}
    return ResultRecord(
        suite="toolmini", task="QA/0", request="", metric="SE", outcome=Outcome.SCORED, score=0.0,
        plan={"steps": steps, "answers": []}, indicators=values,
        explanations={"IR": "step 2 (t): repeats step 1", "CR": "step 1 (t): image is text; step 9 (t): gone"},
    ).model_copy(update=changes)  # fmt: skip


def test_steps_that_a_reason_begins_with_are_marked_and_arguments_are_kept_whole():
    found = step_problems(record=make_record(), suite=SUITE)
    assert {step: problem.words for step, problem in found.items()} == {"s2": "Irrelevant", "s1": "Wrong type"}
    assert [step for step, problem in found.items() if problem.is_type_conflict] == ["s1"]
    good = {"SE": 1.0, "IR": 0.0, "NR": 1.0, "HR": 0.0, "CR": 1.0}
    assert step_problems(record=make_record(indicators=good), suite=SUITE) == {}
    assert step_problems(record=make_record(plan=None), suite=SUITE) == {}
    (first, _) = calls(make_record().plan)
    assert (first.id, first.tool, first.arguments, first.outputs) == ("s1", "t", (("image", "a.png"),), ())
    assert calls({}) == ()
