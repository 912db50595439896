"""Maps with released models: depth and normals with a DPT, edges and scribbles with ControlNet's annotator.

`ControlNetHED` has five blocks of convolutions at decreasing resolutions, each with an edge map; their mean is the map.
"""

import json
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from PIL import Image as PillowImage
from scipy import ndimage
from torch import Tensor, nn
from transformers import DPTForDepthEstimation, DPTImageProcessorPil

from evaluator.core.expert import ExpertSpec
from evaluator.core.values import Image
from evaluator.execution.experts.imaging import Pixels, to_tensor
from evaluator.execution.experts.inputs import whole_number
from evaluator.execution.experts.maps import GreyMapExpert, MapExpert
from evaluator.execution.experts.pretrained import Preparation, load_model, load_state, network_key, shared

Depths = npt.NDArray[np.float32]
"""Nearness in the model's unit, shape (height, width)."""
_FAR = 0.4
"""Share of the range of nearness below which a pixel is background, without slope."""
_FACING = 2 * np.pi
"""Component of a normal towards the camera, relative to its slopes."""


class _ReleasedDpt(MapExpert[Depths]):
    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model: Any = load_model(DPTForDepthEstimation, spec=spec, device=device)
        self._preparation = Preparation(
            DPTImageProcessorPil, folder=spec.path, size=int(self._model.config.image_size or 384)
        )

    def prepare(self, image: Image) -> Image:
        return self._preparation.resized(image)

    def nearness(self, pixels: Pixels) -> Tensor:
        """Float32 of shape (batch, height, width)."""
        with torch.inference_mode():
            values = self._preparation.normalised(to_tensor(pixels=pixels, device=self._device))
            depth: Tensor = self._model(pixel_values=values.to(self._model.dtype)).predicted_depth
        return depth.float().cpu()


class ReleasedDepthExpert(_ReleasedDpt, GreyMapExpert):
    """From an image to a grey map: the nearest pixel is white, infinity is black."""

    output = "depth"

    def find(self, pixels: Pixels) -> list[Depths]:
        nearness = self.nearness(pixels).clamp(min=0)
        most = nearness.flatten(1).max(dim=1).values.clamp(min=torch.finfo(torch.float32).tiny)
        return list((nearness / most[:, None, None]).numpy())


class ReleasedNormalExpert(_ReleasedDpt):
    """From an image to a map of surface normals: Sobel slopes of the nearness, zero in the background."""

    output = "normal"

    def find(self, pixels: Pixels) -> list[Depths]:
        return list(self.nearness(pixels).numpy())

    def draw(self, *, finding: Depths, size: tuple[int, int]) -> Image:
        return PillowImage.fromarray(normals_of(finding)).resize(size, PillowImage.Resampling.BICUBIC)


def normals_of(nearness: Depths) -> Pixels:
    """Normals as 8-bit colours of shape (height, width, 3): x in red, y in green, towards the camera in blue."""
    least, most = float(nearness.min()), float(nearness.max())
    far = (nearness - least) < _FAR * (most - least)
    slopes = [ndimage.sobel(nearness.astype(np.float64), axis=axis, mode="mirror") for axis in (1, 0)]
    x, y = (np.where(far, 0.0, slope) for slope in slopes)
    vectors = np.stack([x, y, np.full_like(x, _FACING)], axis=-1)
    vectors /= np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.clip(vectors * 127.5 + 127.5, 0, 255).astype(np.uint8)


_MULTIPLE = 64
_DEPTHS = (2, 2, 3, 3, 3)
_THINNED = 127 / 255
"""Level above which a ridge of a smoothed map is a stroke."""
_SPREAD = 3.0
"""Deviation of the Gaussians before and after ridge detection, in pixels."""
_DRAWN = 4 / 255
"""Level above which a pixel near a stroke is white."""


