"""HuggingGPT's strategy: one prompt, a JSON list of tasks, whatever stands around it."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.planners.language_models.protocol import Completion
from evaluator.planners.strategies.hugginggpt import HuggingGPT, find_list
from evaluator.plans import PlanSyntaxError
from tests.evaluator.planners.strategies.conversing import (
    NOISY_QUESTION,
    REMOVE_KEYBOARD,
    held,
    is_solved,
    prompt_of,
    read,
    request_of,
)

TASKS = [
    {"task": "image_instance_segmentation", "id": 0, "dep": [-1], "args": {"image": "station_000.png"}},
    {"task": "select_mask", "id": 1, "dep": [0], "args": {"mask_list": "<resource>-0", "condition": "keyboard"}},
    {"task": "image_inpainting", "id": 2, "dep": [1], "args": {"image": "station_000.png", "mask": "<resource>-1"}},
]


def answer(text, where=REMOVE_KEYBOARD):
    return held(HuggingGPT(), request_of(*where), [text])


def test_one_prompt_offers_every_tool_and_everything_given():
    request = request_of(*REMOVE_KEYBOARD)
    _, calls = answer("[]")
    (call,) = calls
    prompt = prompt_of(call)
    assert all(tool.name in prompt for tool in request.tools)
    assert request.task.request in prompt
    assert "station_000.png (image)" in prompt


def test_a_list_of_tasks_solves_a_request_whose_plans_are_judged():
    draft, _ = answer(json.dumps(TASKS))
    assert is_solved(draft, REMOVE_KEYBOARD[1])
    assert draft.notes["tolerated"] == []
    assert draft.notes["completions"] == [json.dumps(TASKS)]


def test_a_list_of_tasks_is_a_valid_plan_of_a_suite_that_executes():
    tasks = [
        {"task": "Image Denoising", "id": 0, "dep": [-1], "args": {"image": "$image"}},
        {"task": "Visual Question Answering", "id": 1, "dep": [0],
         "args": {"image": "<resource>-0", "text": "$query"}},
    ]  # fmt: skip
    draft, _ = answer(json.dumps(tasks), NOISY_QUESTION)
    parsed, problems = read(draft, *NOISY_QUESTION)
    assert problems == ()
    assert parsed.plan.tools() == ("Image Denoising", "Visual Question Answering")


def test_prose_and_a_code_fence_around_the_list_are_left_out_and_recorded():
    draft, _ = answer(f"Sure, here it is:\n```json\n{json.dumps(TASKS)}\n```\nShall I go on?")
    assert is_solved(draft, REMOVE_KEYBOARD[1])
    assert "characters around the list" in draft.notes["tolerated"][0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("I cannot help with that.", "no JSON list of tasks"),
        ('[{"task": "image_captioning", "id": 0,', "line 1, column"),
        ('[{"task": "image_captioning", "id": 0, "args": "x"}]', "[0].args: must be an object"),
        ("[" * 50_000 + "{}", "JSON"),
        ("[{" + "a" * 1_000_000, "1000002 characters; at most 65536 are read"),
    ],
)
def test_what_is_no_list_of_tasks_stays_unreadable_and_says_why(text, says):
    draft, _ = answer(text)
    assert says in draft.unreadable
    assert draft.notes["unreadable"] == draft.unreadable
    assert len(draft.plan) < 70_000


def test_no_task_at_all_is_a_plan_without_steps():
    draft, _ = answer("[]")
    assert draft.unreadable == ""
    assert draft.plan["steps"] == []


@settings(deadline=None)
@given(st.text(alphabet='[]{}"\\:,-.0123456789abenrtu \n', max_size=80))
def test_any_text_has_a_list_or_an_error(text):
    try:
        value, _ = find_list(text)
    except PlanSyntaxError:
        value = []
    assert isinstance(value, list)


def test_a_completion_that_was_cut_is_noted():
    conversation = HuggingGPT().converse(request_of(*REMOVE_KEYBOARD))
    next(conversation)
    with pytest.raises(StopIteration) as end:
        conversation.send([Completion(text='[{"task": "image_capt', truncated=True)])
    assert end.value.value.notes["truncated"] is True
    assert end.value.value.unreadable
