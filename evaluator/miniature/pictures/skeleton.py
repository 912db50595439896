"""Skeletons of stick figures as pictures, with a unique colour for each limb and joint, so that they can be read."""

import colorsys
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from evaluator.miniature.scenes import SIZE
from evaluator.miniature.tableaux.figures import bone_distance
from evaluator.miniature.tableaux.records import LIMBS, Joint

Point = tuple[float, float]
"""x and y in pixels."""

_LIMB_RADIUS, _JOINT_RADIUS = 0.9, 1.6
"""In pixels of a picture of 64x64."""
_TOLERANCE = 24
"""Largest distance of an 8-bit colour from the one that it matches."""
_LEAST_PIXELS = 3
"""Pixels of a joint that are needed to locate it."""


def _colour(*, hue: float, saturation: float) -> tuple[int, int, int]:
    red, green, blue = (round(255 * level) for level in colorsys.hsv_to_rgb(hue, saturation, 1))
    return red, green, blue


LIMB_COLOURS: tuple[tuple[int, int, int], ...] = tuple(
    _colour(hue=index / len(LIMBS), saturation=1) for index in range(len(LIMBS))
)
"""8-bit RGB of each limb, in the order of `LIMBS`."""

JOINT_COLOURS: Mapping[Joint, tuple[int, int, int]] = {
    joint: _colour(hue=index / len(Joint), saturation=0.5) for index, joint in enumerate(Joint)
}
"""8-bit RGB of each joint, less saturated than limbs."""


def draw_skeleton(*, joints: Mapping[Joint, Point], size: tuple[int, int]) -> npt.NDArray[np.uint8]:
    """Limbs and joints on black, 8-bit RGB of shape (height, width, 3).

    Args:
        joints: the position of each joint in pixels of the picture.
        size: width and height in pixels.
    """
    width, height = size
    unit = max(1.0, min(size) / SIZE)
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    picture = np.zeros((height, width, 3), dtype=np.uint8)
    for (start, stop), colour in zip(LIMBS, LIMB_COLOURS, strict=True):
        near = bone_distance(x=x, y=y, start=joints[start], stop=joints[stop]) <= _LIMB_RADIUS * unit
        picture[near] = colour
    for joint, (column, row) in joints.items():
        picture[np.hypot(x - column, y - row) <= _JOINT_RADIUS * unit] = JOINT_COLOURS[joint]
    return picture


def read_skeleton(picture: npt.NDArray[np.uint8]) -> dict[Joint, Point] | None:
    """The joints of a skeleton drawn by `draw_skeleton` in 8-bit RGB, shape (height, width, 3); None without one.

    A hidden joint is located by the ends of its limbs: it gets the position of the joint that hides it.
    """
    pixels = {joint: _pixels(picture=picture, colour=colour) for joint, colour in JOINT_COLOURS.items()}
    seen = {joint: _middle(places) for joint, places in pixels.items() if len(places) >= _LEAST_PIXELS}
    if not seen:
        return None
    return {joint: seen[joint] if joint in seen else _hidden(joint, seen=seen, picture=picture) for joint in Joint}


def _pixels(*, picture: npt.NDArray[np.uint8], colour: tuple[int, int, int]) -> npt.NDArray[np.float64]:
    """x and y of the pixels of about this colour, shape (pixels, 2)."""
    distance = np.linalg.norm(picture.astype(np.float64) - np.asarray(colour), axis=-1)
    rows, columns = np.nonzero(distance <= _TOLERANCE)
    return np.stack([columns, rows], axis=1).astype(np.float64)


def _middle(places: npt.NDArray[np.float64]) -> Point:
    x, y = places.mean(axis=0)
    return float(x), float(y)


def _hidden(joint: Joint, *, seen: Mapping[Joint, Point], picture: npt.NDArray[np.uint8]) -> Point:
    ends = []
    for limb, colour in zip(LIMBS, LIMB_COLOURS, strict=True):
        if joint in limb:
            other = seen.get(limb[0] if limb[1] is joint else limb[1])
            places = _pixels(picture=picture, colour=colour)
            if other is not None and len(places):
                ends.append(places[np.linalg.norm(places - other, axis=1).argmax()])
    if not ends:
        return _middle(np.asarray(list(seen.values())))
    end = np.mean(ends, axis=0)
    # The limb ends at the joint that hides this one.
    return min(seen.values(), key=lambda place: float(np.linalg.norm(end - place)))
