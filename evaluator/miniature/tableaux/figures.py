"""Stick figures: random poses, and painting."""

import math

import numpy as np
import numpy.typing as npt

from evaluator.miniature.rendering import Plane
from evaluator.miniature.scenes import SIZE, contrasting_colour, uniform
from evaluator.miniature.tableaux.records import LIMBS, Figure, Joint
from evaluator.miniature.vocabulary import COLOURS, Background

HEAD_RADIUS = 4.0
LIMB_RADIUS = 1.8
"""Half the thickness of a limb in pixels."""
_MARGIN = 3.0
_ATTEMPTS = 40


def draw_figure(*, rng: np.random.Generator, background: Background) -> Figure:
    """A figure in a random pose that fits into the picture. Limbs stay on their own side."""
    colour = contrasting_colour(rng=rng, background=background)
    shade = 0.9 + 0.1 * float(rng.random())
    while True:
        pose = _pose(rng)
        low = [min(point[axis] for point in pose.values()) for axis in (0, 1)]
        high = [max(point[axis] for point in pose.values()) for axis in (0, 1)]
        room = [SIZE - 1 - 2 * _MARGIN - (high[axis] - low[axis]) for axis in (0, 1)]
        if min(room) >= 0:
            shift = [_MARGIN - low[axis] + room[axis] * float(rng.random()) for axis in (0, 1)]
            joints = {joint: (x + shift[0], y + shift[1]) for joint, (x, y) in pose.items()}
            return Figure(colour=colour, joints=joints, shade=shade)


def _pose(rng: np.random.Generator) -> dict[Joint, tuple[float, float]]:
    """Joints relative to the hip at the origin, y downwards."""

    def between(low: float, high: float) -> float:
        return uniform(rng, low, high)

    def end(start: tuple[float, float], *, length: float, degrees: float) -> tuple[float, float]:
        """The end of a bone from `start`, at an angle from straight down to the right."""
        turn = math.radians(degrees)
        return start[0] + length * math.sin(turn), start[1] + length * math.cos(turn)

    size = between(0.85, 1.1)
    lean = between(-12, 12)
    hip = (0.0, 0.0)
    neck = end(hip, length=12 * size, degrees=180 + lean)
    head = end(neck, length=(HEAD_RADIUS + 2.5) * size, degrees=180 + lean + between(-15, 15))
    joints = {Joint.HEAD: head, Joint.NECK: neck, Joint.HIP: hip}
    sides = ((1, Joint.RIGHT_ELBOW, Joint.RIGHT_HAND), (-1, Joint.LEFT_ELBOW, Joint.LEFT_HAND))
    for side, elbow, hand in sides:
        upper = between(20, 150)
        joints[elbow] = end(neck, length=7.5 * size, degrees=side * upper)
        joints[hand] = end(joints[elbow], length=7.5 * size, degrees=side * max(0, upper + between(-50, 60)))
    legs = ((1, Joint.RIGHT_KNEE, Joint.RIGHT_FOOT), (-1, Joint.LEFT_KNEE, Joint.LEFT_FOOT))
    for side, knee, foot in legs:
        thigh = between(8, 65)
        joints[knee] = end(hip, length=8.5 * size, degrees=side * thigh)
        joints[foot] = end(joints[knee], length=8.5 * size, degrees=side * (thigh - between(0, 50)))
    return {joint: joints[joint] for joint in Joint}


def figure_distance(figure: Figure) -> Plane:
    """Signed distance of each pixel to the outline of a figure, negative inside, shape (64, 64)."""
    y, x = np.mgrid[0:SIZE, 0:SIZE].astype(np.float32)
    head_x, head_y = figure.joints[Joint.HEAD]
    distance: Plane = (np.hypot(x - head_x, y - head_y) - HEAD_RADIUS).astype(np.float32)
    for start, stop in LIMBS:
        bone = bone_distance(x=x, y=y, start=figure.joints[start], stop=figure.joints[stop])
        distance = np.minimum(distance, bone - np.float32(LIMB_RADIUS))
    return distance


def bone_distance(*, x: Plane, y: Plane, start: tuple[float, float], stop: tuple[float, float]) -> Plane:
    """Distance of each pixel from the line segment between two points."""
    dx, dy = stop[0] - start[0], stop[1] - start[1]
    along = ((x - start[0]) * dx + (y - start[1]) * dy) / max(dx * dx + dy * dy, 1e-6)
    along = np.clip(along, 0, 1)
    return np.asarray(np.hypot(x - start[0] - along * dx, y - start[1] - along * dy), dtype=np.float32)


def figure_mask(figure: Figure) -> npt.NDArray[np.bool_]:
    """Which pixels a figure covers, shape (64, 64)."""
    return np.asarray(figure_distance(figure) <= 0)


def paint_figure(*, canvas: npt.NDArray[np.float32], figure: Figure) -> None:
    """Blend a figure into the canvas, in one plain colour."""
    opacity = np.clip(0.5 - figure_distance(figure), 0, 1)[..., None]
    colour = figure.shade * np.asarray(COLOURS[figure.colour].rgb, dtype=np.float32)
    canvas += opacity * (colour - canvas)
