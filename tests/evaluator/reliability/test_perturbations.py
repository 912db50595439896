"""Perturbed requests say the same, and plans for them come back in the suite's names."""

import pytest

from evaluator.core.planner import PlannerReply
from evaluator.core.plans.model import plan_to_json
from evaluator.core.records import PlannerCall
from evaluator.core.suites.registry import suite_of
from evaluator.core.turns import Formulation, TurnReply, TurnResponse, first_turn
from evaluator.reliability.perturbations import PERTURBATIONS, Kind, perturbation_named, perturbations_of
from evaluator.reliability.perturbed_evaluation import Asking, perturbed_planner, perturbed_turn_planner
from evaluator.reliability.renaming import plan_of
from tests.evaluator.reliability.requests import request

STEPS = [
    {"id": "s1", "tool": "Image Denoising", "inputs": {"image": "$image"}, "outputs": {"image": "s1.image"}},
    {"id": "s2", "tool": "colorize", "inputs": {"image": "s1.image"}, "outputs": {"image": "s2.image"}},
]
PLAN = {"steps": STEPS, "answers": ["s2.image"], "subgoals": None}


SUITE = suite_of("toolmini")


CHANGES = [name for name, one in PERTURBATIONS.items() if one.change_for is not None]
"""Of requests; the others are of tasks and of episodes."""


def perturbed(name, asked):
    return PERTURBATIONS[name].applied_to(asked, suite=SUITE)


def asking(name, suite=SUITE):
    return Asking(PERTURBATIONS[name], suite)


class Fixed:
    """Answers with one plan, or with the function of the request."""

    name = "fixed"

    def __init__(self, answer):
        self.answer, self.asked = answer, []

    def plan(self, asked):
        self.asked.append(asked)
        plan = self.answer(asked) if callable(self.answer) else self.answer
        return PlannerReply(plan=plan, call=PlannerCall(seconds=0.0), alternatives=(plan,))


class Together(Fixed):
    """The same for many requests, last first."""

    def plan_all(self, requests):
        asked = list(requests)
        for index in reversed(range(len(asked))):
            yield index, self.plan(asked[index])


def understood(asked):
    """The plan in whatever names are offered, by the position of the tools in the suite: a planner that reads."""
    by_words = {"".join(filter(str.isalpha, tool.name)).lower().removesuffix("tool"): tool for tool in asked.tools}
    first, second = by_words["imagedenoising"], by_words["colorize"]
    (given,), (made,) = first.inputs, first.outputs
    (taken,), (final,) = second.inputs, second.outputs
    return {
        "steps": [
            {"id": "s1", "tool": first.name, "inputs": {given: "$image"}, "outputs": {made: "s1.image"}},
            {"id": "s2", "tool": second.name, "inputs": {taken: "s1.image"}, "outputs": {final: "s2.image"}},
        ],
        "answers": ["s2.image"],
    }


@pytest.mark.parametrize("name", CHANGES)
def test_a_planner_that_reads_what_is_offered_gives_the_same_plan(name):
    planner = perturbed_planner(Fixed(understood), asking=asking(name))
    reply = planner.plan(request())
    assert plan_to_json(plan_of(reply.plan)) == PLAN
    assert plan_to_json(plan_of(reply.alternatives[0])) == PLAN


@pytest.mark.parametrize("name", CHANGES)
def test_the_same_request_is_always_perturbed_alike_and_never_in_place(name):
    before = request()
    first, again = (perturbed(name, before) for _ in range(2))
    assert first == again
    assert first.request != before
    assert before == request()
    assert (first.request.task.id, first.request.expects) == (before.task.id, before.expects)


def test_each_kind_changes_its_own_part():
    for perturbation in map(PERTURBATIONS.__getitem__, CHANGES):
        before, after = request(), perturbed(perturbation.name, request()).request
        changed = {
            Kind.REQUEST: before.task.request != after.task.request,
            Kind.TOOLS: before.tools != after.tools,
            Kind.INPUTS: before.task.resources != after.task.resources,
        }
        assert [kind for kind, is_changed in changed.items() if is_changed] == [perturbation.kind], perturbation.name


