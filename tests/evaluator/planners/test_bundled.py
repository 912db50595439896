"""The bundled planners anchor the boards; those that a site runs for anybody need no network."""

from dataclasses import replace
from types import MappingProxyType

import pytest

from evaluator.core.planner import request_for
from evaluator.core.plans.checks import check_plan
from evaluator.core.suites.base import Suite
from evaluator.core.suites.hidden import HIDDEN, suite_on_split
from evaluator.core.suites.registry import suite_names, suite_of, suites_without_gold
from evaluator.core.turns import TurnResponse
from evaluator.lumos.mini.draws import Source
from evaluator.lumos.mini.groups import draw_group
from evaluator.lumos.mini.suite import majority
from evaluator.miniature.seeds import Split
from evaluator.planners.ablations import literals
from evaluator.planners.bundled import (
    BUNDLED,
    KNOW_GOLD,
    LastNumberPlanner,
    MajorityPlanner,
    bundled_names,
    bundled_planner,
    each_once,
)
from evaluator.planners.language_models.shipped import shipped_folder, shipped_names
from evaluator.planners.named import offline_planner, offline_planners, planner_named
from evaluator.planners.strategies.registry import PlannerNameError, strategies
from evaluator.replies.read import read_plan
from tests.evaluator.episodes.turns.toy import Answers, evaluator
from tests.evaluator.episodes.turns.toy import suite as toy

RESTORERS = frozenset({"Image Super Resolution", "Image Denoising", "Image Deblurring", "Colorization"})
OFFERED = RESTORERS | {"Image Classification"}


def openagi():
    return suite_of("openagi")


def toolmini():
    return suite_of("toolmini")


def answer(name, task, *, suite=None, offered=None):
    """The plan for a task, by default of `toolmini` with all tools, and its problems."""
    suite = suite or toolmini()
    context = suite.context(task=task, offered=frozenset(offered or suite.catalogue.tools))
    reply = bundled_planner(name=name, suite=suite).plan(request_for(suite=suite, task=task, context=context))
    parsed = read_plan(value=reply.plan, context=context)
    return parsed.plan, check_plan(plan=parsed.plan, context=context)


def test_random_plans_are_valid_and_always_the_same():
    for task in openagi().tasks:
        if set(task.gold.tools()) <= OFFERED:
            plan, problems = answer("random-valid", task, suite=openagi(), offered=OFFERED)
            assert problems == ()
            assert len(set(plan.tools())) == len(plan.tools())
            assert plan == answer("random-valid", task, suite=openagi(), offered=OFFERED)[0]


@pytest.mark.parametrize("name", sorted({*each_once("toolmini")} - {"gold-minus-one"}))
def test_every_request_of_a_suite_without_fixed_answers_is_answered(name):
    for task in toolmini().tasks:
        plan, _ = answer(name, task)
        without_steps = {"no-op": True, "ask-everything": not task.resources}
        assert (plan.steps == ()) == without_steps.get(name, False)


def test_random_plans_for_requests_without_a_fixed_answer_are_valid():
    seen = set()
    for task in toolmini().tasks:
        plan, problems = answer("random-valid", task)
        assert problems == ()
        seen.add(plan.tools())
    assert len(seen) > 60


def test_the_parrot_has_the_gold_plan_with_the_request_as_every_text():
    said = 0
    for task in toolmini().tasks:
        plan, problems = answer("parrot", task)
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
    for task in toolmini().tasks:
        plan, problems = answer("gold-minus-one", task)
        assert problems == ()
        assert set(plan.tools()) <= set(task.gold.tools())
        assert len(plan.steps) < len(task.gold.steps)
        own = {step.id: step.inputs for step in task.gold.steps}
        rewired += any(step.inputs != own[step.id] for step in plan.steps)
        assert plan == answer("gold-minus-one", task)[0]
    assert rewired, "such as counting all boxes where the selected ones should be"


@pytest.mark.parametrize("name", ["parrot", "ask-everything", "gold-minus-one"])
def test_the_floors_of_judged_plans_are_refused_where_plans_are_executed(name):
    assert name not in each_once("openagi")
    assert {"tool100", "tool2k", "toolmini"} <= {*BUNDLED[name].suites}
    assert not {"openagi", "openagi-season"} & {*BUNDLED[name].suites}
    with pytest.raises(PlannerNameError, match=f"{name} is an anchor of suites whose plans are judged: tool100, "):
        planner_named(name=name, suite=openagi())


