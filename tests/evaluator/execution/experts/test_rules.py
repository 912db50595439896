"""Experts by rules: selections, counts, crops, frames, cut-outs, fillings and line drawings."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as PillowImage

from evaluator.core.expert import InputError
from evaluator.core.naming import is_named, words_of
from evaluator.core.values import Box, Boxes, Label, Labels, Mask, Masks, Value
from evaluator.execution.experts.profile import NO_WEIGHTS, ProfileError, load_expert, load_profile
from evaluator.miniature.seeds import Split
from evaluator.miniature.tableaux.drawing import Content, draw_tableau, paint

PAINTED = paint(draw_tableau(split=Split.VALIDATION, index=3, content=Content.THINGS))
PICTURE = PillowImage.fromarray(PAINTED.pixels)
SIZE = (64, 64)
BOXES = Boxes(SIZE, (Box("red star", 4, 6, 20, 22), Box("blue ring", 30, 30, 50, 52), Box("red ring", 0, 0, 8, 8)))
SQUARE = np.zeros((64, 64), dtype=np.bool_)
SQUARE[20:40, 24:44] = True
MASKS = Masks(SIZE, (Mask("red star", SQUARE), Mask("blue ring", SQUARE.T)))
LABELS = Labels((Label("red star"), Label("blue ring", 0.5)))


def run(tool: str, **item: Value) -> Mapping[str, Value]:
    spec = load_profile("lilliput").experts[tool]
    assert spec.weights_digest == NO_WEIGHTS
    return load_expert(spec=spec).run([item])[0]


def pixels(value: Value) -> np.ndarray:
    assert isinstance(value, PillowImage.Image)
    return np.asarray(value)


@pytest.mark.parametrize(
    ("tool", "name", "output", "given"),
    [
        ("select_category", "category_list", "target_category_result", LABELS),
        ("select_bbox", "bbox_list", "result", BOXES),
        ("select_mask", "mask_list", "result", MASKS),
    ],
)
def test_a_selection_keeps_what_the_condition_names(tool: str, name: str, output: str, given: Value) -> None:
    def left(condition: str) -> list[str]:
        result = run(tool, **{name: given, "condition": condition})[output]
        assert isinstance(result, Labels | Boxes | Masks)
        return [one.name if isinstance(one, Label) else one.label for one in result.items]

    assert left("the red star") == ["red star"]
    assert left("zebra") == []
    assert left("rings") == [one for one in ("blue ring", "red ring") if one != "red ring" or given is BOXES]


@pytest.mark.parametrize(
    ("tool", "name", "given", "count"),
    [
        ("count_categories", "category_list", LABELS, "2"),
        ("count_objects", "bbox_list", BOXES, "3"),
        ("count_masks", "mask_list", MASKS, "2"),
        ("count_objects", "bbox_list", Boxes(SIZE, ()), "0"),
    ],
)
def test_a_count_is_a_number_in_digits(tool: str, name: str, given: Value, count: str) -> None:
    assert run(tool, **{name: given}) == {"length": count}


def test_a_crop_shows_the_boxes_side_by_side() -> None:
    cropped = pixels(run("image_cropping", image=PICTURE, object=Boxes(SIZE, BOXES.items[:2]))["image"])
    assert cropped.shape == (22, 16 + 20, 3)
    assert np.array_equal(cropped[:16, :16], PAINTED.pixels[6:22, 4:20])
    assert np.array_equal(cropped[:, 16:], PAINTED.pixels[30:52, 30:50])
    with pytest.raises(InputError, match="1000 boxes; a picture is cropped to at most 64"):
        run("image_cropping", image=PICTURE, object=Boxes(SIZE, BOXES.items[:1] * 1000))
    # Without a box.
    assert (pixels(run("image_cropping", image=PICTURE, object=Boxes(SIZE, ()))["image"]) == 128).all()
    framed = run("highlight_object_on_image", image=PICTURE, bbox=Boxes(SIZE, ()))["result"]
    assert np.array_equal(pixels(framed), PAINTED.pixels)


def test_a_frame_changes_the_border_of_a_box_and_nothing_else() -> None:
    framed = pixels(run("highlight_object_on_image", image=PICTURE, bbox=Boxes(SIZE, BOXES.items[:1]))["result"])
    changed = np.zeros((64, 64), dtype=np.bool_)
    changed[6:22, 4:20] = True
    changed[7:21, 5:19] = False
    assert (framed[changed] == (255, 0, 0)).all()
    assert np.array_equal(framed[~changed], PAINTED.pixels[~changed])


def test_a_cut_out_is_black_around_the_masks() -> None:
    cut = pixels(run("mask_image", image=PICTURE, mask=MASKS)["image"])
    region = SQUARE | SQUARE.T
    assert np.array_equal(cut[region], PAINTED.pixels[region])
    assert not cut[~region].any()


def test_a_filling_continues_what_is_around_it() -> None:
    ramp = np.repeat(np.linspace(40, 200, 64)[None, :, None], 64, axis=0).repeat(3, axis=2)
    hole = ramp.copy()
    hole[SQUARE] = 0
    given = PillowImage.fromarray(np.rint(hole).astype(np.uint8))
    filled = pixels(run("image_inpainting", image=given, mask=Masks(SIZE, (Mask("", SQUARE),)))["image"])
    assert np.abs(filled - ramp).max() <= 1  # a ramp solves Laplace's equation
    same = pixels(run("image_inpainting", image=PICTURE, mask=Masks(SIZE, ()))["image"])
    assert np.array_equal(same, PAINTED.pixels)
    everything = Masks(SIZE, (Mask("", SQUARE | True),))
    assert (pixels(run("image_inpainting", image=PICTURE, mask=everything)["image"]) == 128).all()


@pytest.mark.parametrize("kind", ["edge", "line", "scribble"])
def test_a_line_drawing_runs_along_the_parts(kind: str) -> None:
    made = pixels(run(f"image_to_{kind}", image=PICTURE)[kind])
    drawn = made[..., 0] > 0
    assert set(np.unique(made)) <= {0, 255}
    near = np.zeros((64, 64), dtype=np.bool_)
    border = np.argwhere(PAINTED.owner[:, 1:] != PAINTED.owner[:, :-1])
    for row, column in border:
        near[max(0, row - 6) : row + 7, max(0, column - 6) : column + 7] = True
    assert drawn.any()
    assert (drawn & near).sum() >= 0.9 * drawn.sum()
    flat = PillowImage.new("RGB", SIZE, (90, 120, 60))
    assert not pixels(run(f"image_to_{kind}", image=flat)[kind]).any()


@pytest.mark.parametrize(
    ("tool", "item"),
    [
        ("mask_image", {"mask": Masks((32, 32), ())}),
        ("image_inpainting", {"mask": Masks((32, 64), ())}),
        ("image_cropping", {"object": Boxes((32, 32), ())}),
        ("highlight_object_on_image", {"bbox": Boxes((128, 64), ())}),
    ],
)
def test_findings_of_another_picture_are_the_plans_fault(tool: str, item: dict[str, Value]) -> None:
    with pytest.raises(InputError, match=r"is of a picture of \d+x\d+ pixels, .* has 64x64"):
        run(tool, image=PICTURE, **item)


def test_a_profile_names_weights_of_models_and_of_nothing_else(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    (tmp_path / "lock.json").write_text('{"vit-score": "0"}')
    for entry, said in (
        ('implementation = "cropping"\nweights = "vit-score"', "works by rules and has no weights"),
        ('implementation = "rt-detr"', "needs weights"),
    ):
        own.write_text(f'name = "own"\nweights = "."\n[experts.image_cropping]\nid = "a"\n{entry}\n[scorers]\n')
        with pytest.raises(ProfileError, match=said):
            load_profile("own", folder=tmp_path)


@pytest.mark.parametrize(
    ("name", "condition", "is_meant"),
    [
        ("red star", "red star", True),
        ("red star", "the red stars", True),
        ("red star", "star", True),
        ("red star", "Red", True),
        ("red star", "red things", True),
        ("red star", "all objects", True),
        ("red star", "blue star", False),
        ("red star", "red ring", False),
        ("star", "red star", False),
        ("red star", "", False),
        ("red star", "the", False),
        ("purple cross", "crosses", True),
        ("purple cross", "cros", False),
        ("red star", "red star ring", False),
    ],
)
def test_a_condition_means_a_thing_with_all_of_its_words(name: str, condition: str, is_meant: bool) -> None:
    assert is_named(name, condition=condition) is is_meant


def test_plurals_of_all_shapes_mean_the_shape() -> None:
    for one, several in (("cross", "crosses"), ("hexagon", "hexagons"), ("heart", "hearts"), ("box", "boxes")):
        assert words_of(one) == words_of(several)
