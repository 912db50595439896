"""Native tools: gold plans as tool calls are read as the gold plans, and faulty calls get an error."""

import json
import random
import re

import pytest

from evaluator.core.language_model import Ability, Completion, ToolCall
from evaluator.core.planner import OfferedTool, request_for
from evaluator.core.plans.abstaining import reason_received
from evaluator.core.plans.checks import check_plan
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.base import Setting, episode_of
from evaluator.episodes.judgement import all_tools
from evaluator.planners.driving import StrategyPlanner, UnfitModelError
from evaluator.planners.language_models.choosing import DeferredModel
from evaluator.planners.language_models.scripted import ScriptedModel
from evaluator.planners.strategies.native_tools import Definitions, NativeTools
from evaluator.replies.read import read_plan
from evaluator.scoring.metrics.plan_equality import is_same_plan
from gpu_jobs.model_server.client import RemoteModel
from tests.evaluator.planners.strategies.conversing import (
    REMOVE_KEYBOARD,
    held_with,
    is_solved,
    read,
    request_of,
    validate,
)
from tests.evaluator.planners.strategies.native import calls_of

ANSWERS_THAT_OTHER_STEPS_TAKE = {
    "openagi": set(),
    "toolworld": set(),
    "toolmini": {"extra/0", "extra/1", "extra/4", "extra/5", "extra/6", "extra/9"},
}
"""Tasks whose gold plans calls cannot express."""


def gold_model(suite):
    """A model that writes the gold plans of the suite's tasks, in order, as parallel calls."""
    rng = random.Random(20261127)
    tasks = iter(suite.tasks)

    def script(call):
        task = next(tasks)
        assert task.text in call.messages[-1].content
        tools = Definitions.of(request_for(suite=suite, task=task, context=all_tools(suite=suite, task=task)))
        assert call.tools == tools.definitions
        schemas = {tool.name: tool.parameters for tool in call.tools}
        calls = calls_of(task.gold, tools=tools, rng=rng)
        for each in calls:
            validate(json.loads(each.arguments), schemas[each.name])
        return Completion(text="", calls=calls)

    return ScriptedModel(script)


@pytest.mark.parametrize("slug", ["toolmini", "openagi", "toolworld"])
def test_gold_plans_as_native_calls_are_the_gold_plans(slug):
    suite = suite_of(slug)
    contexts = [all_tools(suite=suite, task=task) for task in suite.tasks]
    requests = [
        request_for(suite=suite, task=task, context=context)
        for task, context in zip(suite.tasks, contexts, strict=True)
    ]
    others = set()
    for index, reply in StrategyPlanner(strategy=NativeTools(), model=gold_model(suite)).plan_all(requests):
        task = suite.tasks[index]
        parsed = read_plan(value=reply.plan, context=contexts[index])
        assert (reply.unreadable, reply.tolerated, parsed.tolerated) == ("", (), ())
        if not is_same_plan(plan=parsed.plan, other=task.gold):
            others.add(task.key)
    assert others == ANSWERS_THAT_OTHER_STEPS_TAKE[slug]


def test_gold_plans_as_native_calls_are_judged_like_the_bare_plans():
    suite = suite_of("toolmini")
    evaluator = episode_of("toolmini").evaluator(suite=suite, setting=Setting())
    planner = StrategyPlanner(strategy=NativeTools(), model=gold_model(suite))
    records = list(evaluator.run(planner=planner, tasks=[task.key for task in suite.tasks]))
    assert len(records) == len(suite.tasks)
    below = {record.task for record in records if record.score != 1}
    assert below <= ANSWERS_THAT_OTHER_STEPS_TAKE["toolmini"]


def call(tool, *, id="toolu_01A", **arguments):
    return ToolCall(id=id, name=tool, arguments=json.dumps(arguments))


SEGMENT = call("image_instance_segmentation", image="station_000.png", id="toolu_01Z")
SELECT = call("select_mask", mask_list="call_1", condition="keyboard")
INPAINT = call("image_inpainting", image="station_000.png", mask="call_2.mask", id="")
REMOVING = (SEGMENT, SELECT, INPAINT)


def drafted(*calls, text="", where=REMOVE_KEYBOARD):
    return held_with(NativeTools(), request_of(*where), [Completion(text=text, calls=calls)])[0]


@pytest.mark.parametrize("text", ["", "I segment, select and fill.", "<think>first</think>"])
def test_prose_beside_calls_changes_nothing(text):
    assert is_solved(drafted(*REMOVING, text=text), REMOVE_KEYBOARD[1])


def test_texts_refer_to_calls_exactly_and_say_everything_else_verbatim():
    where = ("toolmini", "image_editing/5")

    def texts(written):
        draft = drafted(
            call("image_captioning", image="station_000.png"), call("text_to_image", text=written), where=where
        )
        return draft.plan["steps"][1]["inputs"]["text"]

    assert texts("call_1") == texts("{{call_1.text}}") == "call_1.text"
    for literal in ("call_3", "call 1", "toolu_01A", "the caption of call_1", "step 1"):
        assert texts(literal) == literal


