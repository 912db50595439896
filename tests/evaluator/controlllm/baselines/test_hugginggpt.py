"""HuggingGPT's strategy: one prompt, a JSON list of tasks, whatever stands around it."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.controlllm.baselines.hugginggpt import HuggingGPT, find_list
from evaluator.core.plans.model import PlanSyntaxError
from tests.evaluator.planners.strategies.conversing import (
    REMOVE_KEYBOARD,
    held,
    is_solved,
    request_of,
)

TASKS = [
    {"task": "image_instance_segmentation", "id": 0, "dep": [-1], "args": {"image": "station_000.png"}},
    {"task": "select_mask", "id": 1, "dep": [0], "args": {"mask_list": "<resource>-0", "condition": "keyboard"}},
    {"task": "image_inpainting", "id": 2, "dep": [1], "args": {"image": "station_000.png", "mask": "<resource>-1"}},
]


def answer(text, where=REMOVE_KEYBOARD):
    return held(HuggingGPT(), request_of(*where), [text])


def test_prose_and_a_code_fence_around_the_list_are_left_out_and_recorded():
    draft, _ = answer(f"Sure, here it is:\n```json\n{json.dumps(TASKS)}\n```\nShall I go on?")
    assert is_solved(draft, REMOVE_KEYBOARD[1])
    assert draft.tolerated[0] == "envelope: fence"


@pytest.mark.parametrize("text", [str(TASKS), f"{json.dumps(TASKS)}\nAgain: {json.dumps(TASKS, indent=1)}"])
def test_a_python_literal_and_an_equal_list_are_the_list(text):
    draft, _ = answer(text)
    assert is_solved(draft, REMOVE_KEYBOARD[1])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("I cannot help with that.", "no JSON list of tasks"),
        ('[{"task": "image_captioning", "id": 0,', "line 1, column"),
        ('[{"task": "image_captioning", "id": 0, "args": "x"}]', "[0].args: must be an object"),
        (f"{json.dumps(TASKS)}\nOr: {json.dumps(TASKS[:1])}", "several lists of tasks"),
        ("[" * 50_000 + "{}", "JSON"),
        ("[{" + "a" * 1_000_000, "1000002 characters; at most 65536 are read"),
    ],
)
def test_what_is_no_list_of_tasks_stays_unreadable_and_says_why(text, says):
    draft, _ = answer(text)
    assert says in draft.unreadable
    assert draft.notes["unreadable"] == draft.unreadable
    assert len(draft.plan) < 70_000


@settings(deadline=None)
@given(st.text(alphabet='[]{}"\\:,-.0123456789abenrtu \n', max_size=80))
def test_any_text_has_a_list_or_an_error(text):
    try:
        value, _ = find_list(text)
    except PlanSyntaxError:
        value = []
    assert isinstance(value, list)
