"""Variants of envelopes, lists of names, remarks and answers: each is read, or refused with a reason."""

import pytest
from PIL import Image as PillowImage

from evaluator.core.pictures import as_seen
from evaluator.core.plans.abstaining import FORM
from evaluator.core.plans.model import PlanContext, PlanSyntaxError
from evaluator.core.suites.registry import suite_of
from evaluator.core.turns import TurnResponse
from evaluator.lumos.maths.scoring import number_in
from evaluator.lumos.retrieval.answers import exact_match
from evaluator.replies.read import read_plan
from evaluator.replies.turns.actions import read_actions
from evaluator.replies.turns.model import TurnSyntaxError

SUITE = suite_of("openagi")
TASK = next(task for task in SUITE.tasks if task.key == "97")
CONTEXT = PlanContext(catalogue=SUITE.catalogue, resources=TASK.resources, expects=TASK.expects)
NAMES = ["Image Denoising", "Image Classification"]
STEPS = {
    "steps": [{"id": "s1", "tool": NAMES[0], "inputs": {"image": "$image"}, "outputs": {"image": "s1.image"}}],
    "answers": ["s1.image"],
}
RULE = "|---|---|"


@pytest.mark.parametrize(
    "text",
    [
        f"| Step | Tool |\n{RULE}\n| 1 | Image Denoising |\n| 2 | Image Classification |",
        f"The plan:\n\nTool | Why\n{RULE}\nImage Denoising | it is noisy\nImage Classification | gives the label",
        "<ol><li>Image Denoising</li><li>Image Classification</li></ol>",
        "<ul>\n  <li><b>Image Denoising</b></li>\n  <li>Image Classification</li>\n</ul>",
        "- [ ] Image Denoising\n- [ ] Image Classification",
        "('Image Denoising', 'Image Classification')",
        'The sequence is ["Image Denoising", "Image Classification"].',
    ],
)
def test_names_in_tables_html_and_lists_are_a_sequence(text):
    assert list(read_plan(value=text, context=CONTEXT).plan.tools()) == NAMES


def test_objects_with_a_name_only_are_a_sequence():
    for value in (
        [{"tool": name} for name in NAMES],
        [{"step": number, "tool": name, "reason": "x"} for number, name in enumerate(NAMES, start=1)],
    ):
        parsed = read_plan(value=value, context=CONTEXT)
        assert list(parsed.plan.tools()) == NAMES
        assert parsed.plan.steps[1].inputs


@pytest.mark.parametrize(
    "text",
    [
        f"| Tool | Alternative |\n{RULE}\n| Image Denoising | Colorization |",
        f"| Tool | Why |\n{RULE}\n| Image Denoising | noisy |\n| not this one | Colorization |",
        "- [x] Image Denoising\n- [ ] Image Classification",
        'I would not use ["Image Denoising", "Image Classification"].',
    ],
)
def test_tables_and_lists_that_leave_a_choice_are_refused(text):
    with pytest.raises(PlanSyntaxError):
        read_plan(value=text, context=CONTEXT)


def test_unknown_keys_that_hold_no_plan_are_ignored_and_recorded():
    for extra in ({"_note": {"a": 1}}, {"$schema": "https://example.org"}, {"difficulty": "low"}, {"attempt": 2}):
        parsed = read_plan(value=STEPS | extra, context=CONTEXT)
        assert parsed.plan == read_plan(value=STEPS, context=CONTEXT).plan
        assert any(next(iter(extra)) in note for note in parsed.tolerated)
    parsed = read_plan(value={"request": "Denoise it.", "plan": STEPS}, context=CONTEXT)
    assert parsed.plan.tools() == read_plan(value=STEPS, context=CONTEXT).plan.tools()
    for extra in ({"answer": "s1.image"}, {"extras": [{"id": "s2"}]}):
        with pytest.raises(PlanSyntaxError, match="unknown key"):
            read_plan(value=STEPS | extra, context=CONTEXT)


def test_an_empty_plan_with_a_reason_is_an_abstention():
    parsed = read_plan(value={"plan": [], "reason": "There is no tool."}, context=CONTEXT)
    assert (parsed.form, parsed.reason) == (FORM, "There is no tool.")


def test_the_thought_of_gemma_and_of_tags_with_attributes_is_left_out():
    for thought in ("<|channel>thought\nColorization?<channel|>", '<think time="3s">Colorization?</think>'):
        assert list(read_plan(value=thought + ", ".join(NAMES), context=CONTEXT).plan.tools()) == NAMES


def test_calls_beside_the_text_of_langchain_and_between_the_tags_of_olmo_are_read():
    call = {"id": "a", "type": "function", "function": {"name": NAMES[0], "arguments": '{"image": "$image"}'}}
    parsed = read_plan(value={"content": "", "additional_kwargs": {"tool_calls": [call]}}, context=CONTEXT)
    assert list(parsed.plan.tools()) == NAMES[:1]
    toolmini = suite_of("toolmini")
    task = next(task for task in toolmini.tasks if task.key == "image_detection/0")
    context = PlanContext(catalogue=toolmini.catalogue, resources=task.resources, expects=task.expects)
    text = '<function_calls>\nobject_detection(image="yard_001.png")\n</function_calls>'
    assert list(read_plan(value=text, context=context).plan.tools()) == ["object_detection"]


def test_null_fields_beside_an_answer_mean_nothing():
    response = TurnResponse.model_validate({"stop": None, "actions": None, "alternatives": None, "answer": "72"})
    assert (response.answer, response.stop) == ("72", False)


@pytest.mark.parametrize(
    "rest",
    ["\nThis selects all names.", "\n\nThe names of all singers", ". This selects names.", "\nNote: names may repeat"],
)
def test_a_statement_with_prose_after_it_is_refused(rest):
    with pytest.raises(TurnSyntaxError, match="prose after the statement"):
        read_actions(text=f"R1 = SELECT name FROM singer{rest}", statements=True, tools=())


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT name\nFROM singer\nWHERE age > 3\nORDER BY age DESC",
        "SELECT s.name, t.title\nFROM singer s\nLEFT JOIN title t\nON s.id = t.id",
        "SELECT name FROM singer WHERE said = 'Yes.\nThis is it.'",
    ],
)
def test_a_statement_in_several_lines_stays_as_it_is(statement):
    (action,) = read_actions(text=f"R1 = {statement}", statements=True, tools=()).actions
    assert action.raw == statement
    (action,) = read_actions(text='R1 = "SELECT name FROM singer"', statements=True, tools=()).actions
    assert action.raw == "SELECT name FROM singer"


def test_answers_are_read_in_their_envelopes():
    for text, value in (
        ("72<|im_end|>", 72),
        ("<think>71?</think>72", 72),
        ("```\n72\n```", 72),
        ("Therefore, the final answer is: $\\boxed{72}$. I hope it is correct.", 72),
        ("9'500", 9500),
        ("9\u202f500", 9500),
        ("9\u2009500", 9500),
    ):
        number = number_in(text)
        assert number is not None, text
        assert number.value == value
    assert number_in("<think>72") is None
    assert exact_match(answer="<think>Rome</think>Paris<|im_end|>", reference="Paris")


def test_the_transparent_grey_of_a_deep_picture_is_white():
    picture = PillowImage.new("I;16", (2, 1), 0)
    picture.putpixel((1, 0), 32896)
    picture.info["transparency"] = 0
    seen = as_seen(picture)
    assert [seen.getpixel((x, 0)) for x in (0, 1)] == [(255, 255, 255), (128, 128, 128)]
