"""Prompts for segmentation: a part of a tableau, and a box, points or a rough mask that select it."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from evaluator.miniature.scenes import SIZE
from evaluator.studies.experts.tableaux.data import Batch

POINTS = 3
"""Most points of a prompt."""
_ON_BACKGROUND = 0.15
"""Share of point prompts that lie on the background, where there is nothing to segment."""
_BOX_ERROR = 0.8
"""Standard deviation in pixels of the error of each side of a box."""
_SHIFT = 3
"""Most pixels by which a rough mask is shifted."""

Masks = npt.NDArray[np.bool_]
"""Shape (batch, 64, 64)."""


@dataclass(frozen=True, slots=True)
class Parts:
    """A part of each tableau of a batch."""

    numbers: npt.NDArray[np.int64]
    """Index of the part in its tableau, -1 for the background; shape (batch,)."""
    masks: Masks
    """Visible pixels of the part; empty for the background."""


def draw_parts(*, batch: Batch, rng: np.random.Generator) -> Parts:
    """A random part of each tableau."""
    counts = np.asarray([len(tableau.parts) for tableau in batch.tableaux])
    numbers = (rng.random(len(counts)) * counts).astype(np.int64)
    return Parts(numbers=numbers, masks=np.asarray(batch.owner == numbers[:, None, None]))


def with_background(*, parts: Parts, rng: np.random.Generator) -> Parts:
    """Replaces some parts by the background."""
    nothing = rng.random(parts.numbers.shape) < _ON_BACKGROUND
    return Parts(
        numbers=np.where(nothing, -1, parts.numbers),
        masks=parts.masks & ~nothing[:, None, None],
    )


def boxes_around(*, masks: Masks, rng: np.random.Generator) -> Tensor:
    """The boxes of masks with a random error: left, top, right and bottom in pixels, shape (batch, 4)."""
    columns, rows = (np.asarray(masks.any(axis=axis)) for axis in (1, 2))
    sides = [columns.argmax(axis=1), rows.argmax(axis=1)]
    sides += [SIZE - columns[:, ::-1].argmax(axis=1), SIZE - rows[:, ::-1].argmax(axis=1)]
    exact = np.stack(sides, axis=1).astype(np.float32)
    moved = exact + _BOX_ERROR * rng.standard_normal(exact.shape, dtype=np.float32)
    return torch.from_numpy(np.clip(moved, 0, SIZE))


def points_on(*, owner: npt.NDArray[np.int8], numbers: npt.NDArray[np.int64], rng: np.random.Generator) -> Tensor:
    """One to three pixels of each part: x, y and 1, padded with 0, 0 and -1; float32 of shape (batch, 3, 3).

    Args:
        owner: of each pixel, shape (batch, 64, 64).
        numbers: of the parts, shape (batch,).
        rng: of the step.
    """
    drawn = np.zeros((len(owner), POINTS, 3), dtype=np.float32)
    drawn[:, :, 2] = -1
    for item, (plane, number) in enumerate(zip(owner, numbers, strict=True)):
        there = np.flatnonzero(plane == number)
        chosen = there[rng.integers(len(there), size=1 + rng.integers(POINTS))]
        drawn[item, : len(chosen)] = np.stack([chosen % SIZE, chosen // SIZE, np.ones_like(chosen)], axis=1)
    return torch.from_numpy(drawn)


def roughened(*, masks: Masks, rng: np.random.Generator) -> Masks:
    """Masks like rough sketches: dilated, eroded, in coarse blocks or the whole box, and shifted."""
    exact = torch.from_numpy(masks)[:, None].float()
    blocks = F.interpolate((F.avg_pool2d(exact, 8) > 0.25).float(), scale_factor=8.0)
    columns, rows = exact.amax(dim=2, keepdim=True), exact.amax(dim=3, keepdim=True)
    versions = [
        exact,
        F.max_pool2d(exact, 3, stride=1, padding=1),
        F.max_pool2d(exact, 7, stride=1, padding=3),
        -F.max_pool2d(-exact, 3, stride=1, padding=1),
        blocks,
        _filled(line=columns, axis=3) * _filled(line=rows, axis=2),  # the bounding box
    ]
    stacked = torch.stack(versions)[:, :, 0].numpy() > 0
    chosen = stacked[rng.integers(len(versions), size=len(masks)), np.arange(len(masks))]
    shifts = rng.integers(-_SHIFT, _SHIFT + 1, size=(len(masks), 2))
    rough = np.stack(
        [
            np.pad(mask, _SHIFT)[_SHIFT - down : _SHIFT - down + SIZE, _SHIFT - right : _SHIFT - right + SIZE]
            for mask, (down, right) in zip(chosen, shifts.tolist(), strict=True)
        ]
    )
    # A mask that was eroded or shifted away entirely is not changed.
    return np.where(rough.any(axis=(1, 2), keepdims=True), rough, masks)


def _filled(*, line: Tensor, axis: int) -> Tensor:
    """Ones from the first to the last one along an axis."""
    forwards = line.cummax(dim=axis).values
    backwards = line.flip(axis).cummax(dim=axis).values.flip(axis)
    return torch.minimum(forwards, backwards)
