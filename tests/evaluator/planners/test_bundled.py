"""The bundled planners anchor the boards: gold is right, random-valid is valid, no-op does nothing, and the floors of
judged plans are what their sentences say."""

from dataclasses import replace

import pytest

from evaluator.ablations import literals
from evaluator.planners import BUNDLED, bundled_planner, request_for
from evaluator.planners.bundled import KNOW_GOLD, each_once
from evaluator.planners.named import planner_named
from evaluator.planners.strategies.registry import PlannerNameError
from evaluator.plans import check_plan, read_plan
from evaluator.suites import suite_of
from evaluator.suites.hidden import HIDDEN, suite_on_split
from evaluator.suites.registry import suite_names, suites_without_gold

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


@pytest.mark.parametrize("name", sorted({*each_once("toolmini")} - {"gold-minus-one"}))
def test_every_request_of_a_suite_without_fixed_answers_is_answered(name):
    suite = suite_of("toolmini")
    for task in suite.tasks:
        plan, _ = answer(name, task, suite=suite, offered=frozenset(suite.catalogue.tools))
        without_steps = {"no-op": True, "ask-everything": not task.resources}
        assert (plan.steps == ()) == without_steps.get(name, False)


TOOLMINI = suite_of("toolmini")
ALL_TOOLS = frozenset(TOOLMINI.catalogue.tools)


def test_random_plans_for_requests_without_a_fixed_answer_are_valid():
    seen = set()
    for task in TOOLMINI.tasks:
        plan, problems = answer("random-valid", task, suite=TOOLMINI, offered=ALL_TOOLS)
        assert problems == ()
        seen.add(plan.tools())
    assert len(seen) > 60


def test_the_parrot_has_the_gold_plan_with_the_request_as_every_text():
    said = 0
    for task in TOOLMINI.tasks:
        plan, problems = answer("parrot", task, suite=TOOLMINI, offered=ALL_TOOLS)
        assert problems == ()
        texts = {(step.id, name) for step, name in literals(plan=task.gold, resources=task.resources)}
        for step, own in zip(plan.steps, task.gold.steps, strict=True):
            assert (step.id, step.tool, step.outputs) == (own.id, own.tool, own.outputs)
            for name, value in step.inputs.items():
                is_text = (step.id, name) in texts
                said += is_text
                assert value == (task.text if is_text else own.inputs[name])
    assert said > 100


def test_gold_minus_one_is_the_gold_plan_without_one_step_or_that_and_its_dependents():
    rewired = 0
    for task in TOOLMINI.tasks:
        plan, problems = answer("gold-minus-one", task, suite=TOOLMINI, offered=ALL_TOOLS)
        assert problems == ()
        assert set(plan.tools()) <= set(task.gold.tools())
        assert len(plan.steps) < len(task.gold.steps)
        own = {step.id: step.inputs for step in task.gold.steps}
        rewired += any(step.inputs != own[step.id] for step in plan.steps)
        assert plan == answer("gold-minus-one", task, suite=TOOLMINI, offered=ALL_TOOLS)[0]
    assert rewired, "such as counting all boxes where the selected ones should be"


@pytest.mark.parametrize("name", ["parrot", "ask-everything", "gold-minus-one"])
def test_the_floors_of_judged_plans_are_refused_where_plans_are_executed(name):
    assert name not in each_once("openagi")
    assert {"tool100", "tool2k", "toolmini"} <= {*BUNDLED[name].suites}
    assert not {"openagi", "openagi-season"} & {*BUNDLED[name].suites}
    with pytest.raises(PlannerNameError, match=f"{name} is an anchor of suites whose plans are judged: tool100, "):
        planner_named(name=name, suite=OPENAGI)


def test_planners_that_disclose_gold_are_those_that_are_made_of_it():
    assert {"gold", "parrot", "gold-minus-one"} == KNOW_GOLD


@pytest.mark.parametrize("name", sorted(KNOW_GOLD))
def test_planners_made_of_gold_answer_hidden_requests_with_their_own_gold(name):
    hidden = suite_on_split(suite=TOOLMINI, split=HIDDEN, hidden_seed="a secret of this test")
    others = 0
    for task, public in zip(hidden.tasks, TOOLMINI.tasks, strict=True):
        plan, problems = answer(name, task, suite=hidden, offered=ALL_TOOLS)
        assert problems == ()
        assert set(plan.tools()) <= set(task.gold.tools())
        others += plan != answer(name, public, suite=TOOLMINI, offered=ALL_TOOLS)[0]
    assert others > 30


def test_entries_say_which_suites_have_gold_plans():
    without = {slug for slug in suite_names() if all(task.gold is None for task in suite_of(slug).tasks)}
    assert without == set(suites_without_gold()) & set(suite_names())
    assert {"arc-111", "scienceqa"} < set(suites_without_gold())


def test_planners_made_of_gold_are_anchors_only_where_there_is_some():
    assert "gold" in each_once("arc-mini")
    assert {"gold", "no-op", "identity"} & set(each_once("arc-111")) == {"no-op", "identity"}
    with pytest.raises(LookupError, match=r"gold answers from gold plans, and arc-111 has none"):
        bundled_planner(name="gold", suite=replace(suite_of("arc-mini"), slug="arc-111"))
