"""Regions of pictures: cut out, cropped, outlined and filled in. Pictures are 8-bit RGB of shape (height, width, 3)."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import ndimage, sparse
from scipy.sparse.linalg import spsolve

Pixels = npt.NDArray[np.uint8]
Region = npt.NDArray[np.bool_]
"""Shape (height, width)."""
Corners = tuple[float, float, float, float]
"""Left, top, right and bottom in pixels."""

FRAME = (255, 0, 0)
"""Colour of the frames of `outlined`."""
EMPTY = 128
"""Grey level of pictures without content."""


def kept(pixels: Pixels, *, region: Region) -> Pixels:
    """A region of a picture, the rest black."""
    return np.where(region[..., None], pixels, 0).astype(np.uint8)


def cropped(pixels: Pixels, *, boxes: Sequence[Corners]) -> Pixels:
    """The contents of boxes side by side, aligned at the top, black below shorter ones; grey without boxes."""
    pieces = []
    for left, top, right, bottom in boxes:
        rows = slice(int(np.floor(top)), int(np.ceil(bottom)))
        columns = slice(int(np.floor(left)), int(np.ceil(right)))
        pieces.append(pixels[rows, columns])
    pieces = [piece for piece in pieces if piece.size]
    if not pieces:
        return np.full_like(pixels, EMPTY)
    height = max(len(piece) for piece in pieces)
    padded = [np.pad(piece, ((0, height - len(piece)), (0, 0), (0, 0))) for piece in pieces]
    return np.concatenate(padded, axis=1)


def outlined(pixels: Pixels, *, boxes: Sequence[Corners]) -> Pixels:
    """A picture with a frame of one pixel around each box."""
    framed = pixels.copy()
    height, width = framed.shape[:2]
    for left, top, right, bottom in boxes:
        x1, y1 = max(0, int(np.floor(left))), max(0, int(np.floor(top)))
        x2, y2 = min(width, int(np.ceil(right))) - 1, min(height, int(np.ceil(bottom))) - 1
        if x1 > x2 or y1 > y2:
            continue
        framed[[y1, y2], x1 : x2 + 1] = FRAME
        framed[y1 : y2 + 1, [x1, x2]] = FRAME
    return framed


def filled(pixels: Pixels, *, region: Region, margin: int = 1) -> Pixels:
    """A picture with a region filled in smoothly from its border: each channel solves Laplace's equation there.

    A region that covers the whole picture becomes grey.

    Args:
        pixels: the picture.
        region: to fill.
        margin: number of pixels by which the region is dilated first, since edges are blended.
    """
    dilated = ndimage.binary_dilation(region, iterations=margin) if margin else region
    if not dilated.any():
        return pixels.copy()
    if dilated.all():
        return np.full_like(pixels, EMPTY)
    result = pixels.copy()
    numbers = np.full(dilated.shape, -1, dtype=np.int64)
    numbers[dilated] = np.arange(int(dilated.sum()))
    result[dilated] = np.clip(np.rint(_harmonic(pixels=pixels, numbers=numbers)), 0, 255).astype(np.uint8)
    return result


def _harmonic(*, pixels: Pixels, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Solves the mean-value property for each unknown pixel, shape (unknown, 3). `numbers` indexes them, else -1."""
    rows, columns = np.nonzero(numbers >= 0)
    count = len(rows)
    neighbours = np.zeros(count)
    known = np.zeros((count, 3))
    entries: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]] = []
    for down, across in ((-1, 0), (1, 0), (0, -1), (0, 1)):
        r, c = rows + down, columns + across
        inside = (r >= 0) & (r < numbers.shape[0]) & (c >= 0) & (c < numbers.shape[1])
        neighbours += inside
        own = np.arange(count)[inside]
        other = numbers[r[inside], c[inside]]
        border = other < 0
        np.add.at(known, own[border], pixels[r[inside][border], c[inside][border]].astype(np.float64))
        entries.append((own[~border], other[~border]))
    i, j = (np.concatenate([pair[k] for pair in entries]) for k in (0, 1))
    matrix = sparse.diags(neighbours) - sparse.coo_matrix((np.ones(len(i)), (i, j)), shape=(count, count))
    return np.asarray(spsolve(matrix.tocsc(), known)).reshape(count, 3)
