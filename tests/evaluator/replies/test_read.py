"""The reader chooses the parser by what was sent; null plans are abstentions."""

import json

import pytest

from evaluator.core.plans.abstaining import FORM, MAX_REASON, abstention, is_abstention, reason_received
from evaluator.core.plans.model import Plan, PlanContext, PlanSyntaxError
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.core.tools.types import ResourceType
from evaluator.replies.canonical import parse_canonical
from evaluator.replies.read import read_plan

CONTEXT = PlanContext(catalogue=CONTROLLLM, resources={"image": ResourceType.IMAGE}, expects=None)
STEP = {"id": "s1", "tool": "image_captioning", "inputs": {"image": "$image"}, "outputs": {"text": "s1.text"}}
ACTION = {"tool": "image_captioning", "inputs": {"image": "$image"}, "outputs": ["<GEN>-0"]}
CALL = {"id": "c", "type": "function", "function": {"name": "image_captioning", "arguments": '{"image": "$image"}'}}
TASK = {"task": "image_captioning", "id": 0, "dep": [-1], "args": {"image": "$image"}}
SUBTASK = {"description": "Look.", "task": ["image-perception"], "id": 0, "dep": [-1], "args": [], "returns": []}


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ({"steps": [STEP], "answers": ["s1.text"]}, "plan/1"),
        ({"solution": [ACTION]}, "ControlLLM actions"),
        ({"role": "assistant", "tool_calls": [CALL]}, "tool calls"),
        ([CALL], "tool calls"),
        ([TASK], "HuggingGPT tasks"),
        ([ACTION], "ControlLLM actions"),
        ([[ACTION]], "ControlLLM actions"),
        ([[{"solution": [ACTION]}]], "ControlLLM actions"),
    ],
)
def test_objects_and_lists_are_known_by_their_keys_also_as_text(value, form):
    parsed = read_plan(value=value, context=CONTEXT)
    assert parsed.form == form
    assert parsed.plan.tools() == ("image_captioning",)
    assert [dict(step.inputs) for step in parsed.plan.steps] == [{"image": "$image"}]
    assert read_plan(value=f"\n {json.dumps(value)} ", context=CONTEXT) == parsed


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("[Action('image_captioning', {'image': '$image'}, ['x'])]", "printed actions"),
        ("Action(tool_name='image_captioning', inputs={'image': '$image'}, outputs=['x'])", "printed actions"),
        (" [ [\n Action ('image_captioning', {'image': '$image'}, ['x'])]]", "printed actions"),
        ("()image_captioning", "tree"),
        ("R1 = image_captioning($image)", "assignments"),
        ("Action 1-1: R1 = image_captioning($image)", "assignments"),
        ("<GEN>-0 = image_captioning(image=$image)", "assignments"),
        ("image_captioning", "comma sequence"),
        (" Image captioning,", "comma sequence"),
    ],
)
def test_texts_are_known_by_how_they_begin(text, form):
    parsed = read_plan(value=text, context=CONTEXT)
    assert parsed.form == form
    assert [(step.tool, dict(step.inputs)) for step in parsed.plan.steps] == [("image_captioning", {"image": "$image"})]


@pytest.mark.parametrize("value", [[], "[]", {"steps": [], "answers": []}, "[ ]"])
def test_a_plan_without_steps_is_a_plan(value):
    assert read_plan(value=value, context=CONTEXT).plan.steps == ()


def test_a_python_literal_is_read_where_json_is_meant_and_recorded():
    parsed = read_plan(value=repr([ACTION]), context=CONTEXT)
    assert parsed.plan == read_plan(value=[ACTION], context=CONTEXT).plan
    assert parsed.tolerated[0].startswith("character 3: read as a Python literal")


@pytest.mark.parametrize("value", [f"<Solution>{json.dumps([SUBTASK])}</Solution>", [SUBTASK], json.dumps([SUBTASK])])
def test_a_decomposition_is_no_plan_and_the_error_says_so(value):
    with pytest.raises(PlanSyntaxError, match="a task decomposition"):
        read_plan(value=value, context=CONTEXT)


@pytest.mark.parametrize("value", [False, 3, True, 1.5])
def test_other_values_are_refused_with_what_would_be_right(value):
    with pytest.raises(PlanSyntaxError, match="a plan is a JSON object"):
        read_plan(value=value, context=CONTEXT)


def test_answers_may_be_left_out_where_the_request_expects_nothing_certain():
    value = {"steps": [STEP, STEP | {"id": "s2", "inputs": {"image": "s1.text"}, "outputs": {"text": "s2.text"}}]}
    parsed = parse_canonical(value=value, context=CONTEXT)
    assert parsed.plan.answers == ("s2.text",)
    assert parsed.tolerated == ("no answers; took the outputs that no step uses: s2.text",)
    one = PlanContext(catalogue=CONTROLLLM, resources={}, expects=ResourceType.TEXT)
    with pytest.raises(PlanSyntaxError, match="must be a list"):
        parse_canonical(value=value, context=one)


WHY = {"plan": None, "reason": "There is no printer."}


@pytest.mark.parametrize(
    "value", [None, {"plan": None}, WHY, {"plan": None, "reason": None}, ' {"plan": null, "reason": "No."}']
)
def test_an_abstention_is_read_as_a_plan_without_steps_and_answers(value):
    parsed = read_plan(value=value, context=CONTEXT)
    assert (parsed.plan, parsed.form) == (Plan(steps=(), answers=()), FORM)


def test_abstentions_are_null_or_have_only_a_reason():
    assert abstention() is None
    assert abstention(" ") is None
    assert abstention("No.") == {"plan": None, "reason": "No."}
    for value in ({"steps": [], "answers": []}, [], {"plan": {"steps": []}}, {"reason": "no"}, "null"):
        assert not is_abstention(value)
        assert reason_received(value) is None
    for value, says in (({"plan": None, "why": "no"}, "unknown key 'why'"), ({"plan": None, "steps": []}, "'steps'"),
                        ({"plan": None, "reason": ["no"]}, "reason: must be a text")):  # fmt: skip
        with pytest.raises(PlanSyntaxError, match=says):
            read_plan(value=value, context=CONTEXT)


@pytest.mark.parametrize(
    ("received", "reason"),
    [
        (None, ""),
        ({"plan": None}, ""),
        (WHY, "There is no printer."),
        ('{"plan": null, "reason": " No. "}', "No."),
        ("{'plan': None}", ""),
        ("{", None),
        ({"plan": None, "reason": "x" * 5000}, "x" * MAX_REASON),
        ({"plan": None, "reason": 3}, ""),
    ],
)
def test_the_reason_of_what_was_received_is_bounded(received, reason):
    assert reason_received(received) == reason
