"""Drawing tableaux at random, the same one every time for the same index."""

import math
from collections.abc import Sequence
from enum import StrEnum
from itertools import combinations, pairwise

import numpy as np

from evaluator.miniature.scenes import SIZE, SceneObject, contrasting_colour
from evaluator.miniature.seeds import Split, generator
from evaluator.miniature.tableaux.figures import draw_figure
from evaluator.miniature.tableaux.painting import base_of, part_mask
from evaluator.miniature.tableaux.records import Part, Tableau
from evaluator.miniature.vocabulary import Background, Colour, Shape

_RADIUS = (6.5, 12.0)
_MOST_THINGS = 5
_MOST_BESIDE_A_FIGURE = 2
_TWIN = 0.4
"""How often a further thing has the name of one that is there."""
_VISIBLE = 0.6
"""Least share of a part that others leave visible."""
_STEP = 3.0
"""Least difference of the rows in which two parts stand, so that it can be seen which is nearer."""
_ATTEMPTS = 30


class Content(StrEnum):
    """What a tableau is drawn for."""

    THINGS = "things"
    """One to five things."""
    FIGURE = "figure"
    """A figure and up to two things."""


def draw_tableau(*, split: Split, index: int, content: Content, hidden_seed: str | None = None) -> Tableau:
    """The tableau number `index` of a split with this content.

    Raises:
        ValueError: the hidden split was asked for without its secret.
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
    """One more thing that leaves enough of every part visible, or None where no place was found."""
    shape, colour = _name(rng=rng, background=background, parts=parts)
    for _ in range(_ATTEMPTS):
        radius = _between(rng, *_RADIUS)
        thing = SceneObject(
            shape=shape,
            colour=colour,
            x=_between(rng, radius + 1, SIZE - 2 - radius),
            y=_between(rng, radius + 1, SIZE - 2 - radius),
            radius=radius,
            angle=_between(rng, -math.pi / 18, math.pi / 18),
            shade=_between(rng, 0.97, 1.03),
            phase=(_between(rng, 0, 12), _between(rng, 0, 12)),
        )
        if is_clear([*parts, thing]):
            return thing
    return None


def _name(*, rng: np.random.Generator, background: Background, parts: list[Part]) -> tuple[Shape, Colour]:
    there = [part for part in parts if isinstance(part, SceneObject)]
    if there and rng.random() < _TWIN:
        twin = there[rng.integers(len(there))]
        return twin.shape, twin.colour
    return list(Shape)[rng.integers(len(Shape))], contrasting_colour(rng=rng, background=background)


def is_clear(parts: Sequence[Part]) -> bool:
    """Whether everything about some parts can be seen: which stands nearer, where each ends, and most of each."""
    ordered = sorted(parts, key=base_of)
    bases = [base_of(part) for part in ordered]
    if any(later - base < _STEP for base, later in pairwise(bases)):
        return False
    masks = [part_mask(part) for part in ordered]
    # Of two parts in one colour nobody could tell where the nearer ends.
    for (part, mask), (other, its) in combinations(zip(ordered, masks, strict=True), 2):
        if part.colour is other.colour and (mask & its).any():
            return False
    hidden = np.zeros((SIZE, SIZE), dtype=np.bool_)
    for mask in reversed(masks):
        if (mask & ~hidden).sum() < _VISIBLE * mask.sum():
            return False
        hidden |= mask
    return True


def _between(rng: np.random.Generator, low: float, high: float) -> float:
    return low + (high - low) * float(rng.random())
