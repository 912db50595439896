"""Maps from ground truth: outlines from the owner of each pixel, normals from nearness."""

import numpy as np
import numpy.typing as npt


def outlines(owner: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
    """Pixels of a part next to a farther part or the background; lines are one pixel wide.

    Args:
        owner: index of the part that a pixel shows, higher for nearer ones, -1 for the background; shape
            (height, width) or (batch, height, width).
    """
    nearest = owner.astype(np.int64)
    edges = np.zeros(nearest.shape, dtype=np.bool_)
    for axis in (-1, -2):
        length = nearest.shape[axis]
        first = np.take(nearest, range(length - 1), axis=axis)
        second = np.take(nearest, range(1, length), axis=axis)
        for before, steps in ((0, first > second), (1, second > first)):
            widths = [(0, 0)] * nearest.ndim
            widths[axis] = (before, 1 - before)
            edges |= np.pad(steps, widths)
    return edges


_STEEPNESS = 8.0
"""Depth in pixels of the range of a map of nearness."""


def normals(nearness: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Unit normals towards the viewer: x to the right, y downwards and z to the viewer, shape (height, width, 3).

    Args:
        nearness: in [0, 1], shape (height, width).
    """
    down, across = np.gradient(nearness.astype(np.float32) * _STEEPNESS)
    vectors = np.stack([-across, -down, np.ones_like(across)], axis=-1)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True), dtype=np.float32)


def normal_map(nearness: npt.NDArray[np.float32]) -> npt.NDArray[np.uint8]:
    """Normals as a picture; a flat surface is (128, 128, 255)."""
    return np.asarray(np.rint((normals(nearness) + 1) * 127.5), dtype=np.uint8)
