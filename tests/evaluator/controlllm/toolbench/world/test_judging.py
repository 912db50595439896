"""Plans of `toolworld` are judged as they are executed: by the order in which steps run, and by their answers."""

from dataclasses import replace

import pytest

from evaluator.controlllm.toolbench.indicators import Judgement, judge_plan
from evaluator.controlllm.toolbench.world.suite import WorldTask, toolworld_suite
from evaluator.core.plans.model import Plan, Step
from evaluator.core.tools.catalogues import CONTROLLLM

TASKS = [task for task in toolworld_suite().tasks if isinstance(task, WorldTask)]
CHAINS = [task for task in TASKS if task.gold is not None and len(task.gold.steps) > 1]
PAIRS = [task for task in TASKS if len(task.wanted) > 1]


def gold_of(task: WorldTask) -> Plan:
    assert task.gold is not None
    return task.gold


def judged(*, task: WorldTask, plan: Plan, as_executed: bool = True) -> Judgement:
    assert task.goal is not None
    return judge_plan(plan=plan, goal=task.goal, catalogue=CONTROLLLM, files=task.files, as_executed=as_executed)


def test_the_order_in_which_steps_are_written_does_not_matter_where_they_are_executed() -> None:
    for task in CHAINS:
        backwards = replace(gold_of(task), steps=tuple(reversed(gold_of(task).steps)))
        found = judged(task=task, plan=backwards)
        assert (found.SE, found.HR, found.IR, found.NR, found.CR) == (1, 0, 0, 1, 1), (task.key, found.why)
    linear = [task for task in CHAINS if task.structure == "linear"]
    for task in linear:
        backwards = replace(gold_of(task), steps=tuple(reversed(gold_of(task).steps)))
        assert judged(task=task, plan=backwards, as_executed=False).SE == 0, task.key


def test_a_right_result_that_is_not_handed_in_does_not_solve_a_request() -> None:
    for task in CHAINS:
        gold = gold_of(task)
        first = next(iter(gold.steps[0].outputs.values()))
        if first in gold.answers:
            continue
        other = replace(gold, answers=(first, *gold.answers[1:]))
        found = judged(task=task, plan=other)
        assert found.SE == 0, task.key
        assert "answer 1 is not this" in found.why["SE"]
        assert judged(task=task, plan=other, as_executed=False).SE == 1, task.key


def test_answers_in_another_order_do_not_solve_a_request() -> None:
    for task in PAIRS:
        gold = gold_of(task)
        assert judged(task=task, plan=replace(gold, answers=gold.answers[:1])).SE == 0, task.key
        turned = replace(gold, answers=(*gold.answers[1:], gold.answers[0]))
        goal = task.goal
        assert goal is not None
        if len({part.sentence() for part in goal.parts}) == len(goal.parts):
            assert judged(task=task, plan=turned).SE == 0, task.key


@pytest.mark.parametrize("answers", [(), ("nothing.out",), ("", "", "")])
def test_answers_that_nothing_makes_solve_nothing(answers: tuple[str, ...]) -> None:
    for task in TASKS[::9]:
        assert judged(task=task, plan=replace(gold_of(task), answers=answers)).SE == 0


def test_steps_that_wait_for_each_other_name_false_resources() -> None:
    task = CHAINS[0]
    circle = Plan(
        steps=(
            Step(id="a", tool="image_to_depth", inputs={"image": "b.image"}, outputs={"depth": "a.depth"}),
            Step(
                id="b",
                tool="depth_text_to_image",
                inputs={"depth": "a.depth", "text": "a star"},
                outputs={"image": "b.image"},
            ),
        ),
        answers=("b.image",),
    )
    found = judged(task=task, plan=circle)
    assert (found.HR, found.SE) == (1, 0)
    assert "step 1 (image_to_depth): image is b.image, which does not exist there" in found.why["HR"]
