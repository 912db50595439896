"""Maps levelled within the regions of their picture, so that their steps lie where the picture has edges."""

import numpy as np
import numpy.typing as npt
from scipy import ndimage
from skimage.segmentation import felzenszwalb

_LEAST_PIXELS = 8
"""Of a region; smaller ones join a neighbour."""


def levelled(
    values: npt.NDArray[np.float32], *, pixels: npt.NDArray[np.uint8], scale: float
) -> npt.NDArray[np.float32]:
    """The median of the values in each region of even colour (Felzenszwalb and Huttenlocher, 2004).

    Args:
        values: one for each pixel, shape (height, width).
        pixels: 8-bit RGB of shape (height, width, 3).
        scale: of the regions; the larger, the larger they are.
    """
    regions = felzenszwalb(pixels, scale=scale, sigma=0, min_size=_LEAST_PIXELS)
    medians = ndimage.median(values, labels=regions, index=np.arange(int(regions.max()) + 1))
    of_region = np.asarray(medians, dtype=np.float32)
    return np.asarray(of_region[regions], dtype=np.float32)
