"""Experts that restore images: super resolution, denoising, deblurring, colorization."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from PIL import Image as PillowImage
from torch import Tensor
from transformers import Swin2SRForImageSuperResolution

from evaluator.core.expert import ExpertSpec
from evaluator.execution.experts.colorizer import Colorizer, ColorizerConfig, colorize, colorize_resized, stretched
from evaluator.execution.experts.imaging import Pixels, RestorationExpert, pad_to_multiple, stack, to_pixels, to_tensor
from evaluator.execution.experts.inputs import whole_number
from evaluator.execution.experts.pretrained import load_model, load_state
from evaluator.execution.experts.restormer import Restormer, RestormerConfig


def _settings(*, folder: Path, known: type) -> dict[str, Any]:
    """The entries of `config.json` that the dataclass `known` has; lists become tuples."""
    names = {field.name for field in fields(known)}
    stored = json.loads((folder / "config.json").read_text())
    return {k: tuple(v) if isinstance(v, list) else v for k, v in stored.items() if k in names}


def load_restormer(*, folder: Path, device: str, precision: str = "float32") -> Restormer:
    """A Restormer with its weights."""
    model = Restormer(RestormerConfig(**_settings(folder=folder, known=RestormerConfig)))
    load_state(model, folder=folder, device=device, precision=precision)
    return model


def load_colorizer(*, folder: Path, device: str, precision: str = "float32") -> Colorizer:
    """A colorizer with its weights."""
    model = Colorizer(ColorizerConfig(**_settings(folder=folder, known=ColorizerConfig)))
    load_state(model, folder=folder, device=device, precision=precision, unused=("model_class.",))
    return model


class Swin2SRExpert(RestorationExpert):
    """Super resolution: (batch, 3, h, w) to (batch, 3, scale * h, scale * w), whatever the size."""

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_model(Swin2SRForImageSuperResolution, spec=spec, device=device)
        self._window = int(self._model.config.window_size)
        self._scale = int(self._model.config.upscale)

    def forward(self, images: Tensor) -> Tensor:
        height, width = images.shape[-2:]
        padded = pad_to_multiple(images, multiple=self._window)
        enlarged: Tensor = self._model(pixel_values=padded.to(self._model.dtype)).reconstruction
        return enlarged.float()[..., : height * self._scale, : width * self._scale]


class RestormerExpert(RestorationExpert):
    """Denoising or deblurring, which of the two depends on the weights; the size is kept."""

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_restormer(folder=spec.path, device=device, precision=spec.precision)

    def forward(self, images: Tensor) -> Tensor:
        restored: Tensor = self._model(images)
        return restored


class ColorizerExpert(RestorationExpert):
    """Colorization: keeps the lightness of an image and replaces its colours; the size is kept.

    With the parameter `size` the network sees a square of so many pixels, a multiple of 8, and its colours are brought
    to the image's size; without it it sees the image. With `stretches` the values of each image are stretched to the
    whole range and rounded down. Released code does both.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_colorizer(folder=spec.path, device=device, precision=spec.precision)
        self._side = whole_number(spec=spec, name="size", default=0)
        self._stretches = bool(spec.parameters.get("stretches", False))

    def restore(self, pixels: Pixels) -> Pixels:
        with torch.inference_mode():
            coloured = self._coloured(pixels)
            return to_pixels((stretched(coloured) * 255).floor() / 255 if self._stretches else coloured)

    def forward(self, images: Tensor) -> Tensor:
        return colorize(self._model, images)

    def _coloured(self, pixels: Pixels) -> Tensor:
        """Images in [0, 1] of shape (batch, 3, height, width) from 8-bit ones of (batch, height, width, 3)."""
        images = to_tensor(pixels=pixels, device=self._device)
        if not self._side:
            return self.forward(images)
        side = (self._side, self._side)
        small = [PillowImage.fromarray(item).resize(side, PillowImage.Resampling.BICUBIC) for item in pixels]
        return colorize_resized(self._model, images, resized=to_tensor(pixels=stack(small), device=self._device))
