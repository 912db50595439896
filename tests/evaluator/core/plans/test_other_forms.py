"""Trees, HuggingGPT's tasks, tool calls and assignments: what they mean, and where their errors are."""

import json

import pytest

from evaluator.core.plans.model import PlanContext, Step
from evaluator.core.tools.catalogues import CONTROLLLM, OPENAGI
from evaluator.core.tools.types import ResourceType
from evaluator.replies.hugginggpt import parse_hugginggpt
from evaluator.replies.lumos import parse_lumos
from evaluator.replies.read import read_plan
from evaluator.replies.tree import parse_tree

OPEN = PlanContext(catalogue=CONTROLLLM, resources={}, expects=None)
PICTURE_AND_QUESTION = PlanContext(
    catalogue=OPENAGI,
    resources={"image": ResourceType.IMAGE, "query": ResourceType.TEXT},
    expects=ResourceType.TEXT,
)
THREE = PlanContext(
    catalogue=OPENAGI,
    resources={"first": ResourceType.IMAGE, "second": ResourceType.TEXT, "third": ResourceType.TEXT},
    expects=None,
)


def wiring(parsed):
    return [(step.tool, *step.inputs.values()) for step in parsed.plan.steps]


def tree(text, context=PICTURE_AND_QUESTION):
    return parse_tree(text=text, context=context)


def test_each_branch_of_a_tree_works_on_its_resource():
    parsed = tree("(Image Denoising,Colorization,)(Fill Mask,)Visual Question Answering,Machine Translation,")
    assert wiring(parsed) == [
        ("Image Denoising", "$image"),
        ("Colorization", "s1.image"),
        ("Fill Mask", "$query"),
        ("Visual Question Answering", "s2.image", "s3.text"),
        ("Machine Translation", "s4.text"),
    ]
    assert parsed.plan.answers == ("s5.text",)
    assert parsed.tolerated == ()


def test_resources_that_no_branch_takes_come_after_the_branches():
    parsed = tree("(Colorization,)(Fill Mask,)Visual Question Answering,Question Answering,", THREE)
    assert wiring(parsed)[-1] == ("Question Answering", "s3.text", "$third")


def test_a_single_branch_an_empty_name_and_a_spelling_are_recorded():
    parsed = tree("(image  denoising,,)Colorization")
    assert wiring(parsed) == [("Image Denoising", "$image"), ("Colorization", "s1.image")]
    assert parsed.tolerated == (
        "character 2: read 'image  denoising' as 'Image Denoising'",
        "character 19: ignored an empty name",
        "character 1: a single branch",
    )


def task(number, name, args, dep=(-1,)):
    return {"task": name, "id": number, "dep": list(dep), "args": args}


def test_huggingpt_tasks_refer_to_each_other_by_id():
    parsed = parse_hugginggpt(
        value=json.dumps(
            [
                task(0, "image_captioning", {"image": "a.png"}),
                task(7, "text_to_speech", {"text": "<resource>-0"}, dep=[0]),
                task(8, "image_audio_to_video", {"image": "a.png", "audio": "<resource>-7"}, dep=[7]),
            ]
        ),
        context=OPEN,
    )
    assert wiring(parsed) == [
        ("image_captioning", "a.png"),
        ("text_to_speech", "<resource>-0"),
        ("image_audio_to_video", "a.png", "<resource>-7"),
    ]
    assert parsed.plan.steps[1].outputs == {"speech": "<resource>-7"}
    assert parsed.plan.answers == ("<resource>-8",)
    assert parsed.tolerated == ()


def test_an_argument_named_by_its_type_is_the_one_of_that_type():
    parsed = parse_hugginggpt(
        value=[
            task(0, "image-captioning", {"image": "a.png"}),
            task("1", "openai_chat_model", {"text": "<GENERATED>-0"}, dep=[0, 5]),
            task(2, "Magic", {"text": ["<resource>-1", "x"]}),
        ],
        context=OPEN,
    )
    assert parsed.plan.steps[1].inputs == {"input_msg": "<resource>-0"}
    assert parsed.plan.steps[2] == Step(
        id="s3", tool="Magic", inputs={"text": "<resource>-1, x"}, outputs={"output0": "<resource>-2"}
    )
    assert parsed.plan.answers == ("<resource>-2",)
    assert parsed.tolerated == (
        "[0]: read 'image-captioning' as 'image_captioning'",
        "[1].id: read a text as a number",
        "[1].args: read 'text' as 'input_msg', the one argument of that type",
        "[1].args.text: read '<GENERATED>-0' as '<resource>-0'",
        "[1].dep: no argument uses the result of 5",
        "[2], input 'text': joined a list of 2 to '<resource>-1, x'",
    )


