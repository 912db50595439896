"""Training of the restoration experts on images in the states in which plans call them.

A gold plan restores in the order super resolution, denoising, deblurring, colorization. An expert is therefore
trained on the outputs of the experts before it, with the degradations after it still present.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn
from transformers import Swin2SRConfig, Swin2SRForImageSuperResolution

from evaluator.core.expert import ExpertSpec
from evaluator.execution.experts.colorizer import Colorizer, ColorizerConfig, rgb_to_lab
from evaluator.execution.experts.imaging import RestorationExpert
from evaluator.execution.experts.restoration import ColorizerExpert, RestormerExpert, Swin2SRExpert
from evaluator.execution.experts.restormer import Restormer, RestormerConfig
from evaluator.miniature.degradations import SHRINKING, Degradation, degrade, to_pixels
from evaluator.miniature.scenes import SIZE
from evaluator.studies.experts.data.bank import Bank, Pixels, as_tensor
from evaluator.training.export import write_config, write_weights

RESTORING_ORDER: tuple[Degradation, ...] = (
    Degradation.LOW_RESOLUTION,
    Degradation.NOISE,
    Degradation.BLUR,
    Degradation.GRAYSCALE,
)


class Restorer(Protocol):
    """The part of a restoration expert that training calls."""

    def restore(self, pixels: Pixels) -> Pixels:
        """8-bit images (batch, height, width, 3) to restored ones."""
        ...


def degraded(*, clean: Pixels, degradations: frozenset[Degradation], rng: np.random.Generator) -> Pixels:
    """A batch of clean images with degradations, noise drawn from `rng`."""
    return degrade(clean, degradations=degradations, rng=lambda _: rng)


def target_of(
    *,
    clean: Pixels,
    degradations: frozenset[Degradation],
    removed: Degradation,
    seed: int,
    skipped: frozenset[Degradation] = frozenset(),
) -> tuple[Pixels, Pixels]:
    """The degraded image, and the same without `removed` and the degradations that are restored before it.

    Args:
        skipped: degradations that were not restored before, as in a plan of another order.
    """
    source = degraded(clean=clean, degradations=degradations, rng=np.random.default_rng(seed))
    restored = frozenset(RESTORING_ORDER[: RESTORING_ORDER.index(removed) + 1]) - skipped
    left = degradations - restored
    if removed is Degradation.GRAYSCALE:
        # The colour of noise cannot be distinguished from its lightness.
        left -= {Degradation.NOISE}
    if Degradation.NOISE in left and Degradation.LOW_RESOLUTION in degradations - left:
        # After enlarging, only the mean of the noise of a block is known, which is the expected value of each of its
        # pixels. Such a target teaches the same as one with the original noise, without its unpredictable variance.
        no_noise = np.random.default_rng(0)
        target = degraded(clean=clean, degradations=left - {Degradation.NOISE}, rng=no_noise)
        noiseless = degraded(clean=clean, degradations=degradations - {Degradation.NOISE}, rng=no_noise)
        noise = source.astype(np.float32) - noiseless.astype(np.float32)
        noise = noise.repeat(SHRINKING, axis=-3).repeat(SHRINKING, axis=-2)
        return source, to_pixels(target.astype(np.float32) + noise)
    return source, degraded(clean=clean, degradations=left, rng=np.random.default_rng(seed))


_WITHOUT = 0.08
"""Share of half-batches without the degradation to remove, so that a needless call does little harm."""
_OTHER_ORDER = 0.25
"""Share of half-batches of plans in another order, in which each earlier restoration is skipped by `_SKIPPED`."""
_SKIPPED = 0.5


@dataclass(frozen=True, slots=True)
class RestorationData:
    """Pairs of degraded and target images for one expert, in all states that a gold plan can produce."""

    bank: Bank
    degradation: Degradation
    batch: int = 16
    restorers: Mapping[Degradation, Restorer] = field(default_factory=dict)
    """The experts that a gold plan calls before this one."""
    others: float = 0.5
    """Probability of each of the other degradations."""

    def pairs(self, *, rng: np.random.Generator) -> list[tuple[Pixels, Pixels]]:
        """Two half-batches, each in one state: inputs and targets of shape (batch / 2, height, width, 3)."""
        return [self._half(rng=rng) for _ in range(2)]

    def _half(self, *, rng: np.random.Generator) -> tuple[Pixels, Pixels]:
        indices = np.sort(rng.integers(len(self.bank), size=self.batch // 2))
        clean = np.asarray(self.bank.pixels[indices])
        present = frozenset(d for d in Degradation if rng.random() < self.others) | {self.degradation}
        seed = int(rng.integers(2**62))
        without, other_order = rng.random() < _WITHOUT, rng.random() < _OTHER_ORDER
        skipped = frozenset(d for d in Degradation if rng.random() < _SKIPPED) if other_order else frozenset()
        if without and self.degradation is not Degradation.LOW_RESOLUTION:
            present -= {self.degradation}
        earlier = RESTORING_ORDER[: RESTORING_ORDER.index(self.degradation)]
        skipped &= present & frozenset(earlier)
        source, target = target_of(
            clean=clean, degradations=present, removed=self.degradation, seed=seed, skipped=skipped
        )
        for degradation in earlier:
            if degradation in present - skipped:
                source = self.restorers[degradation].restore(source)
        return source, target


@dataclass(frozen=True, slots=True)
class PixelObjective:
    """Mean absolute error, quadratic for small errors: sharp where possible, high PSNR elsewhere."""

    data: RestorationData
    softness: float = 0.01
    """Errors below this share of the full range are quadratic."""

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        losses = []
        for source, target in self.data.pairs(rng=rng):
            output = model(as_tensor(source))
            output = getattr(output, "reconstruction", output)
            error = output - as_tensor(target)
            losses.append(torch.sqrt(error.square() + self.softness**2).mean())
        return torch.stack(losses).mean()


@dataclass(frozen=True, slots=True)
class ColourObjective:
    """Mean distance between predicted and true ab, in units of 110."""

    data: RestorationData

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        losses = []
        for source, target in self.data.pairs(rng=rng):
            lightness = rgb_to_lab(as_tensor(source))[:, :1]
            error = (model(lightness) - rgb_to_lab(as_tensor(target))[:, 1:]) / 110
            losses.append(torch.sqrt(error.square().sum(dim=1) + 1e-5).mean())
        return torch.stack(losses).mean()


RESTORER_FOLDERS: Mapping[Degradation, str] = {
    Degradation.LOW_RESOLUTION: "super-resolution",
    Degradation.NOISE: "denoising",
    Degradation.BLUR: "deblurring",
    Degradation.GRAYSCALE: "colorization",
}
"""Folder of weights of the expert that removes each degradation."""

_EXPERTS: Mapping[Degradation, type[RestorationExpert]] = {
    Degradation.LOW_RESOLUTION: Swin2SRExpert,
    Degradation.NOISE: RestormerExpert,
    Degradation.BLUR: RestormerExpert,
    Degradation.GRAYSCALE: ColorizerExpert,
}


def load_restorers(*, weights: Path, before: Degradation) -> dict[Degradation, RestorationExpert]:
    """The trained experts that a gold plan calls before the one for `before`."""
    restorers = {}
    for degradation in RESTORING_ORDER[: RESTORING_ORDER.index(before)]:
        folder = RESTORER_FOLDERS[degradation]
        spec = ExpertSpec(
            tool="",
            id=folder,
            implementation="",
            path=weights / folder,
            weights_digest="",
            code_version="",
            batch_size=8,
        )
        restorers[degradation] = _EXPERTS[degradation](spec=spec, device="cpu")
    return restorers


def pixel_objective(*, bank: Bank, weights: Path, degradation: str, softness: float = 0.01) -> PixelObjective:
    """The objective of the expert for `degradation`; it loads the weights of the experts before it."""
    removed = Degradation(degradation)
    # Super resolution learns little from blurred images, which have no detail, and from noisy ones.
    others = 0.3 if removed is Degradation.LOW_RESOLUTION else 0.5
    restorers = load_restorers(weights=weights, before=removed)
    return PixelObjective(
        RestorationData(bank=bank, degradation=removed, restorers=restorers, others=others), softness=softness
    )


def colour_objective(*, bank: Bank, weights: Path) -> ColourObjective:
    """The objective of colorization; it loads the weights of the other experts."""
    gray = Degradation.GRAYSCALE
    return ColourObjective(
        RestorationData(bank=bank, degradation=gray, restorers=load_restorers(weights=weights, before=gray))
    )


def super_resolution() -> nn.Module:
    """A light Swin2SR that enlarges by four."""
    model: nn.Module = Swin2SRForImageSuperResolution(
        Swin2SRConfig(
            image_size=SIZE // SHRINKING,
            patch_size=1,
            num_channels=3,
            embed_dim=48,
            depths=[3, 3],
            num_heads=[4, 4],
            window_size=8,
            mlp_ratio=2.0,
            upscale=SHRINKING,
            img_range=1.0,
            upsampler="pixelshuffledirect",
            resi_connection="1conv",
            drop_path_rate=0.0,
        )
    )
    begin_as_bilinear(model)
    return model


@torch.no_grad()
def begin_as_bilinear(model: nn.Module) -> None:
    """Initialise a light Swin2SR as bilinear enlargement.

    Unlike similar networks it has no skip connection that enlarges the image, and would spend most of a short training
    on learning to pass it through.
    """
    first = model.get_parameter("swin2sr.first_convolution.weight")
    last = model.get_parameter("upsample.conv.weight")
    body = model.get_parameter("swin2sr.conv_after_body.weight")
    for name in ("swin2sr.first_convolution.bias", "upsample.conv.bias", "swin2sr.conv_after_body.bias"):
        model.get_parameter(name).zero_()
    body.zero_()
    first[:3].zero_()
    last.zero_()
    # For each new pixel within an old one: the weights of the previous, the same and the next old pixel.
    shifts = [(place + 0.5) / SHRINKING - 0.5 for place in range(SHRINKING)]
    taps = [torch.tensor([max(0.0, -shift), 1 - abs(shift), max(0.0, shift)]) for shift in shifts]
    for channel in range(3):
        first[channel, channel, 1, 1] = 1
        for row, vertical in enumerate(taps):
            for column, horizontal in enumerate(taps):
                last[(channel * SHRINKING + row) * SHRINKING + column, channel] = torch.outer(vertical, horizontal)


_RESTORMER = RestormerConfig(dim=12, num_blocks=(1, 1, 1, 2), num_refinement_blocks=0)
_COLORIZER = ColorizerConfig(widths=(16, 32, 64, 96))


def restormer() -> nn.Module:
    """The Restormer of denoising and of deblurring."""
    return Restormer(_RESTORMER)


def colorizer() -> nn.Module:
    """A network in the style of siggraph17."""
    return Colorizer(_COLORIZER)


def export_restormer(model: nn.Module, folder: Path) -> None:
    """Write a Restormer with its sizes."""
    write_config(config={"architecture": "Restormer", **asdict(_RESTORMER)}, folder=folder)
    write_weights(model=model, folder=folder)


def export_colorizer(model: nn.Module, folder: Path) -> None:
    """Write the colorizer with its sizes."""
    write_config(config={"architecture": "Colorizer", **asdict(_COLORIZER)}, folder=folder)
    write_weights(model=model, folder=folder)
