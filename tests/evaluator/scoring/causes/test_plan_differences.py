"""Differences between plans: invariances, and one mistake told once."""

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from evaluator.core.plans.model import Plan, Step
from evaluator.core.suites.base import RightPlans
from evaluator.core.suites.registry import suite_of
from evaluator.scoring.causes.plan_differences import cheapest_assignment, differences
from evaluator.scoring.causes.taxonomy import Cause

SUITE = suite_of("openagi")
TASKS = [task for task in SUITE.tasks if task.gold is not None]
TASK = st.sampled_from(TASKS)


def compared(plan, task):
    return differences(
        plan=plan, right=RightPlans(plans=(task.gold,)), catalogue=SUITE.catalogue, resources=task.resources
    )


def renamed(plan, order):
    """The same plan with other names, its steps in another order."""

    def value(text):
        step, dot, output = text.partition(".")
        return f"other-{step}.{output}" if dot else text

    steps = [
        Step(
            id=f"other-{step.id}", tool=step.tool,
            inputs={name: value(one) for name, one in step.inputs.items()},
            outputs={name: value(one) for name, one in step.outputs.items()},
        )
        for step in plan.steps
    ]  # fmt: skip
    return Plan(steps=tuple(steps[place] for place in order), answers=tuple(map(value, plan.answers)))


def without(plan, place):
    """The plan without a step; what took its first result takes its first input."""
    gone = plan.steps[place]
    (made,), instead = gone.outputs.values(), next(iter(gone.inputs.values()))

    def value(text):
        return instead if text == made else text

    steps = [
        Step(id=step.id, tool=step.tool, inputs={k: value(v) for k, v in step.inputs.items()}, outputs=step.outputs)
        for step in plan.steps
        if step is not gone
    ]
    return Plan(steps=tuple(steps), answers=tuple(map(value, plan.answers)))


@given(TASK.flatmap(lambda task: st.tuples(st.just(task), st.permutations(range(len(task.gold.steps))))))
def test_names_and_the_order_in_which_steps_are_written_are_no_difference(drawn):
    task, order = drawn
    assert compared(renamed(task.gold, order), task) == ()


@given(
    TASK.filter(lambda task: len(task.gold.steps) > 1).flatmap(
        lambda task: st.tuples(st.just(task), st.integers(0, len(task.gold.steps) - 1))
    )
)
def test_a_step_that_is_left_out_is_the_only_difference(drawn):
    task, place = drawn
    found = compared(without(task.gold, place), task)
    assert [(one.cause, one.tool) for one in found] == [(Cause.MISSING_STEP, task.gold.steps[place].tool)]


@given(TASK, st.sampled_from(["Text Generation", "Image Deblurring", "Colorization"]))
def test_a_step_that_serves_nothing_is_the_only_difference(task, tool):
    signature = SUITE.catalogue[tool]
    kind = signature.input_types[0]
    source = next((name for name, given_kind in task.resources.items() if given_kind is kind), None)
    if source is None or tool in task.gold.tools():
        return
    more = Step(
        id="more", tool=tool, inputs={next(iter(signature.inputs)): f"${source}"}, outputs={"image": "more.image"}
    )
    found = compared(Plan(steps=(more, *task.gold.steps), answers=task.gold.answers), task)
    assert [(one.cause, one.step) for one in found] == [(Cause.EXTRA_STEP, "more")]


def test_plans_with_cycles_and_a_hundred_steps_come_to_an_end():
    task = SUITE.task("15")
    steps = tuple(
        Step(id=f"s{n}", tool="Image Denoising", inputs={"image": f"v{(n + 7) % 100}"}, outputs={"image": f"v{n}"})
        for n in range(100)
    )
    assert compared(Plan(steps=steps, answers=("v0",)), task)


COSTS = st.integers(1, 5).flatmap(
    lambda rows: st.integers(rows, 6).flatmap(
        lambda columns: st.lists(
            st.lists(st.integers(-20, 20), min_size=columns, max_size=columns), min_size=rows, max_size=rows
        )
    )
)


@given(COSTS)
def test_no_other_assignment_is_cheaper(costs):
    found = cheapest_assignment(costs)
    assert len(set(found)) == len(costs)
    total = sum(line[column] for line, column in zip(costs, found, strict=True))
    tried = permutations(range(len(costs[0])), len(costs))
    assert total == min(sum(line[column] for line, column in zip(costs, one, strict=True)) for one in tried)


def test_nothing_is_assigned_to_nothing():
    assert cheapest_assignment([]) == ()
