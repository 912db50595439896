"""What the experts that put a picture into words are trained on, and one step of each."""

import dataclasses
import math

import numpy as np
import pytest
import torch

from evaluator.experts.detection import Detection, reading_order
from evaluator.lilliput.grammar import main_caption
from evaluator.lilliput.rendering import object_mask, outline_box
from evaluator.lilliput.scenes import SIZE, draw_scene
from evaluator.lilliput.seeds import Split
from evaluator.lilliput.training import captioning, detection, scene_encoder
from evaluator.lilliput.training.bank import load_bank
from evaluator.lilliput.training.vision_quality import detection_f1, found_rightly, overlap
from evaluator.lilliput.vocabulary import Shape


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    return load_bank(work=tmp_path_factory.mktemp("work"), split=Split.TRAIN, count=8)


def scene(index=0):
    return draw_scene(split=Split.VALIDATION, index=index)


def seen(thing, *, name=None, score=0.9):
    left, top, right, bottom = (side / SIZE for side in outline_box(thing))
    return Detection(name=name or thing.name, score=score, box=(left, top, right, bottom))


@pytest.mark.parametrize("shape", Shape)
def test_a_box_lies_around_its_thing_and_no_further(shape):
    main = dataclasses.replace(scene().main, shape=shape, x=31.5, y=31.5, radius=15.0, angle=0.0)
    left, top, right, bottom = outline_box(main)
    assert 32 - 15.5 <= left < right <= 32 + 15.5
    assert 32 - 15.5 <= top < bottom <= 32 + 15.5
    assert right - left > 20


def test_a_box_ends_where_the_picture_does():
    thing = dataclasses.replace(scene().main, x=0.0, y=63.0)
    left, _, _, bottom = outline_box(thing)
    assert (left, bottom) == (0, SIZE)


def test_the_mask_of_a_scene_fills_its_boxes_and_nothing_else():
    mask = object_mask(scene())
    inside = np.zeros_like(mask)
    for thing in scene().things:
        left, top, right, bottom = outline_box(thing)
        box = np.s_[int(top) : math.ceil(bottom), int(left) : math.ceil(right)]
        assert mask[box].mean() > 0.2
        inside[box] = True
    assert not (mask & ~inside).any()


def test_overlap_is_intersection_over_union():
    assert overlap((0, 0, 2, 2), (1, 0, 3, 2)) == pytest.approx(1 / 3)
    assert overlap((0, 0, 1, 1), (2, 2, 3, 3)) == 0


def test_a_detection_is_right_if_name_and_frame_are_and_counts_once():
    things = scene().things
    assert found_rightly(found=[seen(thing) for thing in things], scene=scene()) == len(things)
    assert found_rightly(found=[seen(things[0]), seen(things[0], score=0.5)], scene=scene()) == 1
    assert found_rightly(found=[seen(things[0], name="grey blob")], scene=scene()) == 0
    assert found_rightly(found=[seen(things[1], name=things[0].name)], scene=scene()) == 0
    assert detection_f1(found=[[seen(thing) for thing in things]], scenes=[scene()]) == 1


def test_the_most_central_object_is_named_first_and_the_others_from_left_to_right():
    boxes = {"b": (0.5, 0, 0.6, 0.1), "main": (0.3, 0.3, 0.8, 0.8), "a": (0.1, 0.9, 0.2, 1.0)}
    objects = [Detection(name=name, score=0.9, box=box) for name, box in boxes.items()]
    assert [detection.name for detection in reading_order(objects)] == ["main", "a", "b"]
    assert reading_order([]) == []


def test_patches_are_labelled_with_what_covers_them():
    labels = scene_encoder.patch_labels(split=Split.VALIDATION, index=0).reshape(8, 8, 2)
    main = scene().main
    middle = labels[int(main.y) // 8, int(main.x) // 8]
    assert middle[1] == 1 + list(Shape).index(main.shape)
    assert {int(shape) for shape in labels[..., 1].unique()} <= {
        0,
        *(1 + list(Shape).index(t.shape) for t in scene().things),
    }


def test_captions_name_the_main_object_and_the_background():
    public = draw_scene(split=Split.PUBLIC, index=5)
    assert main_caption(public).english == "A red triangle is on a light blue background."
    assert main_caption(public).german == "Ein rotes Dreieck ist auf hellblauem Hintergrund."


def test_captions_survive_the_tokenizer():
    words = captioning.tokenizer()
    text = "A turquoise hexagon is on a light blue background."
    ids = words(text)["input_ids"]
    assert words.unk_token_id not in ids
    assert words.decode(ids, skip_special_tokens=True) == text


@pytest.mark.parametrize(
    ("build", "objective"),
    [
        (scene_encoder.build, scene_encoder.SceneObjective),
        (captioning.build, captioning.CaptioningObjective),
        (detection.build, detection.DetectionObjective),
    ],
)
def test_the_loss_of_a_step_depends_on_its_own_stream_only(bank, build, objective):
    torch.manual_seed(0)
    model = build().train()
    first, second = (objective(bank, batch=2).loss(model=model, rng=np.random.default_rng(3)).item() for _ in range(2))
    assert first == pytest.approx(second, rel=1e-4)
    assert np.isfinite(first)
