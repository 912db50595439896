"""ControlLLM's action lists, as JSON and as the paper prints them."""

import json

import pytest

from evaluator.plans import PlanContext, PlanSyntaxError, Step, parse_controlllm, parse_printed
from evaluator.tools import CONTROLLLM

CONTEXT = PlanContext(catalogue=CONTROLLLM, resources={}, expects=None)
DETECT = {
    "tool": "object_detection",
    "inputs": {"image": "a.png"},
    "outputs": ["<TOOL-GENERATED>-object_detection-bbox-0"],
}
COUNT = {
    "tool_name": "count_objects",
    "inputs": {"bbox_list": "<TOOL-GENERATED>-object_detection-bbox-0"},
    "outputs": ["<GENERATED>-0"],
}
STEPS = (
    Step(
        id="s1",
        tool="object_detection",
        inputs={"image": "a.png"},
        outputs={"object": "<TOOL-GENERATED>-object_detection-bbox-0"},
    ),
    Step(
        id="s2",
        tool="count_objects",
        inputs={"bbox_list": "<TOOL-GENERATED>-object_detection-bbox-0"},
        outputs={"length": "<GENERATED>-0"},
    ),
)


def read(value):
    return parse_controlllm(value=value, context=CONTEXT)


def printed(text):
    return parse_printed(text=text, context=CONTEXT)


def named(mapping, kind):
    return [{"name": name, "type": kind, "description": "", "value": value} for name, value in mapping.items()]


SOLUTION = {
    "score": 5,
    "solution": [
        {
            "tool_name": "object_detection",
            "description": "find",
            "domain": "image-perception",
            "args": named({"image": "a.png"}, "image"),
            "returns": named({"object": "<TOOL-GENERATED>-object_detection-bbox-0"}, "bbox"),
        },
        COUNT,
    ],
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


@pytest.mark.parametrize(
    ("value", "where", "says"),
    [
        ([3], "[0]", "an action is a JSON object, not a number"),
        ([DETECT, [3]], "[1][0]", "not a number"),
        ([{"inputs": {}}], "[0]", "tool's name"),
        ([{"tool": "x", "tool_name": "x"}], "[0]", "mean the same"),
        ([{"tool": "x", "inputs": 3}], "[0].inputs", "not a number"),
        ([{"tool": "x", "args": [{"value": "a"}]}], "[0].args[0].name", "missing"),
        ([{"tool": "x", "args": [{"name": "a"}, {"name": "a"}]}], "[0].args[1]", "stands twice"),
        ([{"tool": "x", "inputs": {}, "outputs": [3]}], "[0].outputs[0]", "not a number"),
        ({"solution": [{"tool": ""}]}, "plan.solution[0]", "empty text"),
        ({"tasks": []}, "plan", "solution"),
        ("[{", "character 3", "not valid JSON"),
        ('[\n {"tool": "x" "inputs"}]', "line 2, column 15", "not valid JSON"),
        ([DETECT] * 101, "", "at most 100"),
    ],
)
def test_a_malformed_list_says_where(value, where, says):
    with pytest.raises(PlanSyntaxError, match=says) as caught:
        read(value)
    assert caught.value.where == where


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


def test_a_character_may_be_written_in_two_halves_as_in_json():
    parsed = printed(r"[Action('some', {'a': '\ud83d\ude00', 'b': '\U0001f600'}, ['t'])]")
    assert set(parsed.plan.steps[0].inputs.values()) == {"\U0001f600"}


@pytest.mark.parametrize(
    ("text", "where", "says"),
    [
        ("", "character 1", "empty"),
        ("[Action(", "character 9", "the end"),
        ("[Action('x', {'a': 'b' []})]", "character 24", "expected ',' or '}'"),
        ("[Action('x', {'a': 'b}, [\"c\"])]", "character 20", "never closed"),
        ("[Action(tool_name='x', inputs={'a': b})]", "character 37", "texts stand in quotes"),
        ("[Action(inputs={})]", "character 2", "tool_name"),
        ("[Action('x', inputs={}, inputs={})]", "character 25", "twice"),
        ("[Action('x', {}, [3])]", "character 18", "a number"),
        ("[Action('x', result=[])]", "character 14", "no 'result'"),
        ("[Action('x')\n, Act()]", "line 2, column 3", "expected 'Action"),
        ("Action('x') and so on", "character 13", "expected 'Action"),
        ("[Action('x', {'a': 1, 'a': 2})]", "character 23", "twice"),
        (r"Action('x', {'a': '\ud800'})", "character 20", "no character"),
        (r"Action('x', {'a': '\x4'})", "character 20", "hexadecimal"),
        (r"Action('x', {'a': '\ud83d\ude0u'})", "character 20", "no character"),
    ],
)
def test_malformed_printed_actions_say_where(text, where, says):
    with pytest.raises(PlanSyntaxError, match=says) as caught:
        printed(text)
    assert caught.value.where == where
