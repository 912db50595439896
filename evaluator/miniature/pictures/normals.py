"""Surface normals from a map of nearness."""

import numpy as np
import numpy.typing as npt

_STEEPNESS = 8.0
"""How many pixels deep the range of a map of nearness is taken to be."""


def normals(nearness: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Unit normals that point to the viewer.

    Args:
        nearness: in [0, 1], shape (height, width).

    Returns:
        x to the right, y downwards and z to the viewer, shape (height, width, 3).
    """
    down, across = np.gradient(nearness.astype(np.float32) * _STEEPNESS)
    vectors = np.stack([-across, -down, np.ones_like(across)], axis=-1)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True), dtype=np.float32)


def normal_map(nearness: npt.NDArray[np.float32]) -> npt.NDArray[np.uint8]:
    """The same as a picture: a flat surface is (128, 128, 255)."""
    return np.asarray(np.rint((normals(nearness) + 1) * 127.5), dtype=np.uint8)
