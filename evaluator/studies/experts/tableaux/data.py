"""Training tableaux and clips: drawn on first use and cached in memory for later steps."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from evaluator.miniature.scenes import SIZE, draw_scene
from evaluator.miniature.seeds import Split
from evaluator.miniature.tableaux.clips import ClipRecord, draw_clip, frames_of
from evaluator.miniature.tableaux.drawing import Content, draw_tableau, paint, tableau_of
from evaluator.miniature.tableaux.records import Tableau
from evaluator.studies.experts.data.bank import rows_of

TABLEAUX = 24_000
"""Number of training tableaux: things, a figure and a plain scene alternate."""
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


@cache
def tableau(*, split: Split, index: int) -> Tableau:
    """Tableau number `index` of a split: things, a figure and a plain scene alternate."""
    if index % _KINDS == 0:
        return draw_tableau(split=split, index=index // _KINDS, content=Content.THINGS)
    if index % _KINDS == 1:
        return draw_tableau(split=split, index=index // _KINDS, content=Content.FIGURE)
    return tableau_of(draw_scene(split=split, index=index // _KINDS))


def tableaux_at(*, split: Split, indices: npt.NDArray[np.int64]) -> Batch:
    """The tableaux with these indices."""
    rows = rows_of(_row, split=split, count=TABLEAUX).take(indices).reshape(len(indices), 5, SIZE, SIZE)
    return Batch(
        tableaux=tuple(tableau(split=split, index=int(index)) for index in indices),
        pixels=np.ascontiguousarray(rows[:, :3].transpose(0, 2, 3, 1)),
        owner=rows[:, 3].astype(np.int8),
        nearness=rows[:, 4].astype(np.float32) / np.float32(255),
    )


def draw_batch(*, rng: np.random.Generator, size: int, kinds: tuple[int, ...] = (0, 1, 2)) -> Batch:
    """A batch of training tableaux, drawn from the kinds 0 (things), 1 (figures) and 2 (plain scenes)."""
    numbers = rng.integers(TABLEAUX // _KINDS, size=size) * _KINDS + rng.choice(kinds, size=size)
    return tableaux_at(split=Split.TRAIN, indices=np.sort(numbers))


def _row(*, split: Split, index: int) -> npt.NDArray[np.uint8]:
    """Picture, owner (255 for the background) and nearness in 8 bits, shape (5, 64, 64)."""
    painted = paint(tableau(split=split, index=index))
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
    clips = tuple(clip_at(split=split, index=int(index)) for index in indices)
    return ClipBatch(clips=clips, frames=rows_of(_frames, split=split, count=CLIPS).take(indices))


@cache
def clip_at(*, split: Split, index: int) -> ClipRecord:
    """Clip number `index` of a split."""
    return draw_clip(split=split, index=index)


def _frames(*, split: Split, index: int) -> npt.NDArray[np.uint8]:
    return frames_of(clip_at(split=split, index=index))
