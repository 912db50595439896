"""Rendering of scenes: anti-aliased outlines from signed distances, textures from plane waves."""

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from evaluator.miniature.scenes import SIZE, Scene, SceneObject
from evaluator.miniature.vocabulary import BACKGROUNDS, COLOURS, Background, Shape, Texture

Plane = npt.NDArray[np.float32]
"""One number per pixel."""


class Ground(Protocol):
    """The appearance of a background, as in scenes."""

    @property
    def background(self) -> Background: ...
    @property
    def background_phase(self) -> tuple[float, float]: ...
    @property
    def background_shade(self) -> tuple[float, float]: ...


_FLATNESS = 0.62
"""Height relative to a regular hexagon, which looks like a circle at ten pixels."""
_CONTRAST = 0.30
"""Largest share by which textures darken and lighten their colour."""


def render(scene: Scene) -> npt.NDArray[np.uint8]:
    """The picture of a scene as 8-bit RGB of shape (64, 64, 3)."""
    canvas = empty_canvas(ground=scene)
    for thing in scene.things:
        paint_thing(canvas=canvas, thing=thing)
    return np.clip(np.rint(canvas), 0, 255).astype(np.uint8)


def empty_canvas(*, ground: Ground) -> npt.NDArray[np.float32]:
    """An empty background, 8-bit levels as floats of shape (64, 64, 3)."""
    y, x = np.mgrid[0:SIZE, 0:SIZE].astype(np.float32)
    top, bottom = ground.background_shade
    shade = top + (bottom - top) * y / (SIZE - 1)
    px, py = ground.background_phase
    pattern = _BACKGROUND_PATTERNS[ground.background](x + np.float32(px), y + np.float32(py))
    colour = np.asarray(BACKGROUNDS[ground.background].rgb, dtype=np.float32)
    return np.asarray((shade * (1 + pattern))[..., None] * colour, dtype=np.float32)


def paint_thing(*, canvas: npt.NDArray[np.float32], thing: SceneObject) -> None:
    """Blend a thing into the canvas, changing only the pixels around it."""
    window, dx, dy = _window(thing, reach=thing.radius + 2)
    opacity = np.clip(0.5 - _distance(thing, dx=dx, dy=dy), 0, 1)[..., None]
    pattern = _PATTERNS[thing.texture](dx + np.float32(thing.phase[0]), dy + np.float32(thing.phase[1]))
    colour = np.asarray(COLOURS[thing.colour].rgb, dtype=np.float32)
    # Where a pattern would push a bright channel beyond white, it darkens the others instead of clipping all.
    painted = (thing.shade * (1 - _CONTRAST / 2 + _CONTRAST / 2 * pattern))[..., None] * colour
    region = canvas[window]
    region += opacity * (painted - region)


def _window(thing: SceneObject, *, reach: float) -> tuple[tuple[slice, slice], Plane, Plane]:
    """The pixels at a distance of at most `reach` from the centre of a thing, and their offsets from it."""
    left, right = max(0, math.floor(thing.x - reach)), min(SIZE, math.ceil(thing.x + reach) + 1)
    above, below = max(0, math.floor(thing.y - reach)), min(SIZE, math.ceil(thing.y + reach) + 1)
    y, x = np.mgrid[above:below, left:right].astype(np.float32)
    return (slice(above, below), slice(left, right)), x - np.float32(thing.x), y - np.float32(thing.y)


def _distance(thing: SceneObject, *, dx: Plane, dy: Plane) -> Plane:
    """Signed distance from the outline of a thing at offsets from its centre, negative inside."""
    cos, sin = np.float32(math.cos(thing.angle)), np.float32(math.sin(thing.angle))
    return _DISTANCES[thing.shape](cos * dx + sin * dy, cos * dy - sin * dx, thing.radius)


