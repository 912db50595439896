"""Random tableaux, each a function of its index, and painting of their parts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt

from evaluator.miniature.rendering import empty_canvas, paint_thing, thing_mask
from evaluator.miniature.scenes import SIZE, Scene, SceneObject, contrasting_colour, uniform
from evaluator.miniature.seeds import Split, generator
from evaluator.miniature.tableaux.figures import draw_figure, figure_mask, paint_figure
from evaluator.miniature.tableaux.records import Figure, Part, Tableau
from evaluator.miniature.vocabulary import Background, Shape

_FARTHEST = 0.2
"""Nearness of a part with its base at the upper edge; the background has 0, the lower edge 1."""


@dataclass(frozen=True, slots=True)
class Painting:
    """The picture of a tableau with its ground truth. Arrays have the shape (64, 64)."""

    pixels: npt.NDArray[np.uint8]
    """8-bit RGB, shape (64, 64, 3)."""
    owner: npt.NDArray[np.int64]
    """Index of the part that a pixel shows, -1 for the background."""
    nearness: npt.NDArray[np.float32]
    """Nearness of the part that a pixel shows, in [0, 1]."""

    def mask(self, index: int) -> npt.NDArray[np.bool_]:
        """The visible pixels of a part."""
        return np.asarray(self.owner == index)

    def box(self, index: int) -> tuple[float, float, float, float]:
        """Left, top, right and bottom of the visible pixels of a part, from the corner of the picture."""
        rows, columns = np.nonzero(self.mask(index))
        return float(columns.min()), float(rows.min()), float(columns.max() + 1), float(rows.max() + 1)


def part_mask(part: Part) -> npt.NDArray[np.bool_]:
    """Which pixels a part covers, hidden ones included, shape (64, 64)."""
    return figure_mask(part) if isinstance(part, Figure) else thing_mask(part)


def base_of(part: Part) -> float:
    """The base of a part: the lowest row that it covers, in pixels."""
    return float(np.nonzero(part_mask(part))[0].max())


def nearness_of(part: Part) -> float:
    """The nearness of a part by its base, in [0.2, 1]."""
    return _FARTHEST + (1 - _FARTHEST) * base_of(part) / (SIZE - 1)


def tableau_of(scene: Scene) -> Tableau:
    """A scene as a tableau; the picture is the same, since its things do not overlap."""
    return Tableau(
        background=scene.background,
        background_phase=scene.background_phase,
        background_shade=scene.background_shade,
        parts=tuple(sorted(scene.things, key=base_of)),
    )


def paint(tableau: Tableau) -> Painting:
    """Paint the parts in order."""
    canvas = empty_canvas(ground=tableau)
    owner = np.full((SIZE, SIZE), -1, dtype=np.int64)
    nearness = np.zeros((SIZE, SIZE), dtype=np.float32)
    for index, part in enumerate(tableau.parts):
        if isinstance(part, Figure):
            paint_figure(canvas=canvas, figure=part)
        else:
            paint_thing(canvas=canvas, thing=part)
        mask = part_mask(part)
        owner[mask] = index
        nearness[mask] = nearness_of(part)
    return Painting(np.clip(np.rint(canvas), 0, 255).astype(np.uint8), owner, nearness)


_RADIUS = (6.5, 12.0)
_MOST_THINGS = 5
_MOST_BESIDE_A_FIGURE = 2
_TWIN = 0.4
"""Probability that a thing repeats the name of an earlier one."""
_VISIBLE = 0.6
"""Least visible share of a part."""
_STEP = 3.0
"""Least difference of the bases of two parts, so that their order is visible."""
_ATTEMPTS = 30


class Content(StrEnum):
    """The content of a random tableau."""

    THINGS = "things"
    """One to five things."""
    FIGURE = "figure"
    """A figure and up to two things."""


def draw_tableau(*, split: Split, index: int, content: Content, hidden_seed: str | None = None) -> Tableau:
    """Tableau number `index` of a split with this content.

    Raises:
        ValueError: the hidden split without its secret.
    """
    rng = generator(split=split, index=index, purpose=f"tableau {content}", hidden_seed=hidden_seed)
    background = list(Background)[rng.integers(len(Background))]
    parts: list[Part] = []
    if content is Content.FIGURE:
        parts.append(draw_figure(rng=rng, background=background))
        more = int(rng.integers(_MOST_BESIDE_A_FIGURE + 1))
    else:
        more = 1 + int(rng.integers(_MOST_THINGS))
    for _ in range(more):
        part = _further(rng=rng, background=background, parts=parts)
        if part is not None:
            parts.append(part)
    top, bottom = (0.94 + 0.1 * float(rng.random()) for _ in range(2))
    return Tableau(
        background=background,
        background_phase=(SIZE * float(rng.random()), SIZE * float(rng.random())),
        background_shade=(top, bottom),
        parts=tuple(sorted(parts, key=base_of)),
    )


def _further(*, rng: np.random.Generator, background: Background, parts: list[Part]) -> SceneObject | None:
    """Another thing that leaves enough of every part visible; None if no place was found."""
    things = [part for part in parts if isinstance(part, SceneObject)]
    if things and rng.random() < _TWIN:
        twin = things[rng.integers(len(things))]
        shape, colour = twin.shape, twin.colour
    else:
        shape = list(Shape)[rng.integers(len(Shape))]
        colour = contrasting_colour(rng=rng, background=background)
    for _ in range(_ATTEMPTS):
        radius = uniform(rng, *_RADIUS)
        thing = SceneObject(
            shape=shape,
            colour=colour,
            x=uniform(rng, radius + 1, SIZE - 2 - radius),
            y=uniform(rng, radius + 1, SIZE - 2 - radius),
            radius=radius,
            angle=uniform(rng, -math.pi / 18, math.pi / 18),
            shade=uniform(rng, 0.97, 1.03),
            phase=(uniform(rng, 0, 12), uniform(rng, 0, 12)),
        )
        if is_clear([*parts, thing]):
            return thing
    return None


def is_clear(parts: Sequence[Part]) -> bool:
    """Whether the order, the outlines and most of the area of parts are visible."""
    ordered = sorted(parts, key=base_of)
    bases = [base_of(part) for part in ordered]
    if any(later - base < _STEP for base, later in pairwise(bases)):
        return False
    masks = [part_mask(part) for part in ordered]
    # Overlapping parts of the same colour have no visible outline between them.
    for (part, mask), (other, other_mask) in combinations(zip(ordered, masks, strict=True), 2):
        if part.colour is other.colour and (mask & other_mask).any():
            return False
    hidden = np.zeros((SIZE, SIZE), dtype=np.bool_)
    for mask in reversed(masks):
        if (mask & ~hidden).sum() < _VISIBLE * mask.sum():
            return False
        hidden |= mask
    return True
