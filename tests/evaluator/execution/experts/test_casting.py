"""The miniature world under everyday names, on scenes and clips of the validation split."""

from dataclasses import replace

import pytest

from evaluator.core.expert import ExpertError
from evaluator.core.values import Clip
from evaluator.execution.experts.casting import CastDrawing
from evaluator.execution.experts.profile import load_expert, load_profile
from evaluator.miniature.lilliput_samples import clean_image
from evaluator.miniature.roles import label_of, role_of
from evaluator.miniature.scenes import draw_scene
from evaluator.miniature.seeds import Split
from evaluator.miniature.tableaux.clips import draw_clip, frames_of

COUNT = 64
SELECTIONS = {"select_category": "category_list", "select_bbox": "bbox_list", "select_mask": "mask_list"}
FINDERS = {
    "image_classification": "select_category", "object_detection": "select_bbox",
    "image_instance_segmentation": "select_mask",
}  # fmt: skip


@pytest.fixture(scope="module")
def experts():
    specs = load_profile("lilliput-cast").experts
    loaded = {}

    def run(tool, items):
        if tool not in loaded:
            loaded[tool] = load_expert(spec=specs[tool])
        return [next(iter(result.values())) for result in loaded[tool].run(items)]

    return run


@pytest.mark.parametrize("finder", FINDERS)
def test_the_main_thing_is_found_under_its_everyday_name(experts, finder):
    images = [clean_image(split=Split.VALIDATION, index=index) for index in range(COUNT)]
    names = [role_of(draw_scene(split=Split.VALIDATION, index=index).label) for index in range(COUNT)]
    select = FINDERS[finder]
    found = experts(finder, [{"image": image} for image in images])
    chosen = experts(
        select, [{SELECTIONS[select]: one, "condition": f"the {name}"} for one, name in zip(found, names, strict=True)]
    )
    assert sum(bool(one.items) for one in chosen) >= 0.95 * COUNT


def test_actions_are_told_apart(experts):
    clips = [draw_clip(split=Split.VALIDATION, index=index) for index in range(COUNT)]
    found = experts("video_classification", [{"video": Clip(frames_of(clip))} for clip in clips])
    right = [labels.items[0].name == role_of(str(clip.motion)) for labels, clip in zip(found, clips, strict=True)]
    assert sum(right) >= 0.9 * COUNT


def test_grounding_captions_and_answers_have_everyday_names(experts):
    scene = draw_scene(split=Split.VALIDATION, index=0)
    image, name = clean_image(split=Split.VALIDATION, index=0), role_of(scene.label)
    (boxes,) = experts("visual_grounding", [{"image": image, "query": f"the {name}"}])
    assert {box.label for box in boxes.items} == {name}
    (caption,) = experts("image_captioning", [{"image": image}])
    assert name in caption
    (colour,) = experts("image_question_answering", [{"image": image, "text": f"What color is the {name}?"}])
    assert colour == scene.main.colour


def test_a_text_is_drawn_by_what_plays_its_names():
    text = "A beach with an umbrella."
    expert = object.__new__(CastDrawing)
    assert expert.read({"text": text}) == f"A {label_of('umbrella')} is on a sandy background."


def test_an_unknown_list_is_refused():

    spec = replace(load_profile("lilliput-cast").experts["select_mask"], parameters={"list": "x"})
    with pytest.raises(ExpertError, match="category_list, bbox_list, mask_list"):
        load_expert(spec=spec)
