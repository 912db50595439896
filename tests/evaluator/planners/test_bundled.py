"""The bundled planners anchor every board: gold is right, random-valid is valid, no-op does nothing."""

import pytest

from evaluator.planners import bundled_planner, request_for
from evaluator.plans import check_plan, read_plan
from evaluator.suites import suite_of

OPENAGI = suite_of("openagi")
RESTORERS = frozenset({"Image Super Resolution", "Image Denoising", "Image Deblurring", "Colorization"})
OFFERED = RESTORERS | {"Image Classification"}
RUNNABLE = [task for task in OPENAGI.tasks if set(task.gold.tools()) <= OFFERED]


def answer(name, task, *, suite=OPENAGI, offered=OFFERED):
    context = suite.context(task=task, offered=frozenset(offered))
    reply = bundled_planner(name=name, suite=suite).plan(request_for(suite=suite, task=task, context=context))
    parsed = read_plan(value=reply.plan, context=context)
    return parsed.plan, check_plan(plan=parsed.plan, context=context)


def test_random_plans_are_valid_and_always_the_same():
    for task in RUNNABLE:
        plan, problems = answer("random-valid", task)
        assert problems == ()
        assert len(set(plan.tools())) == len(plan.tools())
        assert plan == answer("random-valid", task)[0]


def test_random_plans_differ_between_tasks():
    assert len({answer("random-valid", task)[0].tools() for task in RUNNABLE}) > 10


def test_no_op_hands_back_the_image_where_an_image_is_asked_for():
    for task in RUNNABLE:
        plan, problems = answer("no-op", task)
        assert plan.steps == ()
        assert bool(problems) == (task.expects == "text")


@pytest.mark.parametrize("name", ["gold", "random-valid", "no-op"])
def test_every_request_of_a_suite_without_fixed_answers_is_answered(name):
    suite = suite_of("toolmini")
    for task in suite.tasks:
        plan, _ = answer(name, task, suite=suite, offered=frozenset(suite.catalogue.tools))
        assert (name == "no-op") == (plan.steps == ())
