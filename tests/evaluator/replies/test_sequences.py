# ruff: noqa: E501 - each reply is written in one line
"""One sequence of names has many spellings; sentences, tags and two sequences are none."""

import pytest

from evaluator.core.plans.model import PlanContext, PlanSyntaxError
from evaluator.core.tools.catalogues import OPENAGI
from evaluator.core.tools.types import ResourceType
from evaluator.replies.read import read_plan

CONTEXT = PlanContext(catalogue=OPENAGI, resources={"image": ResourceType.IMAGE}, expects=ResourceType.TEXT)
A, B = "Image Denoising", "Image Classification"


def tools(text):
    return read_plan(value=text, context=CONTEXT).plan.tools()


@pytest.mark.parametrize(
    "text",
    [
        f"{A},{B}", f"{A}, {B}.", f"{A} , {B} ,", f"{A},\n{B}", f"{A}; {B}", f"{A} | {B}", f"| {A} | {B} |", f"{A}\t{B}",
        f"{A} -> {B}", f"{A} --> {B}", f"{A} => {B}", f"{A} > {B}", f"{A} \u2192 {B}", f"{A} \u27f6 {B}", f"{A} / {B}",
        f"{A} then {B}", f"{A}, then {B}", f"First, {A}; then {B}.", f"First {A}, then {B}", f"{A} followed by {B}",
        f"{A} and {B}", f"{A} & {B}", f"{A} + {B}", f"{A}\uff0c{B}", f"{A}\u3001{B}",
        f"1. {A}\n2. {B}", f"1) {A} 2) {B}", f"(1) {A} (2) {B}", f"1. {A}, 2. {B}", f"1: {A}\n2: {B}", f"#1 {A}\n#2 {B}",
        f"- {A}\n- {B}", f"* {A}\n* {B}", f"\u2022 {A}\n\u2022 {B}", f"{A}\n{B}", f"{A}.\n{B}.",
        f"Step 1: {A}\nStep 2: {B}", f"Tool: {A}\nTool: {B}", f"1. **{A}**: remove the noise\n2. **{B}**: name it",
        f"[{A}, {B}]", f"['{A}', '{B}']", f'["{A}", "{B}"]', f"({A},){B}", f'"{A}, {B}"', f"`{A}`, `{B}`",
        f"**{A}**, **{B}**", f"\\boxed{{{A}, {B}}}", f"{A}() -> {B}()",
        f"Answer: {A}, {B}", f"Sure! Here is the sequence: {A}, {B}", f"Here is the plan:\n{A}, {B}",
        f"{A}, {B}\n\nThis removes the noise and names what is left.", f"```\n{A}, {B}\n```", f"<answer>{A}, {B}</answer>",
        f"{A}, {B}<|im_end|>", f"<think>{B}?</think>{A}, {B}", f"\ufeff{A}, {B}", f"{A}\u200b, {B}",
        f"\u2460 {A} \u2461 {B}", f"1\ufe0f\u20e3 {A}\n2\ufe0f\u20e3 {B}", f"a) {A}\nb) {B}", f"i. {A}\nii. {B}", f"{A} \u27a1\ufe0f {B}",
        f"{A}\n\u2193\n{B}", f"\u201c{A}\u201d, \u201c{B}\u201d", f"{A.replace(' ', '')}, {B.replace(' ', '')}",
        f"input -> {A} -> {B} -> output", f"{A} (removes the noise), {B} (names it)", f"$\\text{{{A}}} \\rightarrow \\text{{{B}}}$",
        f'{{"tools": ["{A}", "{B}"]}}', f'{{"plan": "{A}, {B}"}}',
        "image denoising, image classification", "IMAGE_DENOISING, IMAGE_CLASSIFICATION", "image-denoising,image-classification",
    ],
)  # fmt: skip
def test_spellings_of_a_sequence_are_that_sequence(text):
    assert tools(text) == (A, B)


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.", "I cannot do this, sorry", "No.", "", "Sure", "{", "}", "<tool>", "...",
        "The picture is noisy, blurry and grey.", f"Do not use {A}, {B}", f"Never: {A}, {B}", f"Do not use these:\n{A}, {B}",
        f"{A}, {B}\nBut that would be wrong.", f"I would not use {A}",
        f"{A} (instead of Colorization), {B}", f"{A}: before {B}", f"1. {A}: not needed\n2. {B}: not needed", f"<think>{A}, {B}", f"<{A}>, {B}", f"{A}, {{{B}}}",
        f"{A}, {B}\nor\n{B}, {A}", f"{A}, {B}\n{B}, {A}", f"{A}, {B}\n\n{B}", f"```\n{A}\n```\n```\n{B}\n```",
    ],
)  # fmt: skip
def test_sentences_tags_and_several_sequences_are_no_plan(text):
    with pytest.raises(PlanSyntaxError):
        tools(text)


@pytest.mark.parametrize("invented", ["Image Sharpening", "Sharpen_It", "Super Magic"])
def test_a_part_that_looks_like_a_name_is_an_invented_tool(invented):
    assert tools(f"{A}, {invented}, {B}") == (A, invented, B)
    assert tools(f'["{A}", "{invented}"]') == (A, invented)
    with pytest.raises(PlanSyntaxError, match="no list of the tools"):
        tools(invented)
