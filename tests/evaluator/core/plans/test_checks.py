"""What a plan may get wrong, and the sentence that says so."""

import pytest

from evaluator.core.plans.checks import check_plan, execution_order
from evaluator.core.plans.model import PlanContext
from evaluator.core.tools.catalogues import OPENAGI
from evaluator.core.tools.types import ResourceType
from evaluator.replies.canonical import parse_canonical

OFFERED = frozenset({"Image Denoising", "Image Deblurring", "Colorization", "Image Classification"})
CONTEXT = PlanContext(
    catalogue=OPENAGI.restricted_to(OFFERED),
    resources={"image": ResourceType.IMAGE},
    expects=ResourceType.TEXT,
    known=OPENAGI,
)


def step(step_id, tool, value, output="image", argument="image"):
    return {"id": step_id, "tool": tool, "inputs": {argument: value}, "outputs": {output: f"{step_id}.{output}"}}


def problems(*steps, answers=("s2.text",)):
    parsed = parse_canonical(value={"steps": list(steps), "answers": list(answers)}, context=CONTEXT)
    return check_plan(plan=parsed.plan, context=CONTEXT)


DENOISE = step("s1", "Image Denoising", "$image")
CLASSIFY = step("s2", "Image Classification", "s1.image", output="text")


def test_a_right_plan_has_no_problem():
    assert problems(DENOISE, CLASSIFY) == ()


@pytest.mark.parametrize(
    ("steps", "answers", "code", "says"),
    [
        ([step("s1", "Magic", "$image"), CLASSIFY], ["s2.text"], "unknown_tool", "there is no such tool among the "),
        ([step("s1", "Image Denoise", "$image"), CLASSIFY], ["s2.text"], "unknown_tool", 'mean "Image Denoising"?'),
        ([step("s1", "Object Detection", "$image", "text")], ["s1.text"], "tool_not_offered", "no expert for it"),
        ([step("s1", "Image Denoising", "$picture"), CLASSIFY], ["s2.text"], "unknown_reference", "gives $image"),
        ([step("s1", "Image Denoising", "a photo"), CLASSIFY], ["s2.text"], "unknown_reference", "no step makes"),
        ([step("s1", "Image Denoising", "$image", argument="odd"), CLASSIFY], ["s2.text"], "unexpected_input", "odd"),
        ([step("s1", "Image Denoising", "$image", output="text"), CLASSIFY], ["s2.text"], "unknown_output", '"text"'),
        ([DENOISE], ["s1.image"], "answer_type", "expects text"),
        ([DENOISE, CLASSIFY], [], "answer_count", "0 answers"),
        ([DENOISE, CLASSIFY], ["s2.text", "s1.image"], "answer_count", "2 answers"),
        ([DENOISE, CLASSIFY], ["s9.text"], "unknown_reference", "the answer is"),
        ([step("s1", "Image Denoising", "s3.image"), CLASSIFY, step("s3", "Colorization", "s1.image")], ["s2.text"],
         "cycle", "s1 ->"),
        ([CLASSIFY, DENOISE, CLASSIFY], ["s2.text"], "duplicate_id", "unique"),
    ],
)  # fmt: skip
def test_each_fault_is_named_with_its_step(steps, answers, code, says):
    found = problems(*steps, answers=answers)
    assert code in [problem.code for problem in found]
    assert says in next(problem.message for problem in found if problem.code == code)


def test_a_tool_that_does_not_exist_is_named_without_a_list_of_all_tools():
    (found,) = problems(step("s1", "Magic", "$image"), CLASSIFY)
    assert not [tool for tool in CONTEXT.catalogue.tools if tool in found.message]


def test_a_type_conflict_names_step_input_and_both_types():
    found = problems(
        step("s1", "Image Classification", "$image", output="text"),
        step("s2", "Colorization", "s1.text"),
        answers=["s1.text"],
    )
    assert [problem.message for problem in found] == [
        'plan step 2 ("Colorization"): input "image" is text (from step "s1", Image Classification); '
        "Colorization takes image"
    ]


def test_steps_may_stand_in_any_order():
    parsed = parse_canonical(value={"steps": [CLASSIFY, DENOISE], "answers": ["s2.text"]}, context=CONTEXT)
    assert check_plan(plan=parsed.plan, context=CONTEXT) == ()
    assert [item.id for item in execution_order(parsed.plan)] == ["s1", "s2"]


def test_left_out_outputs_are_named_and_recorded():
    raw = {"steps": [{"id": "a", "tool": "Image Classification", "inputs": {"image": "$image"}}], "answers": ["a.text"]}
    parsed = parse_canonical(value=raw, context=CONTEXT)
    assert parsed.plan.steps[0].outputs == {"text": "a.text"}
    assert "steps[0] has no outputs" in parsed.tolerated[0]
