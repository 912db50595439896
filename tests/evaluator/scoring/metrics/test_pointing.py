"""Scores of what is pointed at: one thing and no other."""

import numpy as np
import pytest
from PIL import Image as PillowImage

from evaluator.core.values import Box, Boxes, Clip, Mask, Masks
from evaluator.scoring.metrics.pointing import hit_score, named_score, replaced_score

SIZE = (8, 8)


def region(*columns: slice, label: str = "") -> Masks:
    """A mask for each range of columns, four rows high."""
    planes = []
    for each in columns:
        plane = np.zeros(SIZE[::-1], dtype=np.bool_)
        plane[:4, each] = True
        planes.append(Mask(label, plane))
    return Masks(SIZE, tuple(planes))


THING = region(slice(0, 2))


@pytest.mark.parametrize(
    ("output", "score"),
    [
        (THING, 1.0),
        (region(slice(0, 2), label="red star"), 1.0),
        (region(slice(0, 1), slice(1, 2)), 1.0),
        (region(slice(0, 4)), 1.0),
        (region(slice(0, 5)), 0.0),
        (region(slice(0, 2), slice(3, 5), slice(6, 8)), 0.0),
        (region(slice(3, 5)), 0.0),
        (Masks(SIZE, ()), 0.0),
        (Masks((4, 4), ()), 0.0),
    ],
)
def test_a_hit_overlaps_the_thing_by_half_and_hardly_anything_else(output: Masks, score: float) -> None:
    assert hit_score(output, THING) == score


def test_two_empty_regions_are_no_hit() -> None:
    assert hit_score(Masks(SIZE, ()), Masks(SIZE, ())) == 0.0


def boxes(*labels: str, shift: float = 0) -> Boxes:
    return Boxes(
        SIZE, tuple(Box(label, shift + 3 * place, 0, shift + 2 + 3 * place, 2) for place, label in enumerate(labels))
    )


@pytest.mark.parametrize(
    ("output", "score"),
    [
        (boxes("red star"), 1.0),
        (boxes("red star", shift=0.5), 1.0),
        (boxes("red star", shift=1.5), 0.0),
        (boxes("blue star"), 0.0),
        (boxes("red star", "blue star"), 0.0),
        (boxes(), 0.0),
    ],
)
def test_a_thing_is_named_by_its_box_alone(output: Boxes, score: float) -> None:
    assert named_score(output, boxes("red star")) == score


BEFORE = np.full((8, 8, 3), 60, dtype=np.uint8)
BEFORE[:4, 0:2] = BEFORE[:4, 4:6] = (200, 0, 0)
AFTER = BEFORE.copy()
AFTER[:4, 0:2] = (0, 0, 200)


def painted(*columns: slice, rows: slice = slice(0, 4), colour: tuple[int, int, int] = (0, 0, 200)) -> float:
    """The score of a picture in which these columns got a colour."""
    own = BEFORE.copy()
    for each in columns:
        own[rows, each] = colour
    return replaced_score(PillowImage.fromarray(own), Clip(np.stack([BEFORE, AFTER])))


def test_a_thing_is_replaced_by_the_share_of_its_pixels_and_nothing_else() -> None:
    assert painted(slice(0, 2)) == 1.0
    assert painted(slice(0, 2), colour=(30, 30, 150)) == 1.0
    assert painted(slice(0, 2), rows=slice(0, 2)) == 0.5
    assert painted() == 0.0
    assert painted(slice(0, 2), colour=(0, 200, 0)) == 0.0
    assert painted(slice(0, 2), slice(4, 6)) == 0.0
    assert painted(slice(4, 6)) == 0.0
    assert painted(slice(0, 3)) == 0.5
    assert replaced_score(PillowImage.new("RGB", (4, 4)), Clip(np.stack([BEFORE, AFTER]))) == 0.0
