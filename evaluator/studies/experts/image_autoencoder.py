"""The autoencoder for the latents of Text to Image Generation. It is shipped as part of that expert only."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from diffusers import AutoencoderKL
from torch import Tensor, nn

from evaluator.miniature.rendering import object_mask
from evaluator.miniature.scenes import SIZE, draw_scene
from evaluator.studies.experts.data.bank import Bank, normalised
from evaluator.training.export import write_config, write_weights

NAME = "image-autoencoder"
CHANNELS = 6
"""Channels of the latents, which have a quarter of the picture's width and height."""
SIDE = SIZE // 4
_WIDTHS = (16, 32, 48)
_DIVERGENCE = 1e-4
_THINGS = 3.0
"""Additional weight of the pixels of things, which cover a small part of most pictures."""
_MOMENTUM = 0.99
"""Momentum of the running mean and variance of the latents."""
_LEAST = 0.05
"""Lower bound of the deviation by which a channel is divided: below it, a channel carries no information."""


class AutoencoderModel(nn.Module):
    """The autoencoder with the statistics of its latents, by which the export normalises them."""

    mean: Tensor
    variance: Tensor

    def __init__(self, autoencoder: AutoencoderKL) -> None:
        super().__init__()
        self.autoencoder = autoencoder
        self.register_buffer("mean", torch.zeros(CHANNELS))
        self.register_buffer("variance", torch.ones(CHANNELS))

    @torch.no_grad()
    def update_statistics(self, latents: Tensor) -> None:
        """Add the latents of a batch, (batch, 6, 16, 16), to the statistics."""
        self.mean.lerp_(latents.mean(dim=(0, 2, 3)), 1 - _MOMENTUM)
        self.variance.lerp_((latents - self.mean[:, None, None]).square().mean(dim=(0, 2, 3)), 1 - _MOMENTUM)


def autoencoder() -> AutoencoderKL:
    """The architecture of Stable Diffusion's, with fewer channels and no attention."""
    return AutoencoderKL(
        down_block_types=("DownEncoderBlock2D",) * len(_WIDTHS),
        up_block_types=("UpDecoderBlock2D",) * len(_WIDTHS),
        block_out_channels=_WIDTHS,
        layers_per_block=1,
        latent_channels=CHANNELS,
        norm_num_groups=8,
        sample_size=SIZE,
        mid_block_add_attention=False,
        # The latents are normalised in the weights, see `export`.
        scaling_factor=1.0,
    )


@torch.no_grad()
def build() -> nn.Module:
    """The model before training. Its blocks start as identities, so that it learns colours first."""
    model = autoencoder()
    for name, parameter in model.named_parameters():
        if ".conv2." in name:
            parameter.zero_()
    return AutoencoderModel(model)


@dataclass(frozen=True, slots=True)
class AutoencoderObjective:
    """L1 and L2 of the pixels in [-1, 1], and a small weight of the divergence of the latents from normal."""

    bank: Bank
    batch: int = 8

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        assert isinstance(model, AutoencoderModel)
        indices = np.sort(rng.integers(len(self.bank), size=self.batch))
        pixels = normalised(np.asarray(self.bank.pixels[indices]))
        posterior = model.autoencoder.encode(pixels).latent_dist
        model.update_statistics(posterior.mean.detach())
        noise = torch.from_numpy(rng.standard_normal(posterior.mean.shape, dtype=np.float32))
        painted = model.autoencoder.decode(posterior.mean + posterior.std * noise).sample
        scenes = (draw_scene(split=self.bank.split, index=int(index)) for index in indices)
        things = torch.from_numpy(np.stack([object_mask(scene) for scene in scenes]))[:, None]
        distance = (painted - pixels).abs() + (painted - pixels).square()
        divergence = posterior.kl().mean() / posterior.mean[0].numel()
        loss: Tensor = ((1 + _THINGS * things) * distance).mean() + _DIVERGENCE * divergence
        return loss


@torch.no_grad()
def normalise(model: AutoencoderModel) -> None:
    """Change the 1x1 convolutions around the latents so that every channel has mean 0 and deviation 1."""
    mean, deviation = model.mean, model.variance.sqrt().clamp(min=_LEAST)
    to_latents, from_latents = model.autoencoder.quant_conv, model.autoencoder.post_quant_conv
    assert to_latents is not None
    assert from_latents is not None
    to_latents.weight[:CHANNELS] /= deviation[:, None, None, None]
    to_latents.bias[:CHANNELS] = (to_latents.bias[:CHANNELS] - mean) / deviation
    to_latents.bias[CHANNELS:] -= 2 * deviation.log()
    from_latents.bias += from_latents.weight[:, :, 0, 0] @ mean
    from_latents.weight *= deviation[None, :, None, None]


def export(model: nn.Module, folder: Path) -> None:
    """Write the autoencoder with normalised latents."""
    assert isinstance(model, AutoencoderModel)
    normalise(model)
    write_config(config={"class": "AutoencoderKL"}, folder=folder)
    write_weights(model=model.autoencoder, folder=folder)
