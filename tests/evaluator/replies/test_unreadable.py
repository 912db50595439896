# ruff: noqa: E501 - each reply is written in one line
"""Refusals, fragments and noise are no plan, wrapping changes nothing, and time grows with length only."""

import json
import random
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.core.plans.model import Plan, PlanContext, PlanSyntaxError, Step, plan_to_json
from evaluator.core.tools.catalogues import CONTROLLLM, OPENAGI
from evaluator.core.tools.types import ResourceType
from evaluator.replies.read import MAX_TEXT, read_plan
from tests.evaluator.core.plans.linear import assert_linear

CONTEXT = PlanContext(catalogue=CONTROLLLM, resources={"a.png": ResourceType.IMAGE}, expects=ResourceType.BBOX)
NAMES = PlanContext(catalogue=OPENAGI, resources={"image": ResourceType.IMAGE}, expects=ResourceType.TEXT)
PLAN = Plan(
    steps=(
        Step("s1", "object_detection", {"image": "$a.png"}, {"object": "s1.object"}),
        Step("s2", "select_bbox", {"bbox_list": "s1.object", "condition": "train"}, {"result": "s2.result"}),
    ),
    answers=("s2.result",),
)
TEXT = json.dumps(plan_to_json(PLAN))
REFUSALS = ("I'm sorry, but I can't help with that", "I cannot fulfil this request", "As a language model, I have no tools",
            "Unfortunately this is not possible", "No plan", "N/A", "Error", "The image is not available")  # fmt: skip
ENVELOPES = (
    "{}", "```json\n{}\n```", "Here is the plan:\n```\n{}\n```\nDone.", "Sure! {}", "{}\nThat is all.", "<think>No: [1].</think>{}",
    "Hm.</think>\n{}", "<answer>{}</answer>", "{}<|im_end|>", "<|im_start|>assistant\n{}", "\ufeff{}\r\n", "```json\n{}",
)  # fmt: skip


def noise(seed):
    """Refusals, words of the catalogue in sentences, random symbols, and the beginnings of plans."""
    draw = random.Random(seed)
    kind = draw.randrange(4)
    if kind == 0:
        return f"{draw.choice(REFUSALS)}{draw.choice(['.', '!', '', ' because the image is blurry, small and dark.'])}"
    if kind == 1:
        words = ["the", "image", "is", "denoising", "it", "text", "was", "question", "a"]
        return " ".join(draw.choices(words, k=draw.randint(4, 12))) + "."
    if kind == 2:
        symbols = string.punctuation + string.whitespace + "aeiou01 \ufeff\u200b"
        return "".join(draw.choices(symbols, k=draw.randint(1, 60)))
    return draw.choice(ENVELOPES).format(TEXT[: draw.randint(1, len(TEXT) - 2)])


@pytest.mark.parametrize("context", [CONTEXT, NAMES], ids=["calls", "names"])
def test_noise_is_no_plan(context):
    for seed in range(5000):
        text = noise(seed)
        try:
            plan = read_plan(value=text, context=context).plan
        except PlanSyntaxError:
            continue
        assert text.strip() in ("[]", "{}", "()") or not plan.steps, (text, plan)


@given(
    literal=st.text(max_size=30).filter(lambda text: text.isprintable() and "</" not in text and "<|" not in text),
    envelope=st.sampled_from(ENVELOPES),
)
@settings(max_examples=300, deadline=None)
def test_no_envelope_changes_a_literal(literal, envelope):
    second = Step("s2", "select_bbox", {"bbox_list": "s1.object", "condition": literal or "x"}, {"result": "s2.result"})
    plan = Plan(steps=(PLAN.steps[0], second), answers=PLAN.answers)
    text = envelope.replace("{}", json.dumps(plan_to_json(plan)))
    assert read_plan(value=text, context=CONTEXT).plan == plan


@given(
    first=st.sampled_from(ENVELOPES[:8]),
    second=st.sampled_from(ENVELOPES[:8]),
    between=st.sampled_from(["", "\n", "\n\nor\n"]),
)
@settings(max_examples=100, deadline=None)
def test_two_different_plans_are_never_a_third(first, second, between):
    other = Plan(steps=PLAN.steps[:1], answers=("s1.object",))
    plans = (TEXT, json.dumps(plan_to_json(other)))
    text = first.replace("{}", plans[0]) + between + second.replace("{}", plans[1])
    try:
        plan = read_plan(value=text, context=CONTEXT).plan
    except PlanSyntaxError:
        return
    # A thought or an end mark between them says which one is meant.
    assert plan in (PLAN, other)


@pytest.mark.full
@pytest.mark.parametrize(
    "unit",
    ["[", "{", '{"', "```\n", "<think>", "</think>", "<tool_call>", "[TOOL_CALLS]", "a, ", "Action: ", "f(", "(", "-> ", "data: {}\n",
     "<|channel|>final<|message|>", "\\boxed{", "1. ", '{"a": 1} ', "\u200b", "<answer>", "and then ", "<function=f>", "Image Denoising, ", "<arg_key>a</arg_key><arg_value>", "<parameter=a>",
     "</s>", "<|im_end|>", "print(", "```python\ndef f", ">>>a\n{}\n", "a,", '<parameter name="a">', '<invoke name="f">', "<tool_call>f"],
)  # fmt: skip
def test_time_grows_with_length_only(unit):
    short, long = ((unit * (length // len(unit) + 1))[:length] for length in (8_000, 64_000))
    assert_linear(lambda text: read_plan(value=text, context=NAMES), short, long, error=PlanSyntaxError)


def test_a_text_has_a_greatest_length():
    with pytest.raises(PlanSyntaxError, match="at most"):
        read_plan(value="a" * (MAX_TEXT + 1), context=NAMES)
