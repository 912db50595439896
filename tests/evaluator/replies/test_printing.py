"""Printing a plan and parsing it again changes nothing, in every form that has a printer; sequences and trees."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.core.plans.model import Plan, PlanContext, PlanSyntaxError, Step, plan_to_json
from evaluator.core.suites.registry import suite_of
from evaluator.core.tools.catalogues import CONTROLLLM, OPENAGI
from evaluator.core.tools.types import ResourceType
from evaluator.replies.actions import answers_of
from evaluator.replies.canonical import parse_canonical
from evaluator.replies.comma import parse_comma
from evaluator.replies.controlllm import parse_controlllm
from evaluator.replies.lumos import parse_lumos
from evaluator.replies.printed import parse_printed
from evaluator.replies.read import read_plan
from evaluator.replies.tree import parse_tree
from tests.evaluator.replies.printing import (
    UnprintableError,
    plan_to_actions,
    plan_to_comma,
    plan_to_lumos,
    plan_to_printed,
    plan_to_tree,
)

OPEN = PlanContext(catalogue=CONTROLLLM, resources={}, expects=None)
FOUR = PlanContext(
    catalogue=OPENAGI,
    resources={"a": ResourceType.IMAGE, "b": ResourceType.TEXT, "c": ResourceType.TEXT, "d": ResourceType.IMAGE},
    expects=None,
)

texts = st.text(min_size=1, max_size=15)
references = st.sampled_from(
    ["<GEN>-0", "<GENERATED>-1", "<TOOL-GEN>-text-0", "<TOOL-GENERATED>-select_bbox-bbox-2", "R1", "s1.image", "R2"]
)


@st.composite
def steps_of_actions(draw, number):
    tool = CONTROLLLM[draw(st.sampled_from(sorted(CONTROLLLM.tools)))]
    inputs = {name: draw(references | texts) for name in tool.inputs if draw(st.booleans())}
    outputs = {name: draw(references) for name in tool.outputs}
    return Step(id=f"s{number}", tool=tool.name, inputs=inputs, outputs=outputs)


@st.composite
def plans_of_actions(draw, least=0):
    count = draw(st.integers(least, 5))
    steps = tuple(draw(steps_of_actions(number)) for number in range(1, count + 1))
    return Plan(steps=steps, answers=answers_of(steps=steps))


@settings(deadline=None)
@given(plans_of_actions())
def test_action_lists_as_json(plan):
    parsed = parse_controlllm(value=json.dumps(plan_to_actions(plan)), context=OPEN)
    assert (parsed.plan, parsed.tolerated) == (plan, ())
    assert read_plan(value=plan_to_actions(plan), context=OPEN).plan == plan


@settings(deadline=None)
@given(plans_of_actions())
def test_printed_actions(plan):
    text = plan_to_printed(plan)
    parsed = parse_printed(text=text, context=OPEN)
    assert (parsed.plan, parsed.tolerated) == (plan, ())
    assert read_plan(value=text, context=OPEN).plan == plan


@settings(deadline=None)
@given(plans_of_actions(least=1))
def test_assignments(plan):
    text = plan_to_lumos(plan)
    parsed = parse_lumos(text=text, context=OPEN)
    assert (parsed.plan, parsed.tolerated) == (plan, ())
    assert read_plan(value=text, context=OPEN) == parsed


PICTURE = PlanContext(catalogue=OPENAGI, resources={"image": ResourceType.IMAGE}, expects=ResourceType.TEXT)
TEXTS_ONLY = PlanContext(
    catalogue=OPENAGI, resources={"document": ResourceType.TEXT, "query": ResourceType.TEXT}, expects=ResourceType.TEXT
)
names = st.sampled_from(sorted(OPENAGI.tools))
sequences = st.lists(names, min_size=1, max_size=6)


@given(sequences)
def test_comma_sequences(tools):
    plan = parse_comma(text=",".join(tools), context=FOUR).plan
    assert read_plan(value=plan_to_comma(plan), context=FOUR).plan == plan


any_name = st.text(min_size=1, max_size=8)
any_plan = st.builds(
    Plan,
    steps=st.lists(
        st.builds(
            Step, id=any_name, tool=names | any_name,
            inputs=st.dictionaries(any_name, st.text(max_size=10), max_size=3),
            outputs=st.dictionaries(any_name, st.text(max_size=10), max_size=2),
        ), max_size=5,
    ).map(tuple),
    answers=st.lists(any_name, max_size=3).map(tuple),
    subgoals=st.none() | st.lists(any_name, max_size=2).map(tuple),
)  # fmt: skip


@given(any_plan)
def test_the_canonical_form(plan):
    assert parse_canonical(value=json.dumps(plan_to_json(plan)), context=OPEN).plan == plan


def test_a_tool_with_two_texts_takes_document_and_query_in_order():
    plan = parse_comma(text="Fill Mask,Question Answering", context=TEXTS_ONLY).plan
    assert dict(plan.steps[1].inputs) == {"document": "s1.text", "query": "$query"}


def test_other_spellings_are_recorded_and_empty_names_ignored():
    parsed = parse_comma(text="image denoising,,Image  Captioning,", context=PICTURE)
    assert parsed.plan.tools() == ("Image Denoising", "Image Captioning")
    assert parsed.tolerated == (
        "read 'image denoising' as 'Image Denoising'",
        "read 'Image  Captioning' as 'Image Captioning'",
    )


@pytest.mark.parametrize("text", ["", "  ", ",,,"])
def test_an_empty_sequence_is_no_plan(text):
    with pytest.raises(PlanSyntaxError, match="empty"):
        read_plan(value=text, context=PICTURE)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Colorization,Image Captioning,", ["image"]),
        ("(Colorization,)()Visual Question Answering,Fill Mask,", ["image", "text"]),
        ("((Fill Mask,)()Question Answering,)(Text Summarization,)Question Answering,", ["text", "text", "text"]),
        ("()((Image Denoising,Colorization,)(Fill Mask,)Visual Question Answering,)Question Answering,",
         ["text", "image", "text"]),
        ("((()()Question Answering,)()Question Answering,)(()()Question Answering,)Question Answering,", ["text"] * 5),
    ],
)  # fmt: skip
def test_trees(text, kinds):
    resources = {f"r{index}": ResourceType(kind) for index, kind in enumerate(kinds)}
    context = PlanContext(catalogue=OPENAGI, resources=resources, expects=None)
    plan = parse_tree(text=text, context=context).plan
    assert plan_to_tree(plan) == text
    assert read_plan(value=text, context=context).plan == plan


def test_gold_plans_survive_the_tree_form_and_linear_ones_that_of_a_sequence():
    suite = suite_of("openagi")
    for task in suite.tasks:
        context = suite.context(task=task, offered=frozenset(OPENAGI.tools))
        assert parse_tree(text=plan_to_tree(task.gold), context=context).plan == task.gold
        if task.structure == "linear":
            assert parse_comma(text=", ".join(task.gold.tools()), context=context).plan == task.gold


LOOSE = Step("s1", "Colorization", {"image": "$a"}, {"image": "s1.image"})


@pytest.mark.parametrize(
    ("printer", "steps"),
    [
        (plan_to_tree, ()),
        (plan_to_tree, (LOOSE, Step("s2", "Colorization", {"image": "$a"}, {"image": "s2.image"}))),
        (plan_to_tree, (LOOSE, Step("s2", "Join", {"a": "s1.image", "b": "s1.image"}, {"image": "x"}))),
        (plan_to_tree, (Step("s1", "Colorization", {"image": "s1.image"}, {"image": "s1.image"}),)),
        (plan_to_tree, (Step("s1", "A, (B)", {"image": "$a"}, {"image": "s1.image"}),)),
        (plan_to_tree, (Step("s1", "Colorization", {}, {"image": "s1.image"}),)),
        (plan_to_comma, (Step("s1", "A, B", {}, {}),)),
        (plan_to_comma, (Step("s1", "A  B", {}, {}),)),
        (plan_to_lumos, ()),
        (plan_to_lumos, (Step("s1", "A", {}, {"image": "an image"}),)),
        (plan_to_lumos, (Step("s1", "A", {}, {}),)),
        (plan_to_lumos, (Step("s1", "A(", {}, {"image": "R1"}),)),
        (plan_to_lumos, (Step("s1", "A", {"an image": "x"}, {"image": "R1"}),)),
    ],
)
def test_what_a_form_cannot_say_is_refused(printer, steps):
    with pytest.raises(UnprintableError):
        printer(Plan(steps=steps, answers=()))
