"""Detection, segmentation and grounding: prompts, boxes, masks and segments."""

import numpy as np
import pytest
from PIL import Image

from evaluator.core.expert import InputError
from evaluator.core.values import Boxes, Mask, Masks, encode
from evaluator.execution.experts.profile import load_expert, load_profile

pytestmark = pytest.mark.usefixtures("one_thread")


def test_masks_keep_the_names_of_their_prompts_and_empty_prompts_are_left_out():
    from evaluator.studies.experts.quality import seeing

    (truth,) = seeing.truths(1)
    parts, expert = truth.parts, load_expert(spec=load_profile("lilliput").experts["image_segmentation_by_mask"])
    empty = Mask("blue ring", np.zeros((64, 64), dtype=np.bool_))
    prompts = Masks(parts.size, (*(Mask(f"part {i}", p.pixels) for i, p in enumerate(parts.items)), empty))
    (result,) = expert.run([{"image": truth.image, "prompt_mask": prompts}])
    assert [one.label for one in result["mask"].items] == [f"part {i}" for i in range(len(parts.items))]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "written like"),
        ("in the middle", "written like"),
        ("12 30", "written like"),
        ("12,30; ", None),
        ("1e3,2", "written like"),
        ("-1,5", "written like"),
        ("64,3", "64,3 .* outside the picture; the last is 63,63"),
        ("3,63.5", "outside"),
        ("1,1; 2,2; 3,3; 4,4", "4 points; 1 to 3"),
    ],
)
def test_points_must_lie_in_the_picture(text, fault):
    from evaluator.execution.experts.segmentation import points_of

    if fault is None:
        assert points_of(text, size=(64, 64)) == [(12.0, 30.0)]
        return
    with pytest.raises(InputError, match=fault):
        points_of(text, size=(64, 64))


@pytest.mark.parametrize(
    ("query", "name"), [("the red star", "red star"), ("A  ring", "ring"), ("another star", "another star")]
)
def test_the_article_of_a_query_is_left_out(query, name):
    from evaluator.execution.experts.grounding import plain_name

    assert plain_name(query) == name


def detected(*, score, box=(0.1, 0.1, 0.5, 0.5), name="red star"):
    from evaluator.execution.experts.detection import Detection

    return Detection(name=name, score=score, box=box)


def test_of_two_boxes_for_one_thing_the_surer_one_is_kept():
    from evaluator.execution.experts.detection import BoxesExpert

    moved, other = (0.1, 0.1, 0.5, 0.55), (0.5, 0.5, 0.9, 0.9)
    results = [detected(score=0.5), detected(score=0.9, box=moved), detected(score=0.6, box=other)]
    assert [one.score for one in BoxesExpert.ordered(results)] == [0.9, 0.6]
    named = [detected(score=0.5), detected(score=0.9, name="blue star")]
    assert len(BoxesExpert.ordered(named)) == 2


def test_boxes_end_where_the_picture_does():
    from evaluator.execution.experts.detection import as_boxes

    boxes = as_boxes(objects=[detected(score=1.2, box=(-0.1, 0.5, 0.5, 1.5))], size=(64, 32))
    assert isinstance(boxes, Boxes)
    assert boxes.items[0].corners == (0, 16, 32, 32)
    assert boxes.items[0].score == 1


def test_boxes_and_points_as_planes():
    import torch

    from evaluator.execution.experts.segmentation import plane_of_boxes, plane_of_points

    boxes = plane_of_boxes(torch.tensor([[1.0, 2.0, 4.0, 4.0]]), size=8)[0, 0]
    assert boxes.shape == (8, 8)
    assert (boxes[2:4, 1:4] == 1).all()
    assert (boxes == 1).sum() == 6
    places, labels = torch.tensor([[[4.0, 1.0], [0.0, 7.0]]]), torch.tensor([[1, -1]])
    points = plane_of_points(places, labels=labels, size=8)[0, 0]
    assert points[1, 4] == points[1, 6] == 1
    assert points[7, 0] == points[1, 7] == -1


def square(left, top, *, side=4):
    mask = np.zeros((16, 16), dtype=np.bool_)
    mask[top : top + side, left : left + side] = True
    return mask


def test_segments_are_good_enough_and_no_segment_is_there_twice():
    from evaluator.execution.experts.segmentation import distinct

    masks = np.stack([square(0, 0), square(0, 1), square(8, 8), square(8, 0), square(0, 0, side=0)])
    kept = distinct(masks=masks, scores=np.asarray([0.7, 0.9, 0.8, 0.3, 1.0], dtype=np.float32), least=0.5)
    assert [np.argwhere(mask)[0].tolist() for mask in kept] == [[1, 0], [8, 8]]


def test_every_segment_has_its_own_colour_and_the_surest_lies_on_top():
    from evaluator.execution.experts.segmentation import coloured

    segments = [square(2, 0), *(square(x, 0) for x in (0, 6, 11)), *(square(x, 8) for x in (0, 6, 11))]
    picture = coloured(segments, size=(16, 16))
    assert isinstance(picture, Image.Image)
    pixels = np.asarray(picture).reshape(16, 16, 3)
    assert len({tuple(colour) for colour in pixels.reshape(-1, 3).tolist()}) == len(segments) + 1
    assert (pixels[0, 2] == pixels[0, 5]).all()
    assert (pixels[15, 15] == 0).all()
    assert encode(coloured(segments[::-1], size=(16, 16))) != encode(picture)
