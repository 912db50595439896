"""Pictures in which words alone do not say which thing is meant: like things, one of them where a request points."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from PIL import Image as PillowImage

from evaluator.core.values import Image
from evaluator.miniature.scenes import SIZE, SceneObject, contrasts, uniform
from evaluator.miniature.tableaux.drawing import Painting, base_of, paint
from evaluator.miniature.tableaux.records import Tableau
from evaluator.miniature.vocabulary import Background, Colour, Shape

POINTED_SHAPES: tuple[Shape, ...] = tuple(shape for shape in Shape if shape is not Shape.RING)
"""Shapes of things that are pointed at: a point in the middle of a ring is on the background."""
RADIUS = (7.5, 10.0)
"""Of things, in pixels."""
_ALIKE = 0.05
"""Most difference of the radii of like things, as a share: size does not tell them apart."""
_GAP = 1.5
"""Least distance of two things, in pixels."""
_ATTEMPTS = 60
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """Where a request expects a thing. Lengths are in pixels."""

    x: float
    y: float
    radius: float

    def is_apart(self, *, x: float, y: float, radius: float) -> bool:
        """Whether another thing leaves the gap."""
        return math.hypot(self.x - x, self.y - y) >= self.radius + radius + _GAP


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """The things of a picture besides those at the spots of a request."""

    like: tuple[int, int]
    """Fewest and most further things with the name of the thing at the first spot."""
    total: int
    """Things with other names, until there are so many things."""


@dataclass(frozen=True, slots=True)
class PointedPicture:
    """A picture with its ground truth."""

    tableau: Tableau
    painting: Painting
    things: tuple[SceneObject, ...]
    """Those at the spots, in their order."""

    @property
    def image(self) -> Image:
        """The picture."""
        return PillowImage.fromarray(self.painting.pixels)

    def number(self, place: int) -> int:
        """Index among the tableau's parts of the thing at a spot."""
        return self.tableau.parts.index(self.things[place])

    def without(self, place: int) -> "PointedPicture":
        """The picture without the thing at a spot."""
        left = tuple(part for part in self.tableau.parts if part != self.things[place])
        return _pictured(replace(self.tableau, parts=left), things=())

    def recoloured(self, place: int, *, colour: Colour) -> "PointedPicture":
        """The picture with the thing at a spot in another colour."""
        changed = replace(self.things[place], colour=colour)
        parts = tuple(changed if part == self.things[place] else part for part in self.tableau.parts)
        return _pictured(replace(self.tableau, parts=parts), things=(changed,))


def draw_picture(
    *, rng: np.random.Generator, spots: Sequence[Spot], cast: Cast, shape: Shape | None, keep_apart: Colour | None
) -> PointedPicture:
    """A picture with a thing at each spot, all of one name, and others that touch none of them.

    Args:
        rng: the random stream of the picture.
        spots: they leave gaps between each other, and room for others.
        cast: the other things.
        shape: of the things at the spots; None: any.
        keep_apart: a colour that contrasts with the background, and that no thing has; None: there is none.

    Raises:
        LookupError: there is no room for all things; this does not happen for spots of requests.
    """
    for _ in range(_ATTEMPTS):
        tableau = _attempt(rng=rng, spots=spots, cast=cast, shape=shape, keep_apart=keep_apart)
        if tableau is not None:
            things, ground = tableau
            return _pictured(replace(ground, parts=tuple(sorted(things, key=base_of))), things=things[: len(spots)])
    raise LookupError("there is no room for all things of the picture")


COUNTED_RADIUS = (6.5, 8.0)
"""Of things that are counted, in pixels."""
_INSIDE, _OUTSIDE = (1, 3), (1, 2)
"""Fewest and most things inside and outside of a box."""


