"""How well a drawn picture agrees with the map along which it was drawn, without a model in between.

What is drawn is told from the background by its colour, since the text names the background.
"""

import numpy as np
import numpy.typing as npt

from evaluator.miniature.pictures.outlines import outlines
from evaluator.miniature.scenes import SIZE
from evaluator.miniature.tableaux.maps import MapKind, draw_map
from evaluator.miniature.vocabulary import BACKGROUNDS, Background
from evaluator.studies.experts.tableaux.data import Batch

Pixels = npt.NDArray[np.uint8]
Plane = npt.NDArray[np.bool_]

OUTLINED = frozenset({MapKind.LINE, MapKind.HED, MapKind.SCRIBBLE, MapKind.EDGE})
"""Maps that are compared by their outlines."""
_SHADES: dict[Background, tuple[float, float]] = {
    Background.NIGHT: (0.9, 2.75),
    Background.GRASS: (0.83, 1.16),
    Background.STONE: (0.8, 1.08),
    Background.SKY: (0.88, 1.1),
    Background.SAND: (0.86, 1.12),
}
"""Brightness of a background's pattern against its colour."""
_DISTANCE = 50.0
"""Euclidean distance of 8-bit RGB from which a pixel is not background."""
_EDGE_TOLERANCE = 2
_POSE_TOLERANCE = 3
"""In pixels."""


def foreground(*, pixels: Pixels, background: Background) -> Plane:
    """Which pixels do not look like the background in any shade; (64, 64, 3) to (64, 64)."""
    colour = np.asarray(BACKGROUNDS[background].rgb, dtype=np.float64)
    values = pixels.astype(np.float64)
    shade = np.clip(values @ colour / (colour @ colour), *_SHADES[background])
    return np.asarray(np.linalg.norm(values - shade[..., None] * colour, axis=-1) > _DISTANCE)


def grown(mask: Plane, *, by: int) -> Plane:
    """The pixels at most `by` away from those of a mask."""
    y, x = np.mgrid[-by : by + 1, -by : by + 1]
    padded = np.pad(mask, by)
    shifts = [(dy + by, dx + by) for dy, dx in zip(y.ravel(), x.ravel(), strict=True) if dy * dy + dx * dx <= by * by]
    return np.asarray(np.logical_or.reduce([padded[dy : dy + SIZE, dx : dx + SIZE] for dy, dx in shifts]))


def matched(*, first: Plane, second: Plane, tolerance: int) -> float:
    """F1 of two sets of pixels that may lie `tolerance` apart, in [0, 1]."""
    if not first.any() or not second.any():
        return float(first.any() == second.any())
    precision = (first & grown(second, by=tolerance)).sum() / first.sum()
    recall = (second & grown(first, by=tolerance)).sum() / second.sum()
    return float(2 * precision * recall / max(precision + recall, 1e-9))


def agreement(*, kind: MapKind, pixels: Pixels, background: Background, drawn: Batch, row: int) -> float:
    """How well a picture agrees with the map of `kind` of tableau number `row`, in [0, 1].

    Outlines: F1 within 2 pixels. A pose: F1 of bones against the drawn parts within 3 pixels, of which only those near
    the figure count, since the map does not say what else there is. Others: intersection over union of all parts.

    Args:
        kind: of the map.
        pixels: the picture, shape (64, 64, 3).
        background: that the text asked for.
        drawn: tableaux.
        row: of the tableau in the batch.
    """
    seen = foreground(pixels=pixels, background=background)
    owner = drawn.owner[row]
    if kind in OUTLINED:
        given = given_map(kind=MapKind.LINE if kind is MapKind.LINE else MapKind.EDGE, drawn=drawn, row=row)
        return matched(first=outlines(seen.astype(np.int8)), second=given, tolerance=_EDGE_TOLERANCE)
    if kind is MapKind.POSE:
        bones = given_map(kind=kind, drawn=drawn, row=row)
        return matched(first=seen & _around(bones), second=bones, tolerance=_POSE_TOLERANCE)
    return float((seen & (owner >= 0)).sum() / max(1, (seen | (owner >= 0)).sum()))


def given_map(*, kind: MapKind, drawn: Batch, row: int) -> Plane:
    """Where the map of a tableau is not black."""
    pixels = draw_map(
        kind=kind,
        tableau=drawn.tableaux[row],
        owner=drawn.owner[row],
        nearness=drawn.nearness[row],
        rng=np.random.default_rng(row),
    )
    return np.asarray(pixels.any(axis=-1))


def _around(bones: Plane) -> Plane:
    """The box around a figure's bones, two pixels wider on each side."""
    rows, columns = np.nonzero(bones)
    box = np.zeros_like(bones)
    box[max(0, rows.min() - 2) : rows.max() + 3, max(0, columns.min() - 2) : columns.max() + 3] = True
    return box
