"""Maps of pictures that are known exactly: outlines from the owner of every pixel, normals from nearness."""

import numpy as np
import numpy.typing as npt


def outlines(owner: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
    """Pixels at which one part ends and a farther one, or the background, begins.

    A line is one pixel wide and lies on the nearer part.

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
        edges |= _padded(first > second, axis=axis, before=0)
        edges |= _padded(second > first, axis=axis, before=1)
    return edges


def _padded(values: npt.NDArray[np.bool_], *, axis: int, before: int) -> npt.NDArray[np.bool_]:
    """One row or column of False more, before or after."""
    widths = [(0, 0)] * values.ndim
    widths[axis] = (before, 1 - before)
    return np.pad(values, widths)


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
