"""InternGPT's form: the last mark gives the region, words choose the tool."""

import re

import pytest

from evaluator.controlllm.baselines.interngpt import InternGPT
from evaluator.controlllm.pointmini.requests import KINDS
from evaluator.core.marks import MARK_TYPES, Mark, MarkKind, named
from evaluator.core.planner import Expected, PlannerRequest, RequestedTask, offered_tools
from evaluator.core.plans.checks import check_plan
from evaluator.core.strategy import Draft
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.planners.strategies.prompting import context_of, resource_lines
from evaluator.replies.read import read_plan

POINT = Mark(kind=MarkKind.POINT, picture="a.png", at=((20, 30), (21, 30)))
LAST = Mark(kind=MarkKind.POINT, picture="a.png", at=((40, 8),))
STROKE = Mark(kind=MarkKind.STROKE, picture="a.png", at=((1, 2), (9, 9)))
BOX = Mark(kind=MarkKind.BOX, picture="b.png", at=((4, 4), (30, 40)))


def asked(text: str, *marks: Mark, expects: str | None = None) -> PlannerRequest:
    pictures = {name: "image" for name in ("a.png", "b.png") if name in text}
    given = named(marks)
    types = {name: MARK_TYPES[mark.kind] for name, mark in given.items()}
    return PlannerRequest(
        suite="toolworld",
        task=RequestedTask(
            id="1", request=text, resources={**pictures, **types},
            given={name: mark.given(size=(64, 64)) for name, mark in given.items()},
        ),
        expects=Expected(type=expects),
        tools=list(offered_tools(CONTROLLLM)),
    )  # fmt: skip


def drafted(request: PlannerRequest) -> Draft:
    conversation = InternGPT().converse(request)
    with pytest.raises(StopIteration) as end:
        next(conversation)
    draft = end.value.value
    assert isinstance(draft, Draft)
    return draft


def calls(request: PlannerRequest) -> list[tuple[str, dict[str, str]]]:
    """Tools and inputs of the plan, which fits the request."""
    context = context_of(request)
    plan = read_plan(value=drafted(request).plan, context=context).plan
    assert check_plan(plan=plan, context=context) == ()
    return [(step.tool, dict(step.inputs)) for step in plan.steps]


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        ("Select this in a.png.", []),
        ("Remove this star from a.png.", ["image_inpainting"]),
        ("Cut this out of a.png.", ["mask_image"]),
        ("Replace this star in a.png with a blue ring.", ["partial_image_editing"]),
        ("Name this in a.png.", ["mask_image", "object_detection"]),
        ("How many things are here in a.png?", ["mask_image", "object_detection", "count_objects"]),
    ],
)
def test_a_point_gives_the_region_and_words_choose_the_tool(text: str, tools: list[str]) -> None:
    (device, inputs), *others = calls(asked(text, POINT))

    assert (device, inputs) == ("image_segmentation_by_points", {"image": "$a.png", "prompt_points": "$point-1"})
    assert [tool for tool, _ in others] == tools


def test_the_new_thing_is_read_from_the_words() -> None:
    assert calls(asked("Turn this star in a.png into a blue ring.", POINT))[1][1]["prompt"] == "a blue ring"


def test_the_device_holds_the_last_mark_only() -> None:
    assert calls(asked("Remove the first thing from a.png.", POINT, LAST))[0][1]["prompt_points"] == "$point-2"


def test_other_given_objects_are_no_marks() -> None:
    request = asked("Remove this star from a.png.", POINT)
    task = request.task.model_copy(update={"given": {**request.task.given, "note": {"text": "a.png"}}})

    assert calls(request.model_copy(update={"task": task})) == calls(request)


def test_no_word_that_only_hidden_sentences_have_chooses_a_tool() -> None:
    public, hidden = (
        {word for kind in KINDS.values() for text in kind[side] for word in re.findall(r"[a-z]+", text.lower())}
        for side in ("public", "hidden")
    )

    assert {"vanish", "isolate", "swap", "identify"} <= hidden - public
    for word in hidden - public:
        assert len(calls(asked(f"Please {word} this in a.png.", POINT))) == 1, word


def test_strokes_are_refined_and_boxes_cropped() -> None:
    found = calls(asked("Erase what I painted over in a.png. Count the things in my box in b.png.", STROKE, BOX))

    assert [tool for tool, _ in found] == [
        "image_segmentation_by_mask", "image_inpainting", "image_cropping", "object_detection", "count_objects",
    ]  # fmt: skip
    assert found[2][1] == {"image": "$b.png", "object": "$box-1"}


def test_without_a_mark_the_named_things_are_selected() -> None:
    found = calls(asked("Remove the red star from a.png."))

    assert [tool for tool, _ in found] == ["image_instance_segmentation", "select_mask", "image_inpainting"]
    assert found[1][1]["condition"] == "red star"


def test_a_request_without_a_picture_is_declined() -> None:
    assert drafted(asked("What time is it?")).plan == {
        "plan": None, "reason": "No sentence of the request names a picture."
    }  # fmt: skip


def test_prompts_of_language_models_say_where_marks_are() -> None:
    assert resource_lines(asked("Remove this from a.png and crop b.png.", POINT, STROKE, BOX)) == (
        "- a.png (image)\n"
        "- b.png (image)\n"
        "- point-1 (point): at 20,30; 21,30 in a.png, in pixels from the upper left (column,row)\n"
        "- stroke-1 (mask): along 1,2; 9,9 in a.png, in pixels from the upper left (column,row)\n"
        "- box-1 (bbox): from corner 4,4 to corner 30,40 in b.png, in pixels from the upper left (column,row)"
    )
