"""Skeletons of stick figures as pictures: every limb and every joint has its own colour, so that they can be read."""

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
_LIKENESS = 24
"""Greatest distance of an 8-bit colour from the one that it is taken for."""
_FEW = 3
"""Pixels of a joint from which its place cannot be read."""


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
"""8-bit RGB of each joint, paler than limbs."""


def draw_skeleton(*, joints: Mapping[Joint, Point], size: tuple[int, int]) -> npt.NDArray[np.uint8]:
    """Limbs and joints on black, 8-bit RGB of shape (height, width, 3).

    Args:
        joints: the place of each joint in pixels of the picture.
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
    """The joints of a skeleton drawn by `draw_skeleton`, or None where there is none.

    A joint that another one hides is read from the end of its limb, or else it is where the one that hides it is.

    Args:
        picture: 8-bit RGB of shape (height, width, 3).
    """
    found = {joint: _pixels(picture=picture, colour=colour) for joint, colour in JOINT_COLOURS.items()}
    seen = {joint: _middle(places) for joint, places in found.items() if len(places) >= _FEW}
    if not seen:
        return None
    return {joint: seen[joint] if joint in seen else _hidden(joint, seen=seen, picture=picture) for joint in Joint}


def _pixels(*, picture: npt.NDArray[np.uint8], colour: tuple[int, int, int]) -> npt.NDArray[np.float64]:
    """x and y of the pixels of about this colour, shape (pixels, 2)."""
    away = np.linalg.norm(picture.astype(np.float64) - np.asarray(colour), axis=-1)
    rows, columns = np.nonzero(away <= _LIKENESS)
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
    # The limb ends where the joint that hides this one begins.
    return min(seen.values(), key=lambda place: float(np.linalg.norm(end - place)))
