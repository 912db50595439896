"""How photographs become inputs of OpenAGI's requests: one size, seeded degradations, one masked word in a text.

The paper names the degradations without their strengths, which are those of the released generator here: Gaussian blur
of radius 1, noise of variance 0.005. What they are is the paper's: the noise is added (the release multiplies it), and
low resolution means fewer pixels (the release compresses as JPEG). They are applied at the size that experts see, so
that they are still there (the release resizes afterwards, which averages most of them away).

Randomness belongs to a sample and a purpose and never to a task: tasks that ask for the same get the same.
"""

import hashlib
import re
from collections.abc import Iterable

import numpy as np
from PIL import Image as PillowImage
from PIL import ImageFilter

from evaluator.core.canonical_json import framed
from evaluator.core.values import Image
from evaluator.openagi.grammar import Degradation

SIDE = 256
"""Pixels. The release's loader resizes everything to this square, whatever the shape was."""
BLUR_RADIUS = 1.0
"""Standard deviation in pixels."""
NOISE_VARIANCE = 0.005
"""Of values in [0, 1]."""
SHRINKING = 2
"""Low resolution has this many times fewer pixels in each direction, as many as Swin2SR x2 restores."""
MASK = "[MASK]"
VERSION = "1"
"""Raised by hand whenever anything here changes what the same sample looks like."""


def fitted(image: Image) -> Image:
    """A photograph of any size as 256x256 RGB; the aspect ratio is not kept, as in the release."""
    return image.convert("RGB").resize((SIDE, SIDE), PillowImage.Resampling.BILINEAR)


def degraded(image: Image, *, degradations: Iterable[str], key: str, index: int) -> Image:
    """The image degraded in the release's order: grayscale, blur, noise, low resolution.

    Args:
        image: RGB.
        degradations: values of `Degradation` in any order.
        key: of the data that the image belongs to.
        index: of the sample.
    """
    wanted = {Degradation(name) for name in degradations}
    if Degradation.GRAYSCALE in wanted:
        image = image.convert("L").convert("RGB")
    if Degradation.BLUR in wanted:
        image = image.filter(ImageFilter.GaussianBlur(BLUR_RADIUS))
    if Degradation.NOISE in wanted:
        image = _noisy(image, rng=stream(key=key, index=index, purpose="noise"))
    if Degradation.LOW_RESOLUTION in wanted:
        image = image.reduce(SHRINKING)
    return image


def masked(text: str, *, key: str, index: int) -> str:
    """The text with one of its words replaced by `[MASK]`; a blank text stays blank."""
    words = list(re.finditer(r"\S+", text))
    if not words:
        return text
    word = words[int(stream(key=key, index=index, purpose="mask").integers(len(words)))]
    return f"{text[: word.start()]}{MASK}{text[word.end() :]}"


def stream(*, key: str, index: int, purpose: str) -> np.random.Generator:
    """The random stream of one sample for one purpose."""
    material = framed("planarena-openagi", VERSION, key, str(index), purpose)
    return np.random.Generator(np.random.PCG64(int.from_bytes(hashlib.sha256(material).digest(), "big")))


def _noisy(image: Image, *, rng: np.random.Generator) -> Image:
    values = np.asarray(image, dtype=np.float32)
    spoilt = values + rng.standard_normal(values.shape, dtype=np.float32) * np.float32(255 * NOISE_VARIANCE**0.5)
    return PillowImage.fromarray(np.clip(np.rint(spoilt), 0, 255).astype(np.uint8))
