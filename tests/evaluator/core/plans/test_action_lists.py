"""ControlLLM's action lists, as JSON and as the paper prints them."""

import json

import pytest

from evaluator.core.plans.model import PlanContext, Step
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.replies.controlllm import parse_controlllm
from evaluator.replies.printed import parse_printed

CONTEXT = PlanContext(catalogue=CONTROLLLM, resources={}, expects=None)
BOXES = "<TOOL-GENERATED>-object_detection-bbox-0"
DETECT = {"tool": "object_detection", "inputs": {"image": "a.png"}, "outputs": [BOXES]}
COUNT = {"tool_name": "count_objects", "inputs": {"bbox_list": BOXES}, "outputs": ["<GENERATED>-0"]}
STEPS = (
    Step(id="s1", tool="object_detection", inputs={"image": "a.png"}, outputs={"object": BOXES}),
    Step(id="s2", tool="count_objects", inputs={"bbox_list": BOXES}, outputs={"length": "<GENERATED>-0"}),
)


def read(value):
    return parse_controlllm(value=value, context=CONTEXT)


def printed(text):
    return parse_printed(text=text, context=CONTEXT)


def named(name, kind, value):
    return [{"name": name, "type": kind, "description": "", "value": value}]


FOUND = {"args": named("image", "image", "a.png"), "returns": named("object", "bbox", BOXES)}
SOLUTION = {
    "score": 5,
    "solution": [{"tool_name": "object_detection", "description": "find", "domain": "image-perception"} | FOUND, COUNT],
}


@pytest.mark.parametrize(
    ("value", "tolerated"),
    [
        ([DETECT, COUNT], ()),
        (json.dumps([DETECT, COUNT]), ()),
        ([[DETECT], [COUNT]], ()),
        ([[DETECT, COUNT], []], ()),
        (SOLUTION, ()),
        ([SOLUTION], ()),
        ([[SOLUTION]], ()),
        ([[SOLUTION, {"solution": []}]], ("[0]: took the first of 2 candidate solutions",)),
        ([[[DETECT, COUNT], [COUNT]]], ("[0]: took the first of 2 candidate solutions",)),
        ([[SOLUTION], [{"solution": []}]], ()),
    ],
)
def test_subtasks_follow_each_other_and_the_first_candidate_counts(value, tolerated):
    parsed = read(value)
    assert parsed.plan.steps == STEPS
    assert parsed.plan.answers == ("<GENERATED>-0",)
    assert parsed.tolerated == tolerated


@pytest.mark.parametrize(
    ("value", "text", "record"),
    [
        ("a.png", "a.png", None),
        (" a ", " a ", None),
        (3, "3", "[0], input 'image': read '3' as a text"),
        (True, "true", "[0], input 'image': read 'true' as a text"),
        (["a.png", "b.png"], "a.png, b.png", "[0], input 'image': joined a list of 2 to 'a.png, b.png'"),
        ([1, 2.5], "1, 2.5", "[0], input 'image': joined a list of 2 to '1, 2.5'"),
        ({"x": [1]}, '{"x": [1]}', "[0], input 'image': read '{\"x\": [1]}' as a text"),
        ("", None, "[0], input 'image': an empty value counts as a missing argument"),
        (None, None, "[0], input 'image': an empty value counts as a missing argument"),
        ([], None, "[0], input 'image': an empty value counts as a missing argument"),
    ],
)
def test_values_that_are_no_texts_are_made_texts_or_dropped_and_recorded(value, text, record):
    parsed = read([{"tool": "image_captioning", "inputs": {"image": value}, "outputs": ["<GEN>-0"]}])
    assert parsed.plan.steps[0].inputs == ({} if text is None else {"image": text})
    assert parsed.tolerated == (() if record is None else (record,))


def test_aliases_and_spellings_are_resolved_and_recorded_and_unknown_tools_kept():
    parsed = read(
        [
            {"tool": "question_answering", "inputs": {"input_msg": "Why?"}, "outputs": ["<GEN>-0"]},
            {"tool": "Image-Captioning", "inputs": {"image": "a.png"}, "outputs": ["<GEN>-1"]},
            {"tool": "object_remover", "inputs": {"image": "a.png"}, "outputs": ["<GEN>-2", "<GEN>-3"]},
        ]
    )
    assert parsed.plan.tools() == ("openai_chat_model", "image_captioning", "object_remover")
    assert parsed.tolerated == (
        "[0]: read 'question_answering' as 'openai_chat_model'",
        "[1]: read 'Image-Captioning' as 'image_captioning'",
    )
    assert parsed.plan.steps[2].outputs == {"output0": "<GEN>-2", "output1": "<GEN>-3"}


def test_outputs_beyond_the_signature_are_called_by_their_index():
    parsed = read([{"tool": "image_captioning", "inputs": {"image": "a.png"}, "outputs": ["x", "y", "z"]}])
    assert parsed.plan.steps[0].outputs == {"text": "x", "output1": "y", "output2": "z"}


def test_answers_come_in_the_order_of_their_numbers_or_are_what_no_step_uses():
    caption = {"tool": "image_captioning", "inputs": {"image": "a.png"}}
    numbered = read([caption | {"outputs": [f"<GEN>-{k}"]} for k in (10, 2, 0)])
    assert numbered.plan.answers == ("<GEN>-0", "<GEN>-2", "<GEN>-10")
    chained = read(
        [
            caption | {"outputs": ["t"]},
            caption | {"outputs": ["u"]},
            {"tool": "summarization", "inputs": {"text": "t"}, "outputs": ["v"]},
        ]
    )
    assert chained.plan.answers == ("u", "v")


PRINTED = """[
  Action(tool_name='object_detection', inputs={'image': "a.png"},
  outputs=['<TOOL-GENERATED>-object_detection-bbox-0']),
],
[
  Action(tool_name='count_objects', inputs={'bbox_list': '<TOOL-GENERATED>-object_detection-bbox-0'},
  outputs=['<GENERATED>-0'])
]
"""


@pytest.mark.parametrize(
    "text",
    [
        PRINTED,
        PRINTED.replace("],\n[", "]\n["),
        "[" + PRINTED + "]",
        PRINTED.replace("tool_name=", "").replace("inputs=", "").replace("outputs=", ""),
        PRINTED.replace("tool_name=", "tool = ").replace("inputs=", "args= ").replace("outputs=", "returns ="),
        PRINTED.replace("\n", " "),
    ],
)
def test_printed_actions_are_read_with_nested_or_following_lists(text):
    parsed = printed(text)
    assert parsed.plan.steps == STEPS
    assert parsed.plan.answers == ("<GENERATED>-0",)
    assert parsed.tolerated == ()


def test_strings_of_printed_actions_are_python_literals():
    parsed = printed(
        r"""[Action('image_captioning', {'a': 'it\'s "so"', "b": "\u00e9\n\\d\d", 'c': [1, 'x']}, ['t'])]"""
    )
    assert parsed.plan.steps[0].inputs == {"a": 'it\'s "so"', "b": "é\n\\d\\d", "c": "1, x"}

    # A character in two halves, as in JSON.
    parsed = printed(r"[Action('some', {'a': '\ud83d\ude00', 'b': '\U0001f600'}, ['t'])]")
    assert set(parsed.plan.steps[0].inputs.values()) == {"\U0001f600"}
