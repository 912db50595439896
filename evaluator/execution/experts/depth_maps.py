"""Maps of depth and of surface normals with a released DPT."""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image as PillowImage
from scipy import ndimage
from torch import Tensor
from transformers import DPTForDepthEstimation, DPTImageProcessorPil

from evaluator.core.expert import ExpertSpec
from evaluator.core.values import Image
from evaluator.execution.experts.imaging import Pixels, to_tensor
from evaluator.execution.experts.maps import GreyMapExpert, MapExpert
from evaluator.execution.experts.preparation import Preparation
from evaluator.execution.experts.pretrained import load_pretrained

Depths = npt.NDArray[np.float32]
"""Nearness in the model's own unit, shape (height, width)."""
_FAR = 0.4
"""Share of the range of nearness below which a pixel is background, which has no slope."""
_FACING = 2 * np.pi
"""Length of a normal's part towards the camera, beside its slopes."""


class _Estimator:
    """A DPT with its preparation."""

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        self._device = device
        self._model: Any = load_pretrained(
            DPTForDepthEstimation, folder=spec.path, device=device, precision=spec.precision
        )
        self._preparation = Preparation(
            DPTImageProcessorPil, folder=spec.path, size=int(self._model.config.image_size or 384)
        )
        self.prepare = self._preparation.resized

    def nearness(self, pixels: Pixels) -> Tensor:
        """Float32 of shape (batch, height, width)."""
        with torch.inference_mode():
            values = self._preparation.normalised(to_tensor(pixels=pixels, device=self._device))
            found: Tensor = self._model(pixel_values=values.to(self._model.dtype)).predicted_depth
        return found.float().cpu()


class ReleasedDepthExpert(GreyMapExpert):
    """Any image in, a grey map out: white is what is nearest in it, black what is infinitely far away."""

    output = "depth"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._estimator = _Estimator(spec=spec, device=device)
        self._model = self._estimator._model

    def prepare(self, image: Image) -> Image:
        return self._estimator.prepare(image)

    def find(self, pixels: Pixels) -> list[Depths]:
        found = self._estimator.nearness(pixels).clamp(min=0)
        most = found.flatten(1).max(dim=1).values.clamp(min=torch.finfo(torch.float32).tiny)
        return list((found / most[:, None, None]).numpy())


class ReleasedNormalExpert(MapExpert[Depths]):
    """Any image in, a map of surface normals out: Sobel's slopes of the nearness, none in the background."""

    output = "normal"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._estimator = _Estimator(spec=spec, device=device)
        self._model = self._estimator._model

    def prepare(self, image: Image) -> Image:
        return self._estimator.prepare(image)

    def find(self, pixels: Pixels) -> list[Depths]:
        return list(self._estimator.nearness(pixels).numpy())

    def draw(self, *, found: Depths, size: tuple[int, int]) -> Image:
        return PillowImage.fromarray(normals_of(found)).resize(size, PillowImage.Resampling.BICUBIC)


def normals_of(nearness: Depths) -> Pixels:
    """Normals as 8-bit colours of shape (height, width, 3): x in red, y in green, towards the camera in blue."""
    least, most = float(nearness.min()), float(nearness.max())
    far = (nearness - least) < _FAR * (most - least)
    slopes = [ndimage.sobel(nearness.astype(np.float64), axis=axis, mode="mirror") for axis in (1, 0)]
    x, y = (np.where(far, 0.0, slope) for slope in slopes)
    vectors = np.stack([x, y, np.full_like(x, _FACING)], axis=-1)
    vectors /= np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.clip(vectors * 127.5 + 127.5, 0, 255).astype(np.uint8)
