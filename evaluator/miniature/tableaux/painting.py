"""Painting a tableau, and what the painting knows: which pixel shows which part, and how near each part is."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluator.miniature.rendering import empty_canvas, paint_thing, thing_mask
from evaluator.miniature.scenes import SIZE, Scene
from evaluator.miniature.tableaux.figures import figure_mask, paint_figure
from evaluator.miniature.tableaux.records import Figure, Part, Tableau

_FARTHEST = 0.2
"""Nearness of a part that stands at the upper edge; the background has 0, the lower edge 1."""


@dataclass(frozen=True, slots=True)
class Painting:
    """The picture of a tableau with its ground truth. Arrays have the shape (64, 64)."""

    pixels: npt.NDArray[np.uint8]
    """8-bit RGB, shape (64, 64, 3)."""
    owner: npt.NDArray[np.int64]
    """Index of the part that a pixel shows, -1 for the background."""
    nearness: npt.NDArray[np.float32]
    """Of what a pixel shows, in [0, 1]."""

    def mask(self, index: int) -> npt.NDArray[np.bool_]:
        """The visible pixels of a part."""
        return np.asarray(self.owner == index)

    def box(self, index: int) -> tuple[float, float, float, float]:
        """Left, top, right and bottom of the visible pixels of a part, from the corner of the picture."""
        rows, columns = np.nonzero(self.mask(index))
        return float(columns.min()), float(rows.min()), float(columns.max() + 1), float(rows.max() + 1)


def part_mask(part: Part) -> npt.NDArray[np.bool_]:
    """Which pixels a part covers, whatever hides it, shape (64, 64)."""
    return figure_mask(part) if isinstance(part, Figure) else thing_mask(part)


def base_of(part: Part) -> float:
    """Where a part stands: the lowest row of what it covers, in pixels."""
    return float(np.nonzero(part_mask(part))[0].max())


def nearness_of(part: Part) -> float:
    """How near a part is, by where it stands, in [0.2, 1]."""
    return _FARTHEST + (1 - _FARTHEST) * base_of(part) / (SIZE - 1)


def tableau_of(scene: Scene) -> Tableau:
    """A scene as a tableau: the same picture, since its things do not overlap."""
    return Tableau(
        background=scene.background,
        background_phase=scene.background_phase,
        background_shade=scene.background_shade,
        parts=tuple(sorted(scene.things, key=base_of)),
    )


def paint(tableau: Tableau) -> Painting:
    """Paint the parts in their order."""
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
