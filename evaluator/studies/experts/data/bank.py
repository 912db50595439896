"""A bank of rendered training scenes: rendered once, stored in the work folder, and read by every training process.

Also conversion of pictures to tensors, and rows that are computed once per scene.
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from evaluator.miniature.rendering import render
from evaluator.miniature.scenes import SIZE, Scene, draw_scene
from evaluator.miniature.seeds import PICTURES_VERSION, WORLD_VERSION, Split
from evaluator.miniature.vocabulary import Background, Colour, Shape

Pixels = npt.NDArray[np.uint8]

_COLOURS, _SHAPES, _BACKGROUNDS = list(Colour), list(Shape), list(Background)


@dataclass(frozen=True, slots=True)
class Bank:
    """Pictures of a split and the attributes of their scenes."""

    split: Split
    pixels: npt.NDArray[np.uint8]
    """Shape (scenes, 64, 64, 3)."""
    attributes: npt.NDArray[np.int64]
    """Shape (scenes, 3 + 8): main colour, main shape, background; then for each shape 0 or 1 + its colour."""

    def __len__(self) -> int:
        return len(self.pixels)

    @property
    def labels(self) -> npt.NDArray[np.int64]:
        """Index of the class label, shape (scenes,)."""
        return self.attributes[:, 0] * len(_SHAPES) + self.attributes[:, 1]


def load_bank(*, work: Path, split: Split, count: int) -> Bank:
    """The first `count` scenes of an open split, rendered now or by an earlier run."""
    folder = work / f"{split}-{count}-v{WORLD_VERSION}.{PICTURES_VERSION}"
    if not (folder / "complete.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        pixels = np.empty((count, SIZE, SIZE, 3), dtype=np.uint8)
        attributes = np.empty((count, 3 + len(_SHAPES)), dtype=np.int64)
        for index in range(count):
            scene = draw_scene(split=split, index=index)
            pixels[index], attributes[index] = render(scene), scene_attributes(scene)
        for name, array in (("pixels", pixels), ("attributes", attributes)):
            # Another process may be reading the same bank: it sees either no file or a complete one.
            partial = folder / f"{name}.{os.getpid()}.partial.npy"
            np.save(partial, array)
            partial.replace(folder / f"{name}.npy")
        (folder / "complete.json").write_text(json.dumps({"split": split, "count": count, "world": WORLD_VERSION}))
    return Bank(
        split=split,
        pixels=np.load(folder / "pixels.npy", mmap_mode="r"),
        attributes=np.load(folder / "attributes.npy"),
    )


def scene_attributes(scene: Scene) -> list[int]:
    """The row of `Bank.attributes` for one scene."""
    present = [0] * len(_SHAPES)
    for thing in scene.things:
        present[_SHAPES.index(thing.shape)] = 1 + _COLOURS.index(thing.colour)
    main = scene.main
    head = [_COLOURS.index(main.colour), _SHAPES.index(main.shape), _BACKGROUNDS.index(scene.background)]
    return head + present


class Rows:
    """One row of numbers per scene, computed on first use.

    One array holds all rows. Many small ones fragment the heap between the large blocks that training steps allocate
    and free, and it grew by megabytes with every step.
    """

    def __init__(self, *, count: int, compute: Callable[[npt.NDArray[np.int64]], np.ndarray]) -> None:
        """`compute` returns the stacked rows of some indices; all rows have one shape and type."""
        self._compute = compute
        self._done = np.zeros(count, dtype=np.bool_)
        self._values: np.ndarray | None = None

    def take(self, indices: npt.NDArray[np.int64]) -> np.ndarray:
        """The rows of some indices, stacked."""
        new = np.unique(indices[~self._done[indices]])
        if len(new) or self._values is None:
            rows = self._compute(new)
            if self._values is None:
                self._values = np.zeros((len(self._done), *rows.shape[1:]), dtype=rows.dtype)
            self._values[new] = rows
            self._done[new] = True
        return np.asarray(self._values[indices])


@cache
def rows_of(row: Callable[..., np.ndarray], *, split: Split, count: int) -> Rows:
    """Rows computed by `row(split=..., index=...)`; one `Rows` per function, split and count in a process."""
    return Rows(count=count, compute=lambda new: np.stack([row(split=split, index=int(index)) for index in new]))


def as_tensor(pixels: Pixels) -> Tensor:
    """8-bit images of shape (batch, height, width, 3) as float32 in [0, 1], (batch, 3, height, width)."""
    return torch.from_numpy(np.array(pixels)).permute(0, 3, 1, 2).to(torch.float32) / 255


def normalised(pixels: Pixels) -> Tensor:
    """8-bit images as input of a ViT: values in [-1, 1], (batch, 3, height, width)."""
    return as_tensor(pixels) * 2 - 1
