"""Training tableaux and clips: drawn when a step first asks for them, kept in memory for later steps."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluator.miniature.scenes import SIZE, draw_scene
from evaluator.miniature.seeds import Split
from evaluator.miniature.tableaux.clips import ClipRecord, draw_clip, frames_of
from evaluator.miniature.tableaux.drawing import Content, Painting, draw_tableau, paint, tableau_of
from evaluator.miniature.tableaux.records import Tableau
from evaluator.studies.experts.data.bank import Rows

TABLEAUX = 24_000
"""How many tableaux a model sees: of three in a row one has things, one a figure, and one is a plain scene."""
CLIPS = 12_000
_KINDS = 3


@dataclass(frozen=True, slots=True)
class Batch:
    """Tableaux of a step."""

    tableaux: tuple[Tableau, ...]
    pixels: npt.NDArray[np.uint8]
    """Shape (batch, 64, 64, 3)."""
    owner: npt.NDArray[np.int8]
    """Index of the part that a pixel shows, -1 for the background; shape (batch, 64, 64)."""
    nearness: npt.NDArray[np.float32]
    """In [0, 1], shape (batch, 64, 64)."""


def tableau(*, split: Split, index: int) -> Tableau:
    """The tableau number `index` of training and measuring: things, a figure and a plain scene in turns."""
    if index % _KINDS == 0:
        return draw_tableau(split=split, index=index // _KINDS, content=Content.THINGS)
    if index % _KINDS == 1:
        return draw_tableau(split=split, index=index // _KINDS, content=Content.FIGURE)
    return tableau_of(draw_scene(split=split, index=index // _KINDS))


def tableaux_at(*, split: Split, indices: npt.NDArray[np.int64]) -> Batch:
    """The tableaux with these indices."""
    rows = _rows(split=split).take(indices).reshape(len(indices), 5, SIZE, SIZE)
    return Batch(
        tableaux=tuple(_tableau(split=split, index=int(index)) for index in indices),
        pixels=np.ascontiguousarray(rows[:, :3].transpose(0, 2, 3, 1)),
        owner=rows[:, 3].astype(np.int8),
        nearness=rows[:, 4].astype(np.float32) / np.float32(255),
    )


def draw_batch(*, rng: np.random.Generator, size: int, kinds: tuple[int, ...] = (0, 1, 2)) -> Batch:
    """A batch of training tableaux.

    Args:
        rng: of the step.
        size: of the batch.
        kinds: which to draw from: 0 things, 1 figures, 2 plain scenes.
    """
    numbers = rng.integers(TABLEAUX // _KINDS, size=size) * _KINDS + rng.choice(kinds, size=size)
    return tableaux_at(split=Split.TRAIN, indices=np.sort(numbers))


@cache
def _tableau(*, split: Split, index: int) -> Tableau:
    return tableau(split=split, index=index)


@cache
def _rows(*, split: Split) -> Rows:
    def row(index: int) -> npt.NDArray[np.uint8]:
        painted = paint(_tableau(split=split, index=index))
        return _packed(painted)

    return Rows(count=TABLEAUX, compute=lambda new: np.stack([row(int(index)) for index in new]))


def _packed(painted: Painting) -> npt.NDArray[np.uint8]:
    """Picture, owner (255 for the background) and nearness in 8 bits, shape (5, 64, 64)."""
    owner = painted.owner.astype(np.int8).view(np.uint8)
    nearness = np.rint(painted.nearness * 255).astype(np.uint8)
    return np.concatenate([painted.pixels.transpose(2, 0, 1), owner[None], nearness[None]])


@dataclass(frozen=True, slots=True)
class ClipBatch:
    """Clips of a step."""

    clips: tuple[ClipRecord, ...]
    frames: npt.NDArray[np.uint8]
    """Shape (batch, 8, 64, 64, 3)."""


def clips_at(*, split: Split, indices: npt.NDArray[np.int64]) -> ClipBatch:
    """The clips with these indices."""
    clips = tuple(_clip(split=split, index=int(index)) for index in indices)
    return ClipBatch(clips=clips, frames=_frames(split=split).take(indices))


def draw_clips(*, rng: np.random.Generator, size: int) -> ClipBatch:
    """A batch of training clips."""
    return clips_at(split=Split.TRAIN, indices=np.sort(rng.integers(CLIPS, size=size)))


@cache
def _clip(*, split: Split, index: int) -> ClipRecord:
    return draw_clip(split=split, index=index)


@cache
def _frames(*, split: Split) -> Rows:
    def compute(new: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        return np.stack([frames_of(_clip(split=split, index=int(index))) for index in new])

    return Rows(count=CLIPS, compute=compute)
