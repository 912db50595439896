"""Scenes: typed records of the content of pictures, drawn at random from a split.

Pictures, class labels, captions, questions and answers are derived from these records.
"""

import math
from dataclasses import dataclass

import numpy as np

from evaluator.miniature.seeds import Split, generator
from evaluator.miniature.vocabulary import BACKGROUNDS, COLOURS, TEXTURES, Background, Colour, Direction, Shape, Texture

SIZE = 64
"""Width and height of a clean picture in pixels."""

_MAIN_RADIUS = (10.0, 12.5)
_SMALL_RADIUS = (6.5, 8.0)
_MAIN_SHIFT = 4.0
_GAP = 1.5
_LUMA_CONTRAST = 36.0
_PAINTED = 0.8
"""Brightness of a textured object relative to its plain colour."""
_ATTEMPTS = 40


@dataclass(frozen=True, slots=True)
class SceneObject:
    """An object of a scene. Lengths are in pixels, x to the right, y downwards."""

    shape: Shape
    colour: Colour
    x: float
    """Of the centre."""
    y: float
    radius: float
    """Radius of the circle around the shape."""
    angle: float
    """Rotation in radians."""
    shade: float
    """Brightness factor, near 1."""
    phase: tuple[float, float]
    """Shift of the texture in pixels."""

    @property
    def texture(self) -> Texture:
        return TEXTURES[self.colour]

    @property
    def name(self) -> str:
        """The English name, for example `red star`."""
        return f"{self.colour} {self.shape}"


@dataclass(frozen=True, slots=True)
class Relation:
    """`things[subject]` lies `direction` `things[other]`."""

    subject: int
    direction: Direction
    other: int


@dataclass(frozen=True, slots=True)
class Scene:
    """The content of a picture. No two things have the same shape."""

    background: Background
    background_phase: tuple[float, float]
    background_shade: tuple[float, float]
    """Brightness factor at the top and at the bottom."""
    things: tuple[SceneObject, ...]
    """The main object first; it is at least a quarter larger than the others and nearest to the middle."""

    @property
    def main(self) -> SceneObject:
        return self.things[0]

    @property
    def label(self) -> str:
        """The class label in English, for example `red star`."""
        return self.main.name

    @property
    def relations(self) -> tuple[Relation, ...]:
        """For each ordered pair of things, the direction along the longer axis of their distance."""
        pairs = ((i, j) for i in range(len(self.things)) for j in range(len(self.things)) if i != j)
        return tuple(
            Relation(subject=i, direction=direction_between(subject=self.things[i], other=self.things[j]), other=j)
            for i, j in pairs
        )


def direction_between(*, subject: SceneObject, other: SceneObject) -> Direction:
    """The direction of `subject` from `other`."""
    dx, dy = subject.x - other.x, subject.y - other.y
    if abs(dx) >= abs(dy):
        return Direction.RIGHT_OF if dx > 0 else Direction.LEFT_OF
    return Direction.BELOW if dy > 0 else Direction.ABOVE


def draw_scene(*, split: Split, index: int, hidden_seed: str | None = None) -> Scene:
    """Scene number `index` of a split, a function of the arguments.

    Raises:
        ValueError: the hidden split without its secret.
    """
    rng = generator(split=split, index=index, purpose="scene", hidden_seed=hidden_seed)
    background = list(Background)[rng.integers(len(Background))]
    shapes = [list(Shape)[i] for i in rng.permutation(len(Shape))]
    middle = (SIZE - 1) / 2
    main = _thing(
        rng=rng,
        shape=shapes[0],
        background=background,
        x=middle + uniform(rng, -_MAIN_SHIFT, _MAIN_SHIFT),
        y=middle + uniform(rng, -_MAIN_SHIFT, _MAIN_SHIFT),
        radius=uniform(rng, *_MAIN_RADIUS),
    )
    things = [main]
    for shape in shapes[1 : 2 + int(rng.integers(3))]:
        thing = _small_thing(rng=rng, shape=shape, background=background, things=things)
        if thing is not None:
            things.append(thing)
    top = uniform(rng, 0.94, 1.04)
    return Scene(
        background=background,
        background_phase=(uniform(rng, 0, SIZE), uniform(rng, 0, SIZE)),
        background_shade=(top, uniform(rng, 0.94, 1.04)),
        things=tuple(things),
    )


def uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """A random number in [low, high)."""
    return low + (high - low) * float(rng.random())


def contrasts(*, colour: Colour, background: Background) -> bool:
    """Whether the luma of a colour differs from that of the background, so that outlines survive grayscale."""
    return abs(_PAINTED * COLOURS[colour].luma - BACKGROUNDS[background].luma) >= _LUMA_CONTRAST


def contrasting_colour(*, rng: np.random.Generator, background: Background) -> Colour:
    """A random colour that contrasts with the background."""
    fitting = [colour for colour in Colour if contrasts(colour=colour, background=background)]
    return fitting[rng.integers(len(fitting))]


def _thing(
    *, rng: np.random.Generator, shape: Shape, background: Background, x: float, y: float, radius: float
) -> SceneObject:
    return SceneObject(
        shape=shape,
        colour=contrasting_colour(rng=rng, background=background),
        x=x,
        y=y,
        radius=radius,
        angle=uniform(rng, -math.pi / 18, math.pi / 18),
        shade=uniform(rng, 0.97, 1.03),
        phase=(uniform(rng, 0, 12), uniform(rng, 0, 12)),
    )


def _small_thing(
    *, rng: np.random.Generator, shape: Shape, background: Background, things: list[SceneObject]
) -> SceneObject | None:
    """An object that touches none of the others; None if no free place was found."""
    for _ in range(_ATTEMPTS):
        radius = uniform(rng, *_SMALL_RADIUS)
        x = uniform(rng, radius + 1, SIZE - 2 - radius)
        y = uniform(rng, radius + 1, SIZE - 2 - radius)
        if all(math.hypot(x - other.x, y - other.y) >= radius + other.radius + _GAP for other in things):
            return _thing(rng=rng, shape=shape, background=background, x=x, y=y, radius=radius)
    return None
