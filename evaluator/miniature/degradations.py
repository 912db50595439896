"""The four degradations, applied in OpenAGI's order: grayscale, blur, noise, low resolution.

Each takes and returns 8-bit pixels, like a camera or a file. Randomness depends on the image, not on the task: two
tasks with noise on the same image have the same noise.

OpenAGI's released generator differs: its noise is multiplicative and its low resolution is JPEG compression at full
size. Here noise is additive Gaussian, as in the paper, and low resolution means fewer pixels.
"""

from collections.abc import Callable, Iterable
from enum import StrEnum

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]
"""8-bit RGB of shape (..., height, width, 3)."""
Floats = npt.NDArray[np.float32]

NOISE_SIGMA = 0.35
"""Standard deviation of the noise, in units of the full range: 89 grey levels, 22 after low resolution."""
BLUR_SIGMA = 2.6
"""Standard deviation of the Gaussian kernel in pixels."""
_BLUR_REACH = 9
SHRINKING = 4
"""Factor of low resolution in each direction."""
LUMA = np.asarray((0.299, 0.587, 0.114), dtype=np.float32)
"""ITU-R BT.601, as in Pillow's conversion to `L`."""


class Degradation(StrEnum):
    """Degradations of an image, in the order in which they are applied."""

    GRAYSCALE = "grayscale"
    BLUR = "blur"
    NOISE = "noise"
    LOW_RESOLUTION = "low_resolution"


def to_pixels(values: Floats) -> Pixels:
    """Values in [0, 255] rounded and clipped to 8 bits."""
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def grayscale(pixels: Pixels) -> Pixels:
    """Luma in all three channels."""
    luma = to_pixels(pixels.astype(np.float32) @ LUMA)
    return np.repeat(luma[..., None], 3, axis=-1)


def blur(pixels: Pixels) -> Pixels:
    """Convolution with a Gaussian of 2.6 pixels, with mirrored borders."""
    offsets = np.arange(-_BLUR_REACH, _BLUR_REACH + 1, dtype=np.float32)
    kernel = np.exp(-0.5 * (offsets / BLUR_SIGMA) ** 2)
    kernel /= kernel.sum()
    values = pixels.astype(np.float32)
    for axis in (-3, -2):
        length = values.shape[axis]
        margin = [(0, 0)] * values.ndim
        margin[axis] = (_BLUR_REACH, _BLUR_REACH)
        padded = np.moveaxis(np.pad(values, margin, mode="reflect"), axis, 0)
        total = sum((weight * padded[k : k + length] for k, weight in enumerate(kernel)), start=np.float32(0))
        values = np.moveaxis(np.asarray(total, dtype=np.float32), 0, axis)
    return to_pixels(values)


def noise(pixels: Pixels, *, rng: np.random.Generator) -> Pixels:
    """Additive Gaussian noise, independent for every pixel and channel, even on grayscale images."""
    deviation = rng.standard_normal(pixels.shape, dtype=np.float32) * np.float32(255 * NOISE_SIGMA)
    return to_pixels(pixels.astype(np.float32) + deviation)


def low_resolution(pixels: Pixels) -> Pixels:
    """A quarter of the width and height; each pixel is the mean of a 4x4 block.

    Raises:
        ValueError: the height or the width is not a multiple of 4.
    """
    *leading, height, width, channels = pixels.shape
    if height % SHRINKING or width % SHRINKING:
        raise ValueError(f"low resolution needs a height and a width that are multiples of 4, not {height}x{width}")
    rows, columns = height // SHRINKING, width // SHRINKING
    blocks = pixels.astype(np.float32).reshape(*leading, rows, SHRINKING, columns, SHRINKING, channels)
    return to_pixels(blocks.mean(axis=(-4, -2)))


def degrade(
    pixels: Pixels, *, degradations: Iterable[str], rng: Callable[[Degradation], np.random.Generator]
) -> Pixels:
    """Apply degradations in the fixed order, regardless of the order of the names.

    Args:
        pixels: shape (..., height, width, 3).
        degradations: values of `Degradation`.
        rng: returns the stream of a random degradation; called only for noise.

    Raises:
        ValueError: a name is not a degradation.
    """
    names = {Degradation(name) for name in degradations}
    if Degradation.GRAYSCALE in names:
        pixels = grayscale(pixels)
    if Degradation.BLUR in names:
        pixels = blur(pixels)
    if Degradation.NOISE in names:
        pixels = noise(pixels, rng=rng(Degradation.NOISE))
    if Degradation.LOW_RESOLUTION in names:
        pixels = low_resolution(pixels)
    return pixels
