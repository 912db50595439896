"""Printing a plan and parsing it again changes nothing, in every form that has a printer."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.plans import (
    Plan,
    PlanContext,
    Step,
    UnprintableError,
    parse_comma,
    parse_controlllm,
    parse_lumos,
    parse_printed,
    parse_tree,
    plan_to_actions,
    plan_to_comma,
    plan_to_lumos,
    plan_to_printed,
    plan_to_tree,
    read_plan,
)
from evaluator.plans.actions import answers_of
from evaluator.suites import suite_of
from evaluator.tools import CONTROLLLM, OPENAGI, ResourceType

OPEN = PlanContext(catalogue=CONTROLLLM, resources={}, expects=None)
FOUR = PlanContext(
    catalogue=OPENAGI,
    resources={
        "a": ResourceType.IMAGE,
        "b": ResourceType.TEXT,
        "c": ResourceType.TEXT,
        "d": ResourceType.IMAGE,
    },
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


names = st.sampled_from(sorted(OPENAGI.tools))
sequences = st.lists(names, min_size=1, max_size=6)


@given(sequences)
def test_comma_sequences(tools):
    plan = parse_comma(text=",".join(tools), context=FOUR).plan
    assert read_plan(value=plan_to_comma(plan), context=FOUR).plan == plan


JOINING = ("Visual Question Answering", "Question Answering")


@st.composite
def trees(draw, depth=0):
    """A tree in which every branch leaves what the join takes."""
    join = draw(st.sampled_from(JOINING))
    image = join == JOINING[0]
    left = draw(branches(image=image, depth=depth))
    right = draw(branches(image=False, depth=depth))
    after = draw(st.lists(st.sampled_from(["Machine Translation", "Fill Mask"]), max_size=2))
    return f"({left})({right})" + "".join(f"{name}," for name in [join, *after])


@st.composite
def branches(draw, image, depth):
    if not image and depth < 2 and draw(st.booleans()):
        return draw(trees(depth=depth + 1))
    kind = ["Colorization", "Image Denoising"] if image else ["Fill Mask", "Text Summarization"]
    return "".join(f"{name}," for name in draw(st.lists(st.sampled_from(kind), max_size=2)))


def types_of_leaves(text):
    """The resources that a tree needs, in order: an image for the first branch of each visual question."""
    empty, depth, leaves = [], 0, []
    for index, character in enumerate(text):
        if character == "(":
            depth += 1
            empty.append(index)
        elif character == ")":
            start = empty.pop()
            if "(" not in text[start + 1 : index]:
                rest = text[index + 1 :]
                joined = rest.startswith("(") and _behind(rest).startswith(JOINING[0])
                leaves.append(ResourceType.IMAGE if joined else ResourceType.TEXT)
    return leaves


def _behind(text):
    """What stands behind the branch that a text begins with."""
    depth = 0
    for index, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            return text[index + 1 :]
    return ""


@settings(deadline=None)
@given(trees())
def test_trees(text):
    resources = {f"r{index}": kind for index, kind in enumerate(types_of_leaves(text))}
    context = PlanContext(catalogue=OPENAGI, resources=resources, expects=None)
    plan = parse_tree(text=text, context=context).plan
    assert plan_to_tree(plan) == text
    assert read_plan(value=plan_to_tree(plan), context=context).plan == plan


def test_the_gold_plans_survive_the_tree_form():
    suite = suite_of("openagi")
    for task in suite.tasks:
        context = suite.context(task=task, offered=frozenset(OPENAGI.tools))
        assert parse_tree(text=plan_to_tree(task.gold), context=context).plan == task.gold


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
