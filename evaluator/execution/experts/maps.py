"""Experts from an image to a map of its size: depth, normals, soft edges.

Soft edges follow Xie and Tu, "Holistically-Nested Edge Detection" (ICCV 2015): convolutions at several scales, each
with an edge map as its side output; a last convolution fuses them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image as PillowImage
from scipy import ndimage
from torch import Tensor, nn
from torch.nn import functional
from transformers import DPTForDepthEstimation, ViTImageProcessorPil

from evaluator.core.expert import ExpertSpec
from evaluator.core.values import Image, Value
from evaluator.execution.experts.imaging import Pixels, image_of, in_fixed_batches, pad_to_multiple, stack, to_tensor
from evaluator.execution.experts.inputs import number, whole_number
from evaluator.execution.experts.pretrained import Preparation, load_model, load_state, resized
from evaluator.miniature.pictures.maps import normal_map
from evaluator.miniature.pictures.strokes import levelled


@dataclass(frozen=True, slots=True)
class EdgeConfig:
    """Widths of the network; the defaults are the paper's, those of VGG16 (15 million parameters)."""

    widths: tuple[int, ...] = (64, 128, 256, 512, 512)
    """Channels of each scale; every scale halves the resolution."""
    depths: tuple[int, ...] = (2, 2, 3, 3, 3)
    """Convolutions of each scale."""


class EdgeNetwork(nn.Module):
    """Images in [-1, 1] of shape (batch, 3, height, width) in, logits of edges out.

    Logits have the shape (batch, 1 + scales, height, width): the fused map, then the side outputs from fine to coarse.
    """

    def __init__(self, config: EdgeConfig) -> None:
        super().__init__()
        before = 3
        blocks, sides = [], []
        for width, depth in zip(config.widths, config.depths, strict=True):
            layers: list[nn.Module] = []
            for _ in range(depth):
                layers += [nn.Conv2d(before, width, 3, padding=1), nn.ReLU()]
                before = width
            blocks.append(nn.Sequential(*layers))
            sides.append(nn.Conv2d(width, 1, 1))
        self.blocks = nn.ModuleList(blocks)
        self.sides = nn.ModuleList(sides)
        self.fuse = nn.Conv2d(len(sides), 1, 1)

    def forward(self, images: Tensor) -> Tensor:
        height, width = images.shape[-2:]
        values = pad_to_multiple(images, multiple=2 ** (len(self.blocks) - 1)).to(self.fuse.weight.dtype)
        size = values.shape[-2:]
        maps = []
        for index, (block, side) in enumerate(zip(self.blocks, self.sides, strict=True)):
            values = block(functional.max_pool2d(values, 2) if index else values)
            maps.append(functional.interpolate(side(values), size=size, mode="bilinear", align_corners=False))
        outputs = torch.cat(maps, dim=1)
        return torch.cat([self.fuse(outputs), outputs], dim=1)[..., :height, :width]


Finding = TypeVar("Finding")


class MapExpert(Generic[Finding]):
    """An expert from one image to a picture of the same size; subclasses compute findings and draw them."""

    output = "map"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        self.batch_size = spec.batch_size
        self._device = device

    def prepare(self, image: Image) -> Image:
        """The image at the model's size."""
        raise NotImplementedError

    def find(self, pixels: Pixels) -> list[Finding]:
        """The findings in a batch of 8-bit images of shape (batch, height, width, 3)."""
        raise NotImplementedError

    def draw(self, *, finding: Finding, size: tuple[int, int]) -> Image:
        """The finding as an RGB picture of this width and height."""
        raise NotImplementedError

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        if not batch:
            return []
        images = [image_of(item) for item in batch]
        pixels = stack([self.prepare(image) for image in images])
        findings = in_fixed_batches(pixels=pixels, batch_size=self.batch_size, run=self.find)
        return [
            {self.output: self.draw(finding=finding, size=image.size)}
            for finding, image in zip(findings, images, strict=True)
        ]


class GreyMapExpert(MapExpert[npt.NDArray[np.float32]]):
    """An expert with a number in [0, 1] for each pixel, shape (height, width): 0 is black, 1 is white."""

    def draw(self, *, finding: npt.NDArray[np.float32], size: tuple[int, int]) -> Image:
        levels = np.clip(np.rint(finding * 255), 0, 255).astype(np.uint8)
        grey = PillowImage.fromarray(levels)
        return (grey if grey.size == size else grey.resize(size, PillowImage.Resampling.BILINEAR)).convert("RGB")


class DepthExpert(GreyMapExpert):
    """From an image to a grey map: white is near, black is far.

    With the parameter `region_scale`, nearness is levelled within the regions of the image (`pictures.strokes`), which
    moves the steps of a soft estimate to the borders of flat things.
    """

    output = "depth"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_model(DPTForDepthEstimation, spec=spec, device=device)
        self._preparation = Preparation(ViTImageProcessorPil, folder=spec.path, size=int(self._model.config.image_size))
        self._region_scale = number(spec=spec, name="region_scale", default=0.0)

    def prepare(self, image: Image) -> Image:
        return self._preparation.resized(image)

    def find(self, pixels: Pixels) -> list[npt.NDArray[np.float32]]:
        with torch.inference_mode():
            values = self._preparation.normalised(to_tensor(pixels=pixels, device=self._device))
            nearness = self._model(pixel_values=values.to(self._model.dtype)).predicted_depth
        maps = list(nearness.float().cpu().numpy())
        if not self._region_scale:
            return maps
        return [
            levelled(depth, pixels=image, scale=self._region_scale) for depth, image in zip(maps, pixels, strict=True)
        ]


class NormalExpert(DepthExpert):
    """From an image to a map of surface normals: the gradients of the estimated nearness; flat is (128, 128, 255).

    A 3x3 median filter first removes ripples that gradients would amplify.
    """

    output = "normal"

    def draw(self, *, finding: npt.NDArray[np.float32], size: tuple[int, int]) -> Image:
        picture = PillowImage.fromarray(normal_map(ndimage.median_filter(finding, size=3)))
        return picture if picture.size == size else picture.resize(size, PillowImage.Resampling.BILINEAR)


def load_edge_network(*, folder: Path, device: str, precision: str = "float32") -> EdgeNetwork:
    stored = json.loads((folder / "config.json").read_text())
    model = EdgeNetwork(EdgeConfig(widths=tuple(stored["widths"]), depths=tuple(stored["depths"])))
    load_state(model, folder=folder, device=device, precision=precision)
    return model


class SoftEdgeExpert(GreyMapExpert):
    """From an image to its soft edges, white on black.

    With the parameter `size`, the network sees a square of that size, otherwise the original image.
    """

    output = "hed"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_edge_network(folder=spec.path, device=device, precision=spec.precision)
        self._side = whole_number(spec=spec, name="size", default=0)

    def prepare(self, image: Image) -> Image:
        return resized(image, size=self._side) if self._side else image

    def find(self, pixels: Pixels) -> list[npt.NDArray[np.float32]]:
        with torch.inference_mode():
            logits = self._model(to_tensor(pixels=pixels, device=self._device) * 2 - 1)
            return list(logits[:, 0].float().sigmoid().cpu().numpy())
