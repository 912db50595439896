"""Prompts for segmentation: points written in a text, and boxes and points as planes of pixels."""

import re

import torch
from torch import Tensor

from evaluator.core.expert import InputError

MOST_POINTS = 3
"""Of one prompt: Segment Anything is trained with no more."""
NO_POINT = -1
"""Label of a place that is left empty."""
_REACH = 2.0
"""Radius in pixels of a point in a plane."""

_POINT = r"\s*(\d+(?:\.\d+)?)\s*,\s*(\d+(?:\.\d+)?)\s*"
_POINTS = re.compile(rf"{_POINT}(?:;{_POINT})*;?\s*", re.ASCII)


def points_of(text: str, *, size: tuple[int, int]) -> list[tuple[float, float]]:
    """The points that a text such as `12,30; 40,8` names: column and row of a pixel, from 0.

    Args:
        text: the points.
        size: width and height of the picture.

    Raises:
        InputError: the text names no points, too many, or one outside the picture.
    """
    if not _POINTS.fullmatch(text):
        raise InputError(f'"prompt_points" are written like "12,30; 40,8" (column, row), not {text[:60]!r}')
    points = [(float(x), float(y)) for x, y in re.findall(_POINT, text)]
    if len(points) > MOST_POINTS:
        raise InputError(f'"prompt_points" has {len(points)} points; 1 to {MOST_POINTS} name one thing')
    for x, y in points:
        if x > size[0] - 1 or y > size[1] - 1:
            last = f"{size[0] - 1},{size[1] - 1}"
            raise InputError(f'the point {x:g},{y:g} of "prompt_points" lies outside the picture; the last is {last}')
    return points


def plane_of_masks(masks: Tensor) -> Tensor:
    """Masks, bool of shape (prompts, height, width), as Segment Anything takes them: 1 inside, -1 outside.

    Returns:
        Float32 of shape (prompts, 1, height, width).
    """
    return masks[:, None].float() * 2 - 1


def plane_of_boxes(boxes: Tensor, *, size: int) -> Tensor:
    """Boxes as filled rectangles.

    The tokens of a box alone say where it is in random waves, which a small model learns to read slowly; it gets the
    box as a rough mask too.

    Args:
        boxes: left, top, right and bottom in pixels, shape (prompts, 4).
        size: of the square picture in pixels.

    Returns:
        As `plane_of_masks`.
    """
    y, x = _centres(size)
    left, top, right, bottom = boxes[:, :, None, None].unbind(dim=1)
    return plane_of_masks((x >= left) & (x <= right) & (y >= top) & (y <= bottom))


def plane_of_points(places: Tensor, *, labels: Tensor, size: int) -> Tensor:
    """Points as discs, for the reason given in `plane_of_boxes`.

    Args:
        places: column and row of pixels, shape (prompts, points, 2).
        labels: 1 for a point, -1 for a place that is left empty, shape (prompts, points).
        size: of the square picture in pixels.

    Returns:
        As `plane_of_masks`.
    """
    y, x = _centres(size)
    column, row = (places + 0.5)[:, :, None, None].unbind(dim=-1)
    near = (x - column) ** 2 + (y - row) ** 2 <= _REACH**2
    return plane_of_masks((near & (labels == 1)[:, :, None, None]).any(dim=1))


def _centres(size: int) -> tuple[Tensor, Tensor]:
    side = torch.arange(size) + 0.5
    return side[:, None], side[None, :]
