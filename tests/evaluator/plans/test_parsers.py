"""Parsers: what they read, what they tolerate, and that nothing else escapes from them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.plans import (
    Plan,
    PlanContext,
    PlanSyntaxError,
    Step,
    parse_canonical,
    parse_comma,
    plan_to_json,
    read_plan,
)
from evaluator.suites import suite_of
from evaluator.tools import OPENAGI, ResourceType

CONTEXT = PlanContext(catalogue=OPENAGI, resources={"image": ResourceType.IMAGE}, expects=ResourceType.TEXT)
TWO_TEXTS = PlanContext(
    catalogue=OPENAGI,
    resources={"document": ResourceType.TEXT, "query": ResourceType.TEXT},
    expects=ResourceType.TEXT,
)


def test_a_tool_with_two_texts_takes_document_and_query_in_order():
    plan = parse_comma(text="Fill Mask,Question Answering", context=TWO_TEXTS).plan
    assert dict(plan.steps[1].inputs) == {"document": "s1.text", "query": "$query"}


def test_linear_gold_plans_survive_the_comma_form():
    for task in suite_of("openagi").tasks:
        if task.structure == "linear":
            context = suite_of("openagi").context(task=task, offered=frozenset(OPENAGI.tools))
            assert parse_comma(text=", ".join(task.gold.tools()), context=context).plan == task.gold


def test_other_spellings_and_empty_names_are_recorded():
    parsed = parse_comma(text="image denoising,,Image  Captioning,", context=CONTEXT)
    assert parsed.plan.tools() == ("Image Denoising", "Image Captioning")
    assert parsed.tolerated == (
        "character 1: read 'image denoising' as 'Image Denoising'",
        "character 17: ignored an empty name",
        "character 18: read 'Image  Captioning' as 'Image Captioning'",
        "character 36: ignored an empty name",
    )


@pytest.mark.parametrize("text", ["", "  ", ",,,"])
def test_an_empty_sequence_is_no_plan(text):
    with pytest.raises(PlanSyntaxError, match="empty"):
        read_plan(value=text, context=CONTEXT)


names = st.text(min_size=1, max_size=8)
steps = st.builds(
    Step,
    id=names,
    tool=st.sampled_from(sorted(OPENAGI.tools)) | names,
    inputs=st.dictionaries(names, st.text(max_size=10), max_size=3),
    outputs=st.dictionaries(names, st.text(max_size=10), max_size=2),
)
plans = st.builds(
    Plan,
    steps=st.lists(steps, max_size=5).map(tuple),
    answers=st.lists(names, max_size=3).map(tuple),
    subgoals=st.none() | st.lists(names, max_size=2).map(tuple),
)


@given(plans)
def test_printing_then_parsing_is_the_identity(plan):
    text = json.dumps(plan_to_json(plan))
    assert parse_canonical(value=text, context=CONTEXT).plan == plan
