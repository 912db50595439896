"""GPT4Tools' and Visual ChatGPT's strategies: calls as lines `Action` and `Action Input`."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.controlllm.baselines.gpt4tools import GPT4Tools, read_calls
from evaluator.controlllm.baselines.visual_chatgpt import MAX_TURNS, VisualChatGPT
from evaluator.core.plans.model import ParsedPlan, PlanSyntaxError
from evaluator.replies.dialects.action_lines import sections_of
from tests.evaluator.planners.strategies.conversing import (
    NOISY_QUESTION,
    REMOVE_KEYBOARD,
    held,
    is_solved,
    prompt_of,
    read,
    request_of,
)

SEGMENT = "Thought: masks first\nAction: image_instance_segmentation\nAction Input: station_000.png"
SELECT = "Thought: keep one\nAction: select_mask\nAction Input: result-1, keyboard"
INPAINT = 'Thought: fill\nAction: image_inpainting\nAction Input: {"image": "station_000.png", "mask": "result-2"}'
DONE = "Thought: no further tool is needed\nFinal Answer: result-3"


def gpt4tools(text, where=REMOVE_KEYBOARD):
    draft, (call,) = held(GPT4Tools(), request_of(*where), [text])
    return draft, call


def visual(*texts, where=REMOVE_KEYBOARD):
    return held(VisualChatGPT(), request_of(*where), texts)


class TestGPT4Tools:
    def test_the_last_input_may_hold_commas(self):
        lines = "Action: text_image_editing\nAction Input: station_000.png, a wide, empty, dark hall"
        draft, _ = gpt4tools(lines)
        assert draft.plan["steps"][0]["inputs"]["text"] == "a wide, empty, dark hall"

    def test_observations_that_it_makes_up_are_left_out_and_recorded(self):
        draft, _ = gpt4tools(f"{SEGMENT}\nObservation: result-1 has a cat\n{SELECT}\n{INPAINT}\n{DONE}")
        assert is_solved(draft, REMOVE_KEYBOARD[1])
        assert "left out 1 observations" in draft.tolerated[0]

    def test_a_tool_that_nobody_offers_stays_in_the_plan(self):
        draft, _ = gpt4tools("Action: magic\nAction Input: station_000.png")
        assert draft.plan["steps"][0]["tool"] == "magic"

    def test_a_result_that_no_earlier_call_makes_is_never_taken_for_words(self):
        lines = "Action: Text Generation\nAction Input: result-7\nFinal Answer: result-1"
        draft, _ = gpt4tools(lines, NOISY_QUESTION)
        _, problems = read(draft, *NOISY_QUESTION)
        assert [problem.code for problem in problems] == ["unknown_reference"]

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("Just look at it.", "neither a line 'Action:' nor a line 'Final Answer:'"),
            ("Action: image_captioning\nThought: hm", "line 1: no 'Action Input:' follows"),
            ("\n\nAction: image_captioning\nAction Input: {'image': ", "line 3: this input is no JSON object"),
            (f"{SEGMENT}\n" * 101, "101 steps; a plan has at most 100"),
        ],
    )
    def test_what_cannot_be_read_stays_unreadable_and_says_where(self, text, says):
        draft, _ = gpt4tools(text)
        assert says in draft.unreadable


class TestVisualChatGPT:
    def test_each_observation_names_what_the_call_would_give_and_its_type(self):
        draft, calls = visual(SEGMENT, SELECT, INPAINT, DONE)
        assert is_solved(draft, REMOVE_KEYBOARD[1])
        told = [call.messages[-1].content for call in calls[1:]]
        assert told == ["Observation: result-1 (mask)", "Observation: result-2 (mask)", "Observation: result-3 (image)"]
        assert draft.notes["observations"] == ["result-1 (mask)", "result-2 (mask)", "result-3 (image)"]

    def test_what_it_makes_up_behind_its_call_is_left_out_and_not_shown_to_it(self):
        draft, calls = visual(f"{SEGMENT}\nObservation: a dog\n{SELECT}", SELECT, INPAINT, DONE)
        assert is_solved(draft, REMOVE_KEYBOARD[1])
        assert "a dog" not in prompt_of(calls[1])
        assert draft.tolerated == ("turn 1: left out what follows the first call",)

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("Action: magic\nAction Input: x", "there is no tool 'magic'. The tools are image_question_answering,"),
            ("Action: image_captioning", "there is no Action Input"),
            ("Action: image_captioning\nAction Input: {", "the Action Input cannot be read"),
        ],
    )
    def test_a_call_that_cannot_be_made_is_told_and_is_no_part_of_the_plan(self, text, says):
        draft, calls = visual(text, SEGMENT, SELECT, INPAINT, DONE)
        assert says in calls[1].messages[-1].content
        assert is_solved(draft, REMOVE_KEYBOARD[1])

    def test_it_stops_after_a_bounded_number_of_turns_and_says_so(self):
        draft, calls = visual(*[SEGMENT] * MAX_TURNS)
        assert len(calls) == MAX_TURNS
        assert f"stopped after {MAX_TURNS} turns without a final answer" in draft.tolerated
        assert len(draft.plan["steps"]) == MAX_TURNS


@settings(deadline=None)
@given(st.text(alphabet="Action Input:FinalswerObvtThughAI\n,{}'\"-0123", max_size=200))
def test_any_text_has_calls_or_an_error(text):
    result = read_calls(text=text, request=request_of(*REMOVE_KEYBOARD))
    assert isinstance(result, ParsedPlan | PlanSyntaxError)


@settings(deadline=None)
@given(st.lists(st.sampled_from(["Thought: a", "Action: b", "Action Input: c", "AI: d", "plain", ""]), max_size=12))
def test_sections_hold_everything_in_order_and_know_their_lines(lines):
    text = "\n".join(lines)
    sections = sections_of(text)
    assert [section.line for section in sections] == sorted(section.line for section in sections)
    for section in sections:
        if section.label:
            assert text.split("\n")[section.line - 1].startswith(f"{section.label}:")
    assert all(word in "".join(section.text for section in sections) for word in ("plain",) if word in lines)


@pytest.mark.parametrize("text", ["Action: a\n" * 100_000, "Action Input: " + "{" * 1_000_000, ":" * 1_000_000])
def test_huge_texts_are_refused_unread(text):
    draft, _ = gpt4tools(text)
    assert "characters; at most 65536 are read" in draft.unreadable
