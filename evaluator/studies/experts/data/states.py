"""The states in which the restoration experts meet images: what is degraded still, what was restored before.

A gold plan restores in the order super resolution, denoising, deblurring, colorization. An expert is therefore
trained on images that the experts before it have really restored, with the degradations after it still present.
"""

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt

from evaluator.miniature.degradations import SHRINKING, Degradation, degrade, to_pixels

Pixels = npt.NDArray[np.uint8]

RESTORING_ORDER: tuple[Degradation, ...] = (
    Degradation.LOW_RESOLUTION,
    Degradation.NOISE,
    Degradation.BLUR,
    Degradation.GRAYSCALE,
)


class Restorer(Protocol):
    """A restoration expert, as far as training needs it."""

    def restore(self, pixels: Pixels) -> Pixels:
        """8-bit images (batch, height, width, 3) to restored ones."""
        ...


def degraded(*, clean: Pixels, degradations: frozenset[Degradation], rng: np.random.Generator) -> Pixels:
    """A batch of clean images with the given degradations, noise drawn from `rng`."""
    return degrade(clean, degradations=degradations, rng=lambda _: rng)


def restored_before(
    *,
    pixels: Pixels,
    degradations: frozenset[Degradation],
    before: Degradation,
    restorers: Mapping[Degradation, Restorer],
) -> Pixels:
    """Run the experts that a gold plan calls before the one for `before`, on the degradations that are present."""
    for degradation in RESTORING_ORDER[: RESTORING_ORDER.index(before)]:
        if degradation in degradations:
            pixels = restorers[degradation].restore(pixels)
    return pixels


def target_of(
    *,
    clean: Pixels,
    degradations: frozenset[Degradation],
    removed: Degradation,
    seed: int,
    kept: frozenset[Degradation] = frozenset(),
) -> tuple[Pixels, Pixels]:
    """The degraded image and the same with `removed` and everything restored before it taken away.

    Args:
        kept: degradations that would have been restored before but were not, as in a plan of another order.
    """
    source = degraded(clean=clean, degradations=degradations, rng=np.random.default_rng(seed))
    done = frozenset(RESTORING_ORDER[: RESTORING_ORDER.index(removed) + 1]) - kept
    left = degradations - done
    if removed is Degradation.GRAYSCALE:
        # The colour of noise cannot be distinguished from its lightness.
        left -= {Degradation.NOISE}
    enlarged = Degradation.LOW_RESOLUTION in degradations - left
    if Degradation.NOISE in left and enlarged:
        target = degraded(clean=clean, degradations=left - {Degradation.NOISE}, rng=_NO_NOISE)
        return source, _with_noise_of(source=source, target=target, clean=clean, degradations=degradations)
    return source, degraded(clean=clean, degradations=left, rng=np.random.default_rng(seed))


_NO_NOISE = np.random.default_rng(0)
"""Where no noise is asked for."""


def _with_noise_of(*, source: Pixels, target: Pixels, clean: Pixels, degradations: frozenset[Degradation]) -> Pixels:
    """The noise that stays when resolution is restored first.

    Of the pixels of a block only the mean is known, which is then also the expected value of each. A target that
    carries it teaches the same as one with the original noise, without the variance that cannot be predicted.
    """
    quiet = degraded(clean=clean, degradations=degradations - {Degradation.NOISE}, rng=_NO_NOISE)
    deviation = source.astype(np.float32) - quiet.astype(np.float32)
    return to_pixels(target.astype(np.float32) + deviation.repeat(SHRINKING, axis=-3).repeat(SHRINKING, axis=-2))


__all__ = ["RESTORING_ORDER", "Pixels", "Restorer", "degraded", "restored_before", "target_of"]