@pytest.mark.parametrize("written", ["call_2", "call_2.result", "call_2.output", "call_2.mask", "{{call_2}}"])
def test_the_only_result_of_a_call_has_several_names(written):
    draft = drafted(SEGMENT, SELECT, call("image_inpainting", image="station_000.png", mask=written))
    assert is_solved(draft, REMOVE_KEYBOARD[1])


def test_calls_may_refer_to_later_calls_and_share_an_id():
    draft = drafted(
        call("image_inpainting", image="station_000.png", mask="call_2"),
        call("select_mask", mask_list="call_3", condition="keyboard"),
        call("image_instance_segmentation", image="station_000.png"),
    )
    parsed, problems = read(draft, *REMOVE_KEYBOARD)
    assert problems == ()
    assert is_same_plan(plan=parsed.plan, other=suite_of("toolmini").task(REMOVE_KEYBOARD[1]).gold)


@pytest.mark.parametrize(
    ("calls", "says"),
    [
        ([ToolCall(id="a", name="image_captioning", arguments='{"image": ')], "call 1, character 11: the arguments"),
        ([SEGMENT, ToolCall(id="b", name="select_mask", arguments="[1, 2]")], "call 2: the arguments must be a JSON"),
    ],
)
def test_arguments_that_are_no_object_are_unreadable_and_shown(calls, says):
    draft = drafted(*calls)
    assert says in draft.unreadable
    assert json.loads(draft.plan.splitlines()[-1])["arguments"] == calls[-1].arguments


@pytest.mark.parametrize(
    ("calls", "code"),
    [
        ([call("image_captioning", odd="station_000.png")], "missing_input"),
        ([call("teleport", image="station_000.png")], "unknown_tool"),
        ([call("image_captioning", image="call_7")], "unknown_reference"),
        ([call("image_captioning", image="call_1")], "cycle"),
    ],
)
def test_wrong_arguments_and_unknown_tools_are_problems_of_the_plan(calls, code):
    draft = drafted(*calls)
    assert draft.unreadable == ""
    _, problems = read(draft, *REMOVE_KEYBOARD)
    assert code in {problem.code for problem in problems}, problems


def test_without_calls_the_text_is_read_and_may_hold_calls():
    written = "\n".join(
        f'<tool_call>{{"name": "{each.name}", "arguments": {each.arguments}}}</tool_call>' for each in REMOVING
    )
    draft = drafted(text=written)
    assert is_solved(draft, REMOVE_KEYBOARD[1])
    assert "dialect: hermes" in draft.tolerated


@pytest.mark.parametrize("text", ["", "I'm sorry, but I can't help with that.", "Which picture do you mean?"])
def test_neither_calls_nor_a_plan_is_unreadable(text):
    assert drafted(text=text).unreadable


def test_calls_beside_another_plan_are_refused():
    assert "only one can be the plan" in drafted(*REMOVING, text='{"plan": null, "reason": "No."}').unreadable


@pytest.mark.parametrize("envelope", ["{}", "```json\n{}\n```"])
def test_an_abstention_keeps_its_reason(envelope):
    draft = drafted(text=envelope.format('{"plan": null, "reason": "No tool sends an email."}'))
    assert draft.unreadable == ""
    assert reason_received(draft.plan) == "No tool sends an email."


def test_definitions_have_names_that_services_accept_and_stay_apart():
    tools = [
        OfferedTool(name=name, description="It works.", inputs={"image": "image"}, outputs={"text": "text"})
        for name in ("Image Denoising", "Image_Denoising", "x" * 70, "x" * 71, "é")
    ]
    request = request_of(*REMOVE_KEYBOARD).model_copy(update={"tools": tools})
    names = Definitions.of(request).catalogue_names
    assert list(names.values()) == [tool.name for tool in tools]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in names)


@pytest.mark.parametrize("abilities", [DeferredModel.abilities, RemoteModel.abilities])
def test_models_that_cannot_call_tools_are_refused_before_anything_runs(abilities):
    model = ScriptedModel(lambda call: "")
    model.abilities = abilities
    assert Ability.CALL_TOOLS not in abilities
    with pytest.raises(UnfitModelError, match="native-tools needs a language model that can call tools"):
        StrategyPlanner(strategy=NativeTools(), model=model)


def test_the_plan_of_a_call_passes_the_checks_of_its_suite():
    suite = suite_of("toolmini")
    context = all_tools(suite=suite, task=suite.task(REMOVE_KEYBOARD[1]))
    parsed = read_plan(value=drafted(*REMOVING).plan, context=context)
    assert check_plan(plan=parsed.plan, context=context) == ()
    assert [step.id for step in parsed.plan.steps] == ["call_1", "call_2", "call_3"]