def outline_box(thing: SceneObject) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of the visible part of a thing, in pixels from the corner of the picture.

    Measured on points half a pixel apart.
    """
    offsets = np.arange(-thing.radius - 1, thing.radius + 1, 0.5, dtype=np.float32)
    dy, dx = np.meshgrid(offsets, offsets, indexing="ij")
    inside = _distance(thing, dx=dx, dy=dy) <= 0
    across, down = offsets[inside.any(axis=0)], offsets[inside.any(axis=1)]
    # The centre of the first pixel is half a pixel away from the corner.
    x, y = thing.x + 0.5, thing.y + 0.5
    edges = (x + across[0] - 0.25, y + down[0] - 0.25, x + across[-1] + 0.25, y + down[-1] + 0.25)
    left, top, right, bottom = (min(max(float(edge), 0.0), float(SIZE)) for edge in edges)
    return left, top, right, bottom


def object_mask(scene: Scene) -> npt.NDArray[np.bool_]:
    """Which pixels belong to a thing of a scene, shape (64, 64)."""
    mask = np.zeros((SIZE, SIZE), dtype=np.bool_)
    for thing in scene.things:
        mask |= thing_mask(thing)
    return mask


def thing_mask(thing: SceneObject) -> npt.NDArray[np.bool_]:
    """Which pixels a thing covers, shape (64, 64)."""
    mask = np.zeros((SIZE, SIZE), dtype=np.bool_)
    window, dx, dy = _window(thing, reach=thing.radius + 1)
    mask[window] = _distance(thing, dx=dx, dy=dy) <= 0
    return mask


def _wave(phase: Plane, period: float) -> Plane:
    return np.asarray(np.sin(phase * np.float32(2 * math.pi / period)), dtype=np.float32)


def _sharp(wave: Plane) -> Plane:
    """A wave with steep edges, still in [-1, 1]."""
    return np.clip(2 * wave, -1, 1)


_PATTERNS: dict[Texture, Callable[[Plane, Plane], Plane]] = {
    Texture.WAVY: lambda x, y: _sharp(_wave(y + 1.5 * _wave(x, 11), 7)),
    Texture.CHEQUERED: lambda x, y: _sharp(2 * _wave(x, 8) * _wave(y, 8)),
    Texture.STRIPED: lambda x, y: _sharp(_wave(y + 0 * x, 6)),
    Texture.DIAGONAL: lambda x, y: _sharp(_wave(x + y, 9)),
    Texture.DOTTED: lambda x, y: np.clip(2 * (_wave(x, 7) + _wave(y, 7)) - 1.5, -1, 1),
    Texture.UPRIGHT: lambda x, y: _sharp(_wave(x + 0 * y, 6)),
    Texture.GRIDDED: lambda x, y: np.clip(3.2 - 4 * np.maximum(_wave(x, 8), _wave(y, 8)), -1, 1),
    Texture.HATCHED: lambda x, y: _sharp(_wave(x - y, 8)),
}

_BACKGROUND_PATTERNS: dict[Background, Callable[[Plane, Plane], Plane]] = {
    Background.NIGHT: lambda x, y: 1.6 * np.clip(4 * _wave(x, 11) * _wave(y, 13) - 3, 0, 1),
    Background.GRASS: lambda x, y: 0.10 * _sharp(_wave(x + 1.2 * _wave(y, 17), 6)),
    Background.STONE: lambda x, y: -0.14 * np.clip(6 * np.maximum(_wave(x, 16), _wave(y, 10)) - 5, 0, 1),
    Background.SKY: lambda x, y: 0.04 * _wave(x + 2 * y, 40) * _wave(y - x, 33),
    Background.SAND: lambda x, y: 0.06 * _wave(y + 1.8 * _wave(x, 19), 5.5),
}


def _polygon(x: Plane, y: Plane, radius: float, corners: int, first: float) -> Plane:
    """Distance to a regular polygon; `first` is the direction of the normal of a side."""
    inner = np.float32(radius * math.cos(math.pi / corners))
    normals = (first + 2 * math.pi * k / corners for k in range(corners))
    sides = [x * np.float32(math.cos(a)) + y * np.float32(math.sin(a)) for a in normals]
    return np.asarray(np.maximum.reduce(sides) - inner, dtype=np.float32)


def _star(x: Plane, y: Plane, radius: float) -> Plane:
    """Five points; the distance is approximate, but exact on the outline."""
    sector = 2 * math.pi / 5
    angle = np.abs((np.arctan2(x, -y) + sector / 2) % sector - sector / 2)
    along, across = np.hypot(x, y) * np.cos(angle), np.hypot(x, y) * np.sin(angle)
    dent = 0.45 * radius
    tip_x, dent_x, dent_y = radius, dent * math.cos(sector / 2), dent * math.sin(sector / 2)
    length = math.hypot(tip_x - dent_x, dent_y)
    return np.asarray(((along - tip_x) * dent_y + across * (tip_x - dent_x)) / length, dtype=np.float32)


def _cross(x: Plane, y: Plane, radius: float) -> Plane:
    arm = 0.30 * radius
    reach = math.sqrt(radius**2 - arm**2)
    upright = np.maximum(np.abs(x) - arm, np.abs(y) - reach)
    lying = np.maximum(np.abs(y) - arm, np.abs(x) - reach)
    return np.asarray(np.minimum(upright, lying), dtype=np.float32)


def _heart(x: Plane, y: Plane, radius: float) -> Plane:
    """Two circles on a square rotated by 45 degrees."""
    half = 0.74 * radius / math.sqrt(2)
    v = y + np.float32(0.12 * radius)
    turned_x, turned_y = (x + v) / math.sqrt(2), (v - x) / math.sqrt(2)
    square = np.maximum(np.abs(turned_x), np.abs(turned_y)) - half
    shift = half / math.sqrt(2)
    left = np.hypot(x + shift, v + shift) - half
    right = np.hypot(x - shift, v + shift) - half
    return np.asarray(np.minimum.reduce([square, left, right]), dtype=np.float32)


_DISTANCES: dict[Shape, Callable[[Plane, Plane, float], Plane]] = {
    Shape.CIRCLE: lambda x, y, r: np.hypot(x, y) - np.float32(0.93 * r),
    Shape.SQUARE: lambda x, y, r: np.maximum(np.abs(x), np.abs(y)) - np.float32(r * 0.76),
    Shape.TRIANGLE: lambda x, y, r: _polygon(x, y, r, 3, math.pi / 2),
    Shape.HEXAGON: lambda x, y, r: _polygon(x, y / np.float32(_FLATNESS), r, 6, math.pi / 6),
    Shape.STAR: _star,
    Shape.CROSS: _cross,
    Shape.RING: lambda x, y, r: np.abs(np.hypot(x, y) - np.float32(0.70 * r)) - np.float32(0.24 * r),
    Shape.HEART: _heart,
}
