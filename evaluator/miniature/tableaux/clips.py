"""Clips: eight frames in which one thing makes one of sixteen motions, beside up to two things at rest."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from evaluator.miniature.rendering import empty_canvas, paint_thing
from evaluator.miniature.scenes import SIZE, SceneObject, contrasting_colour, uniform
from evaluator.miniature.seeds import Split, generator
from evaluator.miniature.vocabulary import Background, Shape

FRAMES = 8
_RADIUS = (7.5, 10.0)
_TRAVEL = 26.0
"""Length of a straight motion in pixels."""
_SPIN = math.radians(14)
"""Rotation between frames, less than half the angle that maps any shape to itself."""
_ROUND = frozenset({Shape.CIRCLE, Shape.RING})
"""Shapes that are invariant to rotation."""
_ATTEMPTS = 60


class Motion(StrEnum):
    """The motions of clips."""

    LEFT = "moving left"
    RIGHT = "moving right"
    UP = "rising"
    DOWN = "falling"
    UP_LEFT = "rising to the left"
    UP_RIGHT = "rising to the right"
    DOWN_LEFT = "falling to the left"
    DOWN_RIGHT = "falling to the right"
    CLOCKWISE = "circling clockwise"
    ANTICLOCKWISE = "circling anticlockwise"
    SPINNING_CLOCKWISE = "spinning clockwise"
    SPINNING_ANTICLOCKWISE = "spinning anticlockwise"
    GROWING = "growing"
    SHRINKING = "shrinking"
    HOPPING = "hopping"
    SWINGING = "swinging"


@dataclass(frozen=True, slots=True)
class ClipRecord:
    """The content of a clip."""

    background: Background
    background_phase: tuple[float, float]
    background_shade: tuple[float, float]
    mover: SceneObject
    """The mover at rest in the middle of its path."""
    motion: Motion
    resting: tuple[SceneObject, ...]


_Change = Callable[[float], Mapping[str, float]]
"""From the time in [-1, 1] to the offsets of x, y and angle, and the factor of the radius."""


def _straight(dx: float, dy: float) -> _Change:
    half = _TRAVEL / 2
    return lambda t: {"x": dx * half * t, "y": dy * half * t}


def _circle(sign: int) -> _Change:
    # A full turn minus one frame; as y points downwards, clockwise is a growing angle.
    return lambda t: {
        "x": 11 * math.cos(sign * math.pi * 0.875 * t),
        "y": 11 * math.sin(sign * math.pi * 0.875 * t),
    }


_CHANGES: Mapping[Motion, _Change] = {
    Motion.LEFT: _straight(-1, 0),
    Motion.RIGHT: _straight(1, 0),
    Motion.UP: _straight(0, -1),
    Motion.DOWN: _straight(0, 1),
    Motion.UP_LEFT: _straight(-0.75, -0.75),
    Motion.UP_RIGHT: _straight(0.75, -0.75),
    Motion.DOWN_LEFT: _straight(-0.75, 0.75),
    Motion.DOWN_RIGHT: _straight(0.75, 0.75),
    Motion.CLOCKWISE: _circle(1),
    Motion.ANTICLOCKWISE: _circle(-1),
    Motion.SPINNING_CLOCKWISE: lambda t: {"angle": _SPIN * (FRAMES - 1) / 2 * t},
    Motion.SPINNING_ANTICLOCKWISE: lambda t: {"angle": -_SPIN * (FRAMES - 1) / 2 * t},
    Motion.GROWING: lambda t: {"radius": 1 + 0.45 * t},
    Motion.SHRINKING: lambda t: {"radius": 1 - 0.45 * t},
    Motion.HOPPING: lambda t: {"y": 6 - 14 * abs(math.sin(math.pi * (t + 1)))},
    Motion.SWINGING: lambda t: {"x": 12 * math.sin(math.pi * (t + 1))},
}


def draw_clip(*, split: Split, index: int, hidden_seed: str | None = None) -> ClipRecord:
    """Clip number `index` of a split.

    Raises:
        ValueError: the hidden split without its secret.
    """
    rng = generator(split=split, index=index, purpose="clip", hidden_seed=hidden_seed)
    motion = list(Motion)[rng.integers(len(Motion))]
    background = list(Background)[rng.integers(len(Background))]
    spinning = motion in {Motion.SPINNING_CLOCKWISE, Motion.SPINNING_ANTICLOCKWISE}
    shapes = [shape for shape in Shape if not (spinning and shape in _ROUND)]
    mover = _mover(rng=rng, motion=motion, shape=shapes[rng.integers(len(shapes))], background=background)
    resting: list[SceneObject] = []
    for _ in range(int(rng.integers(3))):
        thing = _resting(rng=rng, background=background, mover=mover, motion=motion, others=resting)
        if thing is not None:
            resting.append(thing)
    top, bottom = (0.94 + 0.1 * float(rng.random()) for _ in range(2))
    return ClipRecord(
        background=background,
        background_phase=(SIZE * float(rng.random()), SIZE * float(rng.random())),
        background_shade=(top, bottom),
        mover=mover,
        motion=motion,
        resting=tuple(resting),
    )


def moved(*, mover: SceneObject, motion: Motion, time: float) -> SceneObject:
    """The mover at a time in [-1, 1]."""
    change = _CHANGES[motion](time)
    return replace(
        mover,
        x=mover.x + change.get("x", 0.0),
        y=mover.y + change.get("y", 0.0),
        angle=mover.angle + change.get("angle", 0.0),
        radius=mover.radius * change.get("radius", 1.0),
    )


def frames_of(clip: ClipRecord) -> npt.NDArray[np.uint8]:
    """The frames of a clip, 8-bit RGB of shape (8, 64, 64, 3)."""
    empty = empty_canvas(ground=clip)
    for thing in clip.resting:
        paint_thing(canvas=empty, thing=thing)
    frames = []
    for time in TIMES:
        canvas = empty.copy()
        paint_thing(canvas=canvas, thing=moved(mover=clip.mover, motion=clip.motion, time=time))
        frames.append(np.clip(np.rint(canvas), 0, 255).astype(np.uint8))
    return np.stack(frames)


TIMES: tuple[float, ...] = tuple(2 * frame / (FRAMES - 1) - 1 for frame in range(FRAMES))
"""The time of each frame, in [-1, 1]."""


def _mover(*, rng: np.random.Generator, motion: Motion, shape: Shape, background: Background) -> SceneObject:
    radius = uniform(rng, *_RADIUS)
    thing = SceneObject(
        shape=shape,
        colour=contrasting_colour(rng=rng, background=background),
        x=0.0,
        y=0.0,
        radius=radius,
        angle=uniform(rng, -math.pi / 18, math.pi / 18),
        shade=uniform(rng, 0.97, 1.03),
        phase=(uniform(rng, 0, 12), uniform(rng, 0, 12)),
    )
    path = [moved(mover=thing, motion=motion, time=time) for time in TIMES]
    x, y = (
        uniform(
            rng,
            1 - min(getattr(at, axis) - at.radius for at in path),
            SIZE - 2 - max(getattr(at, axis) + at.radius for at in path),
        )
        for axis in ("x", "y")
    )
    return replace(thing, x=x, y=y)


def _resting(
    *,
    rng: np.random.Generator,
    background: Background,
    mover: SceneObject,
    motion: Motion,
    others: list[SceneObject],
) -> SceneObject | None:
    """A thing that nothing touches; None if no place was found."""
    path = [moved(mover=mover, motion=motion, time=time) for time in TIMES]
    shape = list(Shape)[rng.integers(len(Shape))]
    colour = contrasting_colour(rng=rng, background=background)
    if (shape, colour) == (mover.shape, mover.colour):
        return None
    for _ in range(_ATTEMPTS):
        radius = uniform(rng, 6.0, 7.5)
        x, y = (uniform(rng, radius + 1, SIZE - 2 - radius) for _ in range(2))
        if all(math.hypot(x - at.x, y - at.y) >= radius + at.radius + 1 for at in (*path, *others)):
            phase = (uniform(rng, 0, 12), uniform(rng, 0, 12))
            return SceneObject(shape, colour, x, y, radius, uniform(rng, -0.17, 0.17), 1.0, phase)
    return None