class _Block(nn.Module):
    """Convolutions and an edge map, with the parameter names of the released file."""

    def __init__(self, *, before: int, width: int, depth: int) -> None:
        super().__init__()
        widths = [before, *[width] * depth]
        self.convs = nn.Sequential(*(nn.Conv2d(first, second, 3, padding=1) for first, second in pairwise(widths)))
        self.projection = nn.Conv2d(width, 1, 1)

    def forward(self, values: Tensor) -> Tensor:
        for convolution in self.convs:
            values = torch.relu(convolution(values))
        return values


class EdgeAnnotator(nn.Module):
    """Images in [0, 255] of shape (batch, 3, height, width) in, edges in [0, 1] of (batch, height, width) out."""

    def __init__(self, widths: tuple[int, ...]) -> None:
        super().__init__()
        self.norm = nn.Parameter(torch.zeros(1, 3, 1, 1))
        for k, (before, width, depth) in enumerate(zip((3, *widths), widths, _DEPTHS, strict=False), start=1):
            self.add_module(f"block{k}", _Block(before=before, width=width, depth=depth))

    def forward(self, images: Tensor) -> Tensor:
        values, maps = (images - self.norm.float()).to(self.norm.dtype), []
        for k in range(1, len(_DEPTHS) + 1):
            block = self.get_submodule(f"block{k}")
            assert isinstance(block, _Block)
            values = block(values if k == 1 else F.max_pool2d(values, 2))
            side = block.projection(values).float()
            maps.append(F.interpolate(side, size=images.shape[-2:], mode="bilinear", align_corners=False))
        return torch.cat(maps, dim=1).mean(dim=1).sigmoid()


class AnnotatedEdgeExpert(GreyMapExpert):
    """From an image to its soft edges, white on black.

    For the network, the image is resized to the shorter side `size`, rounded to multiples of 64.
    """

    output = "hed"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        stored = json.loads((spec.path / "config.json").read_text(encoding="utf-8"))

        def load() -> EdgeAnnotator:
            model = EdgeAnnotator(tuple(stored["widths"]))
            load_state(model, folder=spec.path, device=device, precision=spec.precision)
            return model

        self._model: EdgeAnnotator = shared(network_key(EdgeAnnotator, spec=spec, device=device), load=load)
        self._side = whole_number(spec=spec, name="size", default=512)

    def prepare(self, image: Image) -> Image:
        scale = self._side / min(image.size)
        width, height = (max(round(side * scale / _MULTIPLE), 1) * _MULTIPLE for side in image.size)
        # Limits the size of narrow strips.
        return image.resize((min(width, 4 * self._side), min(height, 4 * self._side)))

    def find(self, pixels: Pixels) -> list[npt.NDArray[np.float32]]:
        with torch.inference_mode():
            return list(self._model(to_tensor(pixels=pixels, device=self._device) * 255).cpu().numpy())


class AnnotatedScribbleExpert(AnnotatedEdgeExpert):
    """From an image to thick strokes along the ridges of its soft edges, white on black."""

    output = "scribble"

    def find(self, pixels: Pixels) -> list[npt.NDArray[np.float32]]:
        return [scribble_of(edges) for edges in super().find(pixels)]


def scribble_of(edges: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Strokes, 0 or 1, along the ridges of soft edges in [0, 1]; both of shape (height, width)."""
    smooth = ndimage.gaussian_filter(edges, _SPREAD)
    directions = (np.eye(3), np.eye(3)[::-1], np.eye(3)[[1]].repeat(3, axis=0), np.eye(3)[[1]].repeat(3, axis=0).T)
    ridges = np.zeros(edges.shape, dtype=np.bool_)
    for direction in directions:
        ridges |= ndimage.grey_dilation(smooth, footprint=direction.astype(np.bool_)) == smooth
    strokes = (ridges & (smooth > _THINNED)).astype(np.float32)
    return np.asarray(ndimage.gaussian_filter(strokes, _SPREAD) > _DRAWN, dtype=np.float32)