def test_a_request_that_begins_with_a_name_keeps_its_capitals():
    assert perturbed("lower-case", request(text="VQA is what I want.")) is None
    assert perturbed("lower-case", request(text="find the dog.")) is None


def test_new_names_are_distinct_even_where_old_ones_differ_in_style_only():
    tool = request().tools[0].model_dump()
    tools = [{**tool, "name": name} for name in ("Image Denoising", "image_denoising", "imageDenoising", "x")]
    changed = perturbed("renamed-tools", request(tools=tools))
    names = [one.name for one in changed.request.tools]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", ["renamed-tools", "renamed-arguments"])
def test_names_that_were_not_offered_count_as_invented(name):
    changed = perturbed(name, request())
    plan = plan_of(changed.names.restored(PLAN, request=changed.request))
    told = str([(step.tool, dict(step.inputs)) for step in plan.steps])
    assert "(not offered)" in told
    invented = {**PLAN, "steps": [{**STEPS[0], "tool": "Teleport"}, STEPS[1]]}
    assert plan_of(changed.names.restored(invented, request=changed.request)).steps[0].tool == "Teleport"


@pytest.mark.parametrize("answer", [None, {"plan": None, "reason": "cannot"}, "(((", 7, {"steps": 3}])
def test_what_is_no_plan_is_returned_as_it_is(answer):
    changed = perturbed("renamed-tools", request())
    assert changed.names.restored(answer, request=changed.request) == answer


def test_other_forms_of_plans_are_read_in_the_new_names():
    changed = perturbed("renamed-tools", request())
    names = changed.names.tools
    text = f"{names['Image Denoising']}, {names['colorize']}"
    plan = plan_of(changed.names.restored(text, request=changed.request))
    assert plan.tools() == ("Image Denoising", "colorize")


def test_a_further_input_has_a_type_that_nothing_given_has():
    for resources in ({"image": "image"}, {"text": "text"}, {"image": "image", "text": "text"}):
        after = perturbed("irrelevant-input", request(resources=resources)).request.task.resources
        (new,) = after.keys() - resources.keys()
        assert after[new] not in resources.values()
    assert perturbed("irrelevant-input", request(resources={})) is None


def test_a_planner_of_many_requests_is_asked_for_all_together():
    planner = perturbed_planner(Together(understood), asking=asking("renamed-arguments"))
    ends = dict(planner.plan_all([request(), request(text="Do it.")]))
    assert sorted(ends) == [0, 1]
    assert all(plan_to_json(plan_of(end.plan)) == PLAN for end in ends.values())


class Acting:
    """Stops in its first turn."""

    name, formulation = "acting", Formulation.INTEGRATED

    def __init__(self):
        self.asked = []

    def turn(self, asked):
        self.asked.append(asked)
        return TurnReply(response=TurnResponse(stop=True), call=PlannerCall(seconds=0.0))


class ActingTogether(Acting):
    """An agent: for many turns, but few episodes at once."""

    episodes_at_once = 1

    def turn_all(self, requests):
        return [self.turn(one) for one in requests]


def first():
    suite = suite_of("arc-mini")
    task = suite.tasks[0]
    return first_turn(
        suite=suite, task=task, context=suite.context(task=task, offered=frozenset(suite.catalogue.tools))
    )


@pytest.mark.parametrize("make", [Acting, ActingTogether])
def test_turns_are_perturbed_and_stay_turns(make):
    inner = make()
    planner = perturbed_turn_planner(inner, asking=asking("framed", suite_of("arc-mini")))
    (planner.turn_all([first()]) if hasattr(planner, "turn_all") else planner.turn(first()))
    (asked,) = inner.asked
    assert asked.task.request != first().task.request
    assert asked.model_copy(update={"task": first().task}) == first()
    assert getattr(planner, "episodes_at_once", None) == getattr(inner, "episodes_at_once", None)


def test_perturbations_have_unique_labels_and_turns_are_never_renamed():
    assert len({one.label for one in PERTURBATIONS.values()}) == len(PERTURBATIONS)
    in_turns = perturbations_of(suite=SUITE, in_turns=True)
    assert all(one.in_turns and not one.name.startswith("renamed") for one in in_turns)
    with pytest.raises(LookupError, match="framed"):
        perturbation_named("shouted")
