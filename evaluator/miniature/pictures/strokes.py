"""Line drawings from the edges of pictures, white on black, and maps levelled between edges."""

import numpy as np
import numpy.typing as npt
from scipy import ndimage
from skimage.draw import line
from skimage.feature import canny
from skimage.morphology import skeletonize
from skimage.segmentation import felzenszwalb
from skimage.transform import probabilistic_hough_line

Pixels = npt.NDArray[np.uint8]
"""8-bit RGB of shape (height, width, 3)."""
Strokes = npt.NDArray[np.bool_]
"""Pixels of strokes, shape (height, width)."""

_LOW, _HIGH = 100, 200
"""Canny's thresholds for sums of Sobel kernels over 8-bit levels, as in ControlLLM's code."""
_ROUGH = 2.0
"""Deviation of the Gaussian before a scribble, in pixels."""
_WEAKENED = 4.0
"""Approximate factor by which it weakens gradients."""
_SEED = 0


def edges(pixels: Pixels) -> Strokes:
    """Canny's edges (Canny, 1986) of any channel, one pixel wide, after a Gaussian of one pixel."""
    return _edges(pixels, smoothing=1.0, weakened=1.0)


def _edges(pixels: Pixels, *, smoothing: float, weakened: float) -> Strokes:
    low, high = _LOW / weakened, _HIGH / weakened
    channels = pixels.astype(np.float64).transpose(2, 0, 1)
    masks = [canny(channel, sigma=smoothing, low_threshold=low, high_threshold=high) for channel in channels]
    return np.asarray(skeletonize(np.logical_or.reduce(masks)), dtype=np.bool_)


def straight_lines(pixels: Pixels) -> Strokes:
    """The straight segments of the edges, by the probabilistic Hough transform (Galamhos et al., 1999)."""
    strokes = edges(pixels)
    drawn = np.zeros(strokes.shape, dtype=np.bool_)
    shortest = max(5, min(strokes.shape) // 10)
    segments = probabilistic_hough_line(strokes, threshold=5, line_length=shortest, line_gap=1, rng=_SEED)
    for (x, y), (u, v) in segments:
        rows, columns = line(y, x, v, u)
        drawn[rows, columns] = True
    return drawn


def scribble(pixels: Pixels) -> Strokes:
    """A rough sketch: the strong edges of the blurred picture, as thick strokes."""
    rough = _edges(pixels, smoothing=_ROUGH, weakened=_WEAKENED)
    return np.asarray(ndimage.binary_dilation(rough, iterations=1))


def drawing(strokes: Strokes) -> Pixels:
    """Strokes as a picture, white on black."""
    return np.repeat(np.where(strokes, 255, 0).astype(np.uint8)[..., None], 3, axis=-1)


_LEAST_PIXELS = 8
"""Least size of a region; smaller ones are merged."""


def levelled(
    values: npt.NDArray[np.float32], *, pixels: npt.NDArray[np.uint8], scale: float
) -> npt.NDArray[np.float32]:
    """The median of the values in each region of uniform colour (Felzenszwalb and Huttenlocher, 2004).

    Args:
        values: one for each pixel, shape (height, width).
        pixels: 8-bit RGB of shape (height, width, 3).
        scale: of the regions.
    """
    regions = felzenszwalb(pixels, scale=scale, sigma=0, min_size=_LEAST_PIXELS)
    medians = ndimage.median(values, labels=regions, index=np.arange(int(regions.max()) + 1))
    of_region = np.asarray(medians, dtype=np.float32)
    return np.asarray(of_region[regions], dtype=np.float32)
