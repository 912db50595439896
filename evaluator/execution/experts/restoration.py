"""Image restoration experts: super resolution, denoising, deblurring, colorization."""

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
    """The fields of the dataclass `known` in `config.json`, with lists as tuples."""
    names = {field.name for field in fields(known)}
    stored = json.loads((folder / "config.json").read_text())
    return {k: tuple(v) if isinstance(v, list) else v for k, v in stored.items() if k in names}


def load_restormer(*, folder: Path, device: str, precision: str = "float32") -> Restormer:
    model = Restormer(RestormerConfig(**_settings(folder=folder, known=RestormerConfig)))
    load_state(model, folder=folder, device=device, precision=precision)
    return model


def load_colorizer(*, folder: Path, device: str, precision: str = "float32") -> Colorizer:
    model = Colorizer(ColorizerConfig(**_settings(folder=folder, known=ColorizerConfig)))
    load_state(model, folder=folder, device=device, precision=precision, unused=("model_class.",))
    return model


class Swin2SRExpert(RestorationExpert):
    """Super resolution: (batch, 3, h, w) to (batch, 3, scale * h, scale * w), any size."""

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
    """Denoising or deblurring, depending on the weights; keeps the size."""

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_restormer(folder=spec.path, device=device, precision=spec.precision)

    def forward(self, images: Tensor) -> Tensor:
        restored: Tensor = self._model(images)
        return restored


class ColorizerExpert(RestorationExpert):
    """Colorization: replaces the colours of an image; keeps its lightness and size.

    With the parameter `size`, a multiple of 8, the network sees a square of that size, and its colours are resized to
    the image. With `stretches`, the values of each image are stretched to the whole range and rounded down. The
    released code does both.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_colorizer(folder=spec.path, device=device, precision=spec.precision)
        self._side = whole_number(spec=spec, name="size", default=0)
        self._stretches = bool(spec.parameters.get("stretches", False))

    def restore(self, pixels: Pixels) -> Pixels:
        images = to_tensor(pixels=pixels, device=self._device)
        with torch.inference_mode():
            if self._side:
                side = (self._side, self._side)
                small = [PillowImage.fromarray(item).resize(side, PillowImage.Resampling.BICUBIC) for item in pixels]
                reduced = to_tensor(pixels=stack(small), device=self._device)
                coloured = colorize_resized(self._model, images, resized=reduced)
            else:
                coloured = self.forward(images)
            return to_pixels((stretched(coloured) * 255).floor() / 255 if self._stretches else coloured)

    def forward(self, images: Tensor) -> Tensor:
        return colorize(self._model, images)