@pytest.mark.parametrize("name", sorted(KNOW_GOLD))
def test_planners_made_of_gold_answer_hidden_requests_with_their_own_gold(name):
    hidden = suite_on_split(suite=toolmini(), split=HIDDEN, hidden_seed="a secret of this test")
    others = 0
    for task, public in zip(hidden.tasks, toolmini().tasks, strict=True):
        plan, problems = answer(name, task, suite=hidden)
        assert problems == ()
        assert set(plan.tools()) <= set(task.gold.tools())
        others += plan != answer(name, public)[0]
    assert others > 30


def test_entries_say_which_suites_have_gold_plans():
    without = {slug for slug in suite_names() if all(task.gold is None for task in suite_of(slug).tasks)}
    assert without == set(suites_without_gold()) & set(suite_names())
    assert {"arc-111", "scienceqa"} < set(suites_without_gold())


def test_planners_made_of_gold_are_anchors_only_of_suites_with_gold():
    assert {"gold", "parrot", "gold-minus-one"} == KNOW_GOLD
    assert "gold" in each_once("arc-mini")
    assert {"gold", "no-op", "identity"} & set(each_once("arc-111")) == {"no-op", "identity"}
    with pytest.raises(LookupError, match=r"gold answers from gold plans, and arc-111 has none"):
        bundled_planner(name="gold", suite=replace(suite_of("arc-mini"), slug="arc-111"))


def test_they_are_the_bundled_ones_and_the_strategies_that_need_no_model():
    result = offline_planners()
    without = {name for name, entry in strategies().items() if not entry.needs}
    assert "controlllm/adaptive" in without
    assert {*bundled_names(), *without} <= result.keys()
    assert all(planner.description and planner.group for planner in result.values())


def test_other_names_and_unsuitable_planners_are_refused():
    for name in ("hugginggpt:chat:http://127.0.0.1/v1#m", "controlllm/greedy:dir:/etc", "hugginggpt", "", "silver"):
        with pytest.raises(PlannerNameError, match="there is no bundled planner"):
            offline_planner(name=name, suite=suite_of("toolmini"))
    with pytest.raises(PlannerNameError, match="does not understand requests of openagi"):
        offline_planner(name="controlllm/adaptive", suite=suite_of("openagi"))


def test_a_shipped_language_model_is_offered_with_the_strategies_that_it_was_trained_for():
    # Not twice under the bare name and the variant's that it stands for.
    shipped = {shipped_folder(name): name for name in reversed(shipped_names()) if shipped_folder(name).is_dir()}
    wanted = {f"openagi/{strategy}:{model}" for strategy in ("constrained", "nonlinear") for model in shipped.values()}
    assert {name for name in offline_planners() if ":" in name and not name.startswith("lumos/")} == wanted


def replies(planner: MajorityPlanner | LastNumberPlanner, *, suite: Suite) -> list[TurnResponse]:
    """What a planner answers to the first turn of every task that runs."""
    asked = Answers(lambda _: TurnResponse(stop=True))
    list(evaluator().run(planner=asked, tasks=[task.key for task in suite.tasks]))
    return [planner.turn(request).response for request in asked.asked]


def test_the_last_number_of_the_request_is_the_answer():
    # Episodes run side by side, so tasks are asked in any order.
    assert sorted(reply.answer for reply in replies(LastNumberPlanner(toy()), suite=toy())) == list("12345678")


@pytest.mark.parametrize(
    ("text", "found"),
    [("He has 3 and gets 1,200.50.", "1,200.50"), ("From 7 to -2.5?", "-2.5"), ("None at all", None), ("10,20", "20")],
)
def test_numbers_are_taken_as_they_are_written(text, found):
    asked = Answers(lambda _: TurnResponse(stop=True))
    list(evaluator().run(planner=asked, tasks=["1"]))
    request = asked.asked[0]
    other = request.model_copy(update={"task": request.task.model_copy(update={"request": text})})
    reply = LastNumberPlanner(toy()).turn(other).response
    assert (reply.answer, reply.stop) == (found, found is None)


def test_the_majority_is_that_of_the_tasks_metric_or_nothing():
    known = replace(toy(), majority=lambda: MappingProxyType({"right": "12"}))
    assert {reply.answer for reply in replies(MajorityPlanner(known), suite=known)} == {"12"}
    other = replace(toy(), majority=lambda: MappingProxyType({"another": "12"}))
    assert {reply.stop for reply in replies(MajorityPlanner(other), suite=other)} == {True}
    assert {reply.stop for reply in replies(MajorityPlanner(toy()), suite=toy())} == {True}


def test_the_majority_of_the_small_suite_is_that_of_training_tasks():
    """The same answers whatever is evaluated, and none for answers that are queries or purchases."""
    result = majority()
    assert set(result) == {"maths", "qa", "pictures"}
    training = [task.answer for task in draw_group(group="pictures", source=Source(split=Split.TRAIN), count=300)]
    assert training.count(result["pictures"]) == max(map(training.count, training))
