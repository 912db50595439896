"""Outlines of the parts of a picture of which every pixel's owner is known."""

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
