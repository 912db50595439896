"""Equality of plans against a search for an isomorphism, and the F1 of their edges."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from evaluator.core.plans.model import Plan, Step
from evaluator.core.suites.registry import suite_of
from evaluator.openagi.tasks import call
from evaluator.scoring.metrics.plan_equality import canonical_form, edge_f1, is_same_plan
from tests.rings import usual

TOOLS = ("repair", "join")


@st.composite
def plans(draw):
    """Up to four calls of two tools on two inputs, with up to two answers."""
    steps: list[Step] = []
    values = ["$a", "$b"]
    for number in range(draw(st.integers(0, 4))):
        tool = draw(st.sampled_from(TOOLS))
        names = ("x",) if tool == "repair" else ("x", "y")
        inputs = {name: draw(st.sampled_from(values)) for name in names}
        steps.append(Step(id=f"s{number}", tool=tool, inputs=inputs, outputs={"made": f"s{number}.made"}))
        values.append(f"s{number}.made")
    answers = tuple(draw(st.lists(st.sampled_from(values), max_size=2)))
    return Plan(steps=tuple(steps), answers=answers)


def renamed(plan, order, suffix):
    """The plan with other names of steps, values and no `$`, its steps in another order."""
    made = {value for step in plan.steps for value in step.outputs.values()}

    def name(value):
        return f"{value}{suffix}" if value in made else value.removeprefix("$")

    steps = [
        Step(
            id=f"{step.id}{suffix}",
            tool=step.tool,
            inputs={key: name(value) for key, value in reversed(step.inputs.items())},
            outputs={key: name(value) for key, value in step.outputs.items()},
        )
        for step in plan.steps
    ]
    answers = tuple(name(value) if value in made else value for value in plan.answers)
    return Plan(steps=tuple(steps[place] for place in order), answers=answers)


def is_isomorphic(plan, other):
    """Whether some assignment of the steps of one plan to those of the other keeps tools, inputs and answers."""
    if len(plan.steps) != len(other.steps):
        return False
    for order in itertools.permutations(other.steps):
        names = {mine.outputs["made"]: theirs.outputs["made"] for mine, theirs in zip(plan.steps, order, strict=True)}
        if (
            all(
                mine.tool == theirs.tool
                and {key: names.get(value, value) for key, value in mine.inputs.items()} == dict(theirs.inputs)
                for mine, theirs in zip(plan.steps, order, strict=True)
            )
            and tuple(names.get(value, value) for value in plan.answers) == other.answers
        ):
            return True
    return False


def has_identical_calls(plan):
    calls, _ = canonical_form(plan)
    return len(set(calls)) < len(calls)


@settings(deadline=None)
@given(plans(), st.randoms(use_true_random=False), st.text("αβ_", min_size=1, max_size=3))
def test_names_and_the_order_of_steps_say_nothing(plan, rng, suffix):
    order = rng.sample(range(len(plan.steps)), len(plan.steps))
    same = renamed(plan, order, suffix)
    assert is_same_plan(plan=plan, other=same)
    assert edge_f1(plan=plan, other=same) == 1


@settings(deadline=None, max_examples=150)
@given(plans(), plans())
def test_plans_are_equal_if_and_only_if_they_are_isomorphic(plan, other):
    assume(not has_identical_calls(plan))
    same = is_same_plan(plan=plan, other=other)
    event(f"equal: {same}")
    assert same == is_isomorphic(plan, other)


@settings(deadline=None)
@given(plans(), plans())
def test_both_are_symmetric_and_equal_plans_share_all_edges(plan, other):
    f1 = edge_f1(plan=plan, other=other)
    assert f1 == edge_f1(plan=other, other=plan)
    assert 0 <= f1 <= 1
    same = is_same_plan(plan=plan, other=other)
    assert same == is_same_plan(plan=other, other=plan)
    assert f1 == 1 or not same


def restoring(*tools):
    steps: list[Step] = []
    value = "$image"
    for tool in tools:
        value = call(tool=tool, values=[value], steps=steps)
    return Plan(steps=tuple(steps), answers=(value,))


def test_another_order_of_restorations_is_another_plan():
    gold = restoring("Image Denoising", "Colorization")
    other = restoring("Colorization", "Image Denoising")
    assert not is_same_plan(plan=other, other=gold)
    # The edges image -> Denoising, Denoising -> Colorization, Colorization -> answer against those of the other order.
    assert edge_f1(plan=other, other=gold) == 0
    # Two of three edges, of which one more is in the gold plan.
    assert edge_f1(plan=restoring("Image Denoising"), other=gold) == pytest.approx(2 * 1 / (2 + 3))


def test_answers_are_numbered():
    steps: list[Step] = []
    caption = call(tool="Image Captioning", values=["$image"], steps=steps)
    label = call(tool="Image Classification", values=["$image"], steps=steps)
    gold = Plan(steps=tuple(steps), answers=(caption, label))
    swapped = replace(gold, answers=(label, caption))
    assert not is_same_plan(plan=swapped, other=gold)
    assert edge_f1(plan=swapped, other=gold) == 0.5


def test_a_text_in_a_plan_is_an_input_of_its_own_even_one_that_utf_8_cannot_encode():
    steps: list[Step] = []
    first = Plan(steps=(), answers=(call(tool="Fill Mask", values=["a [MASK]"], steps=steps),))
    first = replace(first, steps=tuple(steps))
    other = replace(first, steps=(replace(steps[0], inputs={"text": "\ud800"}),))
    assert not is_same_plan(plan=first, other=other)
    assert is_same_plan(plan=other, other=other)


def test_a_plan_whose_values_double_with_each_step_is_digested_in_linear_time():
    steps: list[Step] = []
    value = "$text"
    for _ in range(60):
        value = call(tool="Question Answering", values=[value, value], steps=steps)
    plan = Plan(steps=tuple(steps), answers=(value,))
    assert is_same_plan(plan=plan, other=plan)


@pytest.mark.parametrize("slug", usual(["openagi", "openagi-season"], of=["openagi"]))
def test_no_gold_plan_calls_the_same_tool_on_the_same_inputs_twice(slug):
    # Then equality with it is isomorphism.
    assert not any(has_identical_calls(task.gold) for task in suite_of(slug).tasks)
