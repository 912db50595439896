"""Experts that restore images: super resolution, denoising, deblurring, colorization."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

from torch import Tensor
from transformers import Swin2SRForImageSuperResolution

from evaluator.experts.colorizer import Colorizer, ColorizerConfig, colorize
from evaluator.experts.imaging import RestorationExpert
from evaluator.experts.padding import pad_to_multiple
from evaluator.experts.pretrained import load_pretrained, load_state
from evaluator.experts.protocol import ExpertSpec
from evaluator.experts.restormer import Restormer, RestormerConfig


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
        self._model = load_pretrained(
            Swin2SRForImageSuperResolution, folder=spec.path, device=device, precision=spec.precision
        )
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
    """Colorization: keeps the lightness of an image and replaces its colours; the size is kept."""

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_colorizer(folder=spec.path, device=device, precision=spec.precision)

    def forward(self, images: Tensor) -> Tensor:
        return colorize(self._model, images)