def draw_counted(*, rng: np.random.Generator, corners: tuple[float, float, float, float]) -> PointedPicture:
    """A picture of like things, some of which are inside of a box, and some outside. None touches its border.

    Args:
        rng: the random stream of the picture.
        corners: left, top, right and bottom of the box.

    Returns:
        The picture, whose `things` are those inside.

    Raises:
        LookupError: there is no room for all things; this does not happen for boxes of requests.
    """
    left, top, right, bottom = corners
    for _ in range(_ATTEMPTS):
        ground, colours = _ground(rng, keep_apart=None)
        shape, colour = _choice(rng, POINTED_SHAPES), _choice(rng, colours)
        things: list[SceneObject] = []
        inside, outside = (int(rng.integers(fewest, most + 1)) for fewest, most in (_INSIDE, _OUTSIDE))
        for number in range(inside + outside):
            for _ in range(_ATTEMPTS):
                spot = _free_spot(rng, radius=uniform(rng, *COUNTED_RADIUS), things=things)
                if spot is None:
                    break
                reach = spot.radius + 1 if number < inside else -spot.radius - 1
                within = left + reach <= spot.x <= right - reach and top + reach <= spot.y <= bottom - reach
                if within is (number < inside):
                    things.append(_thing(rng, shape=shape, colour=colour, spot=spot))
                    break
        if len(things) == inside + outside:
            return _pictured(replace(ground, parts=tuple(sorted(things, key=base_of))), things=tuple(things[:inside]))
    raise LookupError("there is no room for all things of the picture")


def _pictured(tableau: Tableau, *, things: tuple[SceneObject, ...]) -> PointedPicture:
    return PointedPicture(tableau, paint(tableau), things)


def _attempt(
    *, rng: np.random.Generator, spots: Sequence[Spot], cast: Cast, shape: Shape | None, keep_apart: Colour | None
) -> tuple[tuple[SceneObject, ...], Tableau] | None:
    ground, colours = _ground(rng, keep_apart=keep_apart)
    own = shape or _choice(rng, POINTED_SHAPES)
    colour = _choice(rng, colours)
    things = [_thing(rng, shape=own, colour=colour, spot=spot) for spot in spots]
    others = [one for one in Shape if one is not own]
    names = [(own, colour)] * int(rng.integers(cast.like[0], cast.like[1] + 1))
    strangers = rng.permutation(len(others))[: max(0, cast.total - len(things) - len(names))]
    names += [(others[int(n)], _choice(rng, colours)) for n in strangers]
    for other_shape, other_colour in names:
        radius = (
            spots[0].radius * uniform(rng, 1 - _ALIKE, 1 + _ALIKE)
            if (other_shape, other_colour) == (own, colour)
            else uniform(rng, *RADIUS)
        )
        spot = _free_spot(rng, radius=radius, things=things)
        if spot is None:
            return None
        things.append(_thing(rng, shape=other_shape, colour=other_colour, spot=spot))
    return tuple(things), ground


def _ground(rng: np.random.Generator, *, keep_apart: Colour | None) -> tuple[Tableau, list[Colour]]:
    """A background without things, and the colours that things may have on it."""
    background = _choice(
        rng, [one for one in Background if keep_apart is None or contrasts(colour=keep_apart, background=one)]
    )
    ground = Tableau(
        background=background,
        background_phase=(uniform(rng, 0, SIZE), uniform(rng, 0, SIZE)),
        background_shade=(uniform(rng, 0.94, 1.04), uniform(rng, 0.94, 1.04)),
        parts=(),
    )
    return ground, [one for one in Colour if one is not keep_apart and contrasts(colour=one, background=background)]


def _choice(rng: np.random.Generator, items: Sequence[T]) -> T:
    return items[int(rng.integers(len(items)))]


def _free_spot(rng: np.random.Generator, *, radius: float, things: Sequence[SceneObject]) -> Spot | None:
    for _ in range(_ATTEMPTS):
        spot = Spot(
            x=uniform(rng, radius + 1, SIZE - 2 - radius), y=uniform(rng, radius + 1, SIZE - 2 - radius), radius=radius
        )
        if all(spot.is_apart(x=other.x, y=other.y, radius=other.radius) for other in things):
            return spot
    return None


def _thing(rng: np.random.Generator, *, shape: Shape, colour: Colour, spot: Spot) -> SceneObject:
    return SceneObject(
        shape=shape,
        colour=colour,
        x=spot.x,
        y=spot.y,
        radius=spot.radius,
        angle=uniform(rng, -math.pi / 18, math.pi / 18),
        shade=uniform(rng, 0.97, 1.03),
        phase=(uniform(rng, 0, 12), uniform(rng, 0, 12)),
    )
