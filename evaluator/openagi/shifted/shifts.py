"""Shifts of inputs: defects of another kind and texts of another spelling than the experts saw in training.

Defects of pictures are as strong as those of the miniature world, so that what changes is their distribution: impulses
have the standard deviation of its noise, and motion the variance of its blur.
"""

import re
from collections.abc import Callable, Collection, Mapping
from functools import cache
from itertools import chain

import numpy as np

from evaluator.miniature.degradations import BLUR_SIGMA, NOISE_SIGMA, SHRINKING, Degradation, Pixels, to_pixels
from evaluator.miniature.degradations import blur as gaussian_blur
from evaluator.miniature.degradations import grayscale as luma_grayscale
from evaluator.miniature.degradations import low_resolution as block_means
from evaluator.miniature.degradations import noise as gaussian_noise
from evaluator.miniature.grammar.captions import MASK
from evaluator.miniature.grammar.labels import COLOURS, SHAPES
from evaluator.miniature.grammar.words import BELONGINGS, OPINIONS
from evaluator.openagi.shifted.tasks import DEFECTS, Shift

VERSION = "1"
"""Increment whenever an input changes."""

Streams = Callable[[str], np.random.Generator]
"""The random stream of a sample for a purpose."""


_IMPULSES = 3 * NOISE_SIGMA**2
"""Share of pixels. An impulse changes a uniformly distributed value by 1/3 in the mean square."""
_LENGTH = round((12 * 2 * BLUR_SIGMA**2) ** 0.5)
"""Pixels. A line of this length has the variance of the Gaussian in both directions together."""
_SWAPPED = 0.3
"""Share of words."""
_SHORTEST_SWAPPED = 4
_WORD = re.compile(r"\w+")


def impulses(pixels: Pixels, *, rng: np.random.Generator) -> Pixels:
    """A third of the pixels black or white, with equal probability."""
    drawn = rng.random(pixels.shape[:-1])
    shifted = pixels.copy()
    shifted[drawn < _IMPULSES / 2] = 0
    shifted[drawn > 1 - _IMPULSES / 2] = 255
    return shifted


def motion(pixels: Pixels, *, rng: np.random.Generator) -> Pixels:
    """The mean over a line of 13 pixels in a random direction, with mirrored borders."""
    angle = rng.uniform(0, np.pi)
    reach = _LENGTH // 2
    padded = np.pad(pixels.astype(np.float32), ((reach, reach), (reach, reach), (0, 0)), mode="reflect")
    height, width, _ = pixels.shape
    total = np.zeros(pixels.shape, dtype=np.float32)
    for step in range(-reach, reach + 1):
        row, column = reach + round(step * np.sin(angle)), reach + round(step * np.cos(angle))
        total += padded[row : row + height, column : column + width]
    return to_pixels(total / np.float32(2 * reach + 1))


def skipped_pixels(pixels: Pixels) -> Pixels:
    """The first pixel of each block of 4x4."""
    return np.ascontiguousarray(pixels[::SHRINKING, ::SHRINKING])


def channel_mean(pixels: Pixels) -> Pixels:
    """The mean of red, green and blue in all three channels."""
    return np.repeat(to_pixels(pixels.mean(axis=-1, dtype=np.float32, keepdims=True)), 3, axis=-1)


def shifted_picture(pixels: Pixels, *, degradations: Collection[str], shift: Shift, stream: Streams) -> Pixels:
    """A picture with its defects, in the order of the miniature world, of which some are shifted.

    Args:
        pixels: the clean picture, shape (height, width, 3).
        degradations: values of `Degradation`.
        shift: what is shifted; spellings leave the picture's defects as they are.
        stream: random streams.
    """

    def is_shifted(defect: Degradation) -> bool:
        return shift in (DEFECTS[defect], Shift.ALL_DEFECTS)

    if Degradation.GRAYSCALE in degradations:
        pixels = channel_mean(pixels) if is_shifted(Degradation.GRAYSCALE) else luma_grayscale(pixels)
    if Degradation.BLUR in degradations:
        pixels = motion(pixels, rng=stream("motion")) if is_shifted(Degradation.BLUR) else gaussian_blur(pixels)
    if Degradation.NOISE in degradations:
        if is_shifted(Degradation.NOISE):
            pixels = impulses(pixels, rng=stream("impulses"))
        else:
            pixels = gaussian_noise(pixels, rng=stream(Degradation.NOISE.value))
    if Degradation.LOW_RESOLUTION in degradations:
        pixels = skipped_pixels(pixels) if is_shifted(Degradation.LOW_RESOLUTION) else block_means(pixels)
    return pixels


def shifted_text(text: str, *, shift: Shift, kept: str, rng: np.random.Generator) -> str:
    """A text of another spelling. Masks stay, and shifts of pictures change nothing.

    Args:
        text: in English.
        shift: one of `SPELLINGS` to change anything.
        kept: words in it are not replaced by German ones: an English answer may be copied from the text.
        rng: draws the letters to swap.
    """
    if shift is Shift.SPELLING:
        return _outside_masks(text, lambda part: _WORD.sub(lambda word: _swapped(word.group(), rng=rng), part))
    if shift is Shift.CAPITALS:
        return _outside_masks(text, str.upper)
    if shift is Shift.GERMAN_NOUNS:
        there = frozenset(_WORD.findall(kept))

        def german(word: re.Match[str]) -> str:
            return word.group() if word.group() in there else _german_words().get(word.group(), word.group())

        return _outside_masks(text, lambda part: _WORD.sub(german, part))
    return text


def _outside_masks(text: str, change: Callable[[str], str]) -> str:
    return MASK.join(change(part) for part in text.split(MASK))


def _swapped(word: str, *, rng: np.random.Generator) -> str:
    """The word, in some cases with two of its inner letters swapped."""
    if len(word) < _SHORTEST_SWAPPED or rng.random() >= _SWAPPED:
        return word
    place = int(rng.integers(1, len(word) - 2))
    return f"{word[:place]}{word[place + 1]}{word[place]}{word[place + 2 :]}"


@cache
def _german_words() -> Mapping[str, str]:
    """The dictionary forms of the miniature world's nouns and colours by their English forms."""
    nouns = chain(SHAPES.values(), (thing.noun for thing in BELONGINGS), (opinion.noun for opinion in OPINIONS))
    colours = {colour.english: colour.german for colour in COLOURS.values()}
    return colours | {noun.english: noun.german for noun in nouns}
