"""What is measured of a judged plan besides the five indicators."""

import random

import pytest

from evaluator.controlllm.toolbench.goals.goal import Goal
from evaluator.controlllm.toolbench.goals.gold import shortest_length
from evaluator.controlllm.toolbench.goals.parts import File, Kind, Part, ResultOf
from evaluator.controlllm.toolbench.indicators import step_efficiency
from evaluator.controlllm.toolbench.judging import judge
from evaluator.core.plans.model import Plan, Step, plan_to_json
from evaluator.core.suites.registry import suite_of

MINI = suite_of("toolmini")
YARD = File("yard_image.png")
F1S = ("node_f1", "edge_f1", "parameter_name_f1", "parameter_value_f1")


def goal(*parts):
    return Goal(parts=tuple(Part(number=number, **part) for number, part in enumerate(parts)))


def of(kind, *, target="dog", source=YARD, **more):
    return {"kind": kind, "target": target, "source": source, **more}


@pytest.mark.parametrize(
    ("wanted", "length"),
    [
        (goal(), 0),
        (goal(of(Kind.COUNT)), 1),
        (goal(of(Kind.MASK)), 2),
        (goal(of(Kind.MASK), of(Kind.MASK, target="cat")), 3),
        (goal(of(Kind.MASK), of(Kind.CUT_OUT)), 3),
        (goal(of(Kind.REMOVE), of(Kind.CUT_OUT)), 3),
        (goal(of(Kind.REMOVE), of(Kind.MASK)), 3),
        (goal(of(Kind.GENERATE, source=None), of(Kind.DESCRIBE, target="", source=ResultOf(0))), 2),
        (goal(of(Kind.COUNT), of(Kind.COUNT)), 1),
        # The first and the last part segment the same image; the one between them has nothing to do with it.
        (goal(of(Kind.MASK), of(Kind.DESCRIBE, target="", source=File("b.png")), of(Kind.MASK, target="cat")), 4),
    ],
)
def test_the_shortest_plan_makes_equal_calls_once(wanted, length):
    assert shortest_length(wanted) == length


def test_no_gold_plan_is_shorter_than_the_shortest(suites):
    for suite in suites.values():
        for task in suite.tasks:
            if task.gold is not None:
                assert 1 <= task.shortest <= len(task.gold.steps)


def test_the_shortest_of_many_questions_about_one_image_is_found_at_once():
    parts = [of(Kind.COUNT, target=f"thing {number}") for number in range(60)]
    assert shortest_length(goal(*parts)) == 60


@pytest.mark.parametrize(("shortest", "length", "share"), [(1, 1, 1.0), (1, 3, 1 / 3), (2, 3, 2 / 3), (3, 2, 1.0)])
def test_efficiency_is_in_the_unit_interval(shortest, length, share):
    assert step_efficiency(shortest=shortest, length=length) == pytest.approx(share)


@pytest.mark.parametrize(("shortest", "length"), [(0, 1), (1, 0)])
def test_efficiency_of_nothing_is_an_error(shortest, length):
    with pytest.raises(ValueError, match="at least one step"):
        step_efficiency(shortest=shortest, length=length)


def test_only_plans_that_solve_the_request_have_an_efficiency():
    task = next(task for task in MINI.tasks if task.group == "count_object")
    gold = judge(suite=MINI, task=task, value=plan_to_json(task.gold))
    assert gold.indicators["efficiency"] == pytest.approx(1 / 3)
    half = Plan(steps=task.gold.steps[:1], answers=())
    assert "efficiency" not in judge(suite=MINI, task=task, value=plan_to_json(half)).indicators


def test_a_wrong_plan_without_data_flow_has_no_edge_f1_where_gold_has_no_data_flow():
    task = next(task for task in MINI.tasks if task.key == "QA/0")
    step = task.gold.steps[0]
    assert judge(suite=MINI, task=task, value=plan_to_json(task.gold)).indicators["edge_f1"] == 1.0
    wrong = Plan(steps=(Step("s1", step.tool, {"input_msg": "Tell me a joke."}, step.outputs),), answers=())
    assert judge(suite=MINI, task=task, value=plan_to_json(wrong)).indicators["edge_f1"] == 0.0
    assert judge(suite=MINI, task=task, value=plan_to_json(Plan(steps=(), answers=()))).indicators["edge_f1"] == 0.0


def test_gold_agrees_with_itself_in_every_measure(suites):
    for suite in suites.values():
        for task in suite.tasks:
            if task.gold is not None:
                found = judge(suite=suite, task=task, value=plan_to_json(task.gold)).indicators
                assert [found[name] for name in (*F1S, "order")] == [1.0] * 5, task.key


def test_repeating_a_step_of_gold_never_raises_an_f1(suites):
    rng = random.Random(5)
    for suite in suites.values():
        for task in rng.sample([task for task in suite.tasks if task.gold is not None], k=100):
            dropped = rng.randrange(len(task.gold.steps) + 1)
            steps = [step for place, step in enumerate(task.gold.steps) if place != dropped]
            if not steps:
                continue
            step = rng.choice(steps)
            again = Step("again", step.tool, step.inputs, {name: f"again.{name}" for name in step.outputs})
            before, after = (
                judge(suite=suite, task=task, value=plan_to_json(Plan(steps=tuple(made), answers=()))).indicators
                for made in (steps, [*steps, again])
            )
            assert all(after[name] <= before[name] for name in F1S), task.key
