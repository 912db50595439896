"""Pictures and clips."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image as PillowImage

Image = PillowImage.Image


@dataclass(frozen=True, slots=True, eq=False)
class Clip:
    """A video without sound."""

    frames: npt.NDArray[np.uint8]
    """8-bit RGB of shape (frames, height, width, 3), at least one frame. Shared: do not change it."""

    def __post_init__(self) -> None:
        """Raises ValueError for another shape, or no frames."""
        if self.frames.ndim != 4 or self.frames.shape[-1] != 3 or self.frames.dtype != np.uint8:
            raise ValueError(f"a clip has 8-bit frames of shape (frames, height, width, 3), not {self.frames.shape}")
        if 0 in self.frames.shape:
            raise ValueError("a clip has at least one frame of at least one pixel")

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return int(self.frames.shape[2]), int(self.frames.shape[1])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Clip) and np.array_equal(self.frames, other.frames)

    def __hash__(self) -> int:
        return hash(self.frames.tobytes())
