"""Converts photographs to inputs of OpenAGI's requests: one size, seeded degradations, and a masked word in texts.

The paper names the degradations without their strengths, which are taken from the released generator: Gaussian blur of
radius 1, noise of variance 0.005. The kinds follow the paper: noise is additive (multiplicative in the release), and
low resolution means fewer pixels (JPEG compression in the release). Degradations are applied at the size that experts
see. The release resizes afterwards, which averages most of them away.

Randomness depends on the sample and the purpose but not on the task, so that tasks with the same input share it.
"""

import hashlib
import re
from collections.abc import Iterable

import numpy as np
from PIL import Image as PillowImage
from PIL import ImageFilter

from evaluator.core.canonical_json import framed
from evaluator.core.pictures import as_seen
from evaluator.core.values import Image
from evaluator.openagi.grammar import Degradation

SIDE = 256
"""Width and height in pixels. The release's loader resizes every image to this square."""
BLUR_RADIUS = 1.0
"""Standard deviation in pixels."""
NOISE_VARIANCE = 0.005
"""For values in [0, 1]."""
SHRINKING = 2
"""Factor of low resolution in each direction, the factor of Swin2SR x2."""
MASK = "[MASK]"
VERSION = "1"
"""Increase it whenever the output for a sample changes."""


def fitted(image: Image) -> Image:
    """A photograph of any size as 256x256 RGB; the aspect ratio is not kept, as in the release."""
    return as_seen(image).resize((SIDE, SIDE), PillowImage.Resampling.BILINEAR)


def degraded(image: Image, *, degradations: Iterable[str], key: str, index: int) -> Image:
    """The image degraded in the release's order: grayscale, blur, noise, low resolution.

    Args:
        image: RGB.
        degradations: values of `Degradation` in any order.
        key: key of the image's data.
        index: index of the sample.
    """
    kinds = {Degradation(name) for name in degradations}
    if Degradation.GRAYSCALE in kinds:
        image = image.convert("L").convert("RGB")
    if Degradation.BLUR in kinds:
        image = image.filter(ImageFilter.GaussianBlur(BLUR_RADIUS))
    if Degradation.NOISE in kinds:
        values = np.asarray(image, dtype=np.float32)
        noise = stream(key=key, index=index, purpose="noise").standard_normal(values.shape, dtype=np.float32)
        values = values + noise * np.float32(255 * NOISE_VARIANCE**0.5)
        image = PillowImage.fromarray(np.clip(np.rint(values), 0, 255).astype(np.uint8))
    if Degradation.LOW_RESOLUTION in kinds:
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
    """The random stream of a sample for a purpose."""
    material = framed("planarena-openagi", VERSION, key, str(index), purpose)
    return np.random.Generator(np.random.PCG64(int.from_bytes(hashlib.sha256(material).digest(), "big")))