def call(call_id, name, **arguments):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


@pytest.mark.parametrize("reference", ["call_a", "$call_a", "call_a.image", "$call_a.image"])
def test_tool_calls_refer_to_results_by_the_calls_id(reference):
    parsed = read_plan(
        value=[
            call("call_a", "Image_Denoising", image="$image"),
            call("call_b", "Visual_Question_Answering", image=reference, text="$query"),
        ],
        context=PICTURE_AND_QUESTION,
    )
    assert parsed.plan.steps == (
        Step("call_a", "Image Denoising", {"image": "$image"}, {"image": "call_a.image"}),
        Step(
            "call_b", "Visual Question Answering", {"image": "call_a.image", "text": "$query"}, {"text": "call_b.text"}
        ),
    )
    assert parsed.plan.answers == ("call_b.text",)
    assert len(parsed.tolerated) == 2


def test_an_assistants_message_may_hold_the_calls_and_a_resource_comes_before_a_call():
    parsed = read_plan(
        value={
            "role": "assistant",
            "tool_calls": [
                {"function": {"name": "Colorization", "arguments": {"image": "$image"}}},
                call("image", "Image Denoising", image="$image"),
                call("last", "Image Captioning", image="image"),
            ],
        },
        context=PICTURE_AND_QUESTION,
    )
    assert [dict(step.inputs) for step in parsed.plan.steps] == [
        {"image": "$image"},
        {"image": "$image"},
        {"image": "image.image"},
    ]
    assert parsed.tolerated == ("tool_calls[0]: no id; named it call_1",)


def test_assignments_take_arguments_by_place_and_by_name():
    parsed = parse_lumos(
        text="""R1 = object_detection(a.png); R2 = select_bbox(R1, condition='bear, brown')
        R3 = count_objects(bbox_list=R2);""",
        context=OPEN,
    )
    assert [dict(step.inputs) for step in parsed.plan.steps] == [
        {"image": "a.png"},
        {"bbox_list": "R1", "condition": "bear, brown"},
        {"bbox_list": "R2"},
    ]
    assert parsed.plan.steps[1].outputs == {"result": "R2"}
    assert parsed.plan.answers == ("R3",)
    assert parsed.tolerated == ()


def test_controlllms_own_assignments_are_read_too():
    parsed = parse_lumos(
        text="<TOOL-GENERATED>-t-bbox-0 = object_detection(image='a.png')\n"
        "<GENERATED>-0 = count_objects(bbox_list=<TOOL-GENERATED>-t-bbox-0)",
        context=OPEN,
    )
    assert wiring(parsed) == [("object_detection", "a.png"), ("count_objects", "<TOOL-GENERATED>-t-bbox-0")]
    assert parsed.plan.answers == ("<GENERATED>-0",)


def test_lumos_annotations_are_read_without_their_labels_and_results():
    parsed = parse_lumos(
        text="""Action 1-1: R1 = VQA([IMG], Question: What's the sign (on the lane)?) = There's a right turn.
Action 3-1: R3, R4 = QA([R1, R2], None, 2 - 0.5)""",
        context=OPEN,
    )
    assert parsed.plan.steps == (
        Step("s1", "VQA", {"input0": "IMG", "input1": "Question: What's the sign (on the lane)?"}, {"output0": "R1"}),
        Step("s2", "QA", {"input0": "R1, R2", "input2": "2 - 0.5"}, {"output0": "R3", "output1": "R4"}),
    )
    assert parsed.plan.answers == ("R3", "R4")
    assert parsed.tolerated == (
        "line 1, column 1: ignored 'Action 1-1:'",
        'line 1, column 71: ignored the result "= There\'s a right turn."',
        "line 2, column 1: ignored 'Action 3-1:'",
        "line 1, column 13, input 'input0': joined a list of 1 to 'IMG'",
        "line 2, column 13, input 'input0': joined a list of 2 to 'R1, R2'",
        "line 2, column 13, input 'input1': an empty value counts as a missing argument",
    )


def test_an_argument_named_by_a_type_that_several_have_is_none_of_them():
    parsed = parse_hugginggpt(value=[task(0, "Question Answering", {"text": "x"})], context=THREE)
    assert parsed.plan.steps[0].inputs == {"text": "x"}
