"""Base of image experts: pixels to tensors and back, padding, and batches of one fixed size."""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from PIL import Image as PillowImage
from torch import Tensor

from evaluator.core.expert import ExpertError, ExpertSpec
from evaluator.core.values import Image, Value

Pixels = npt.NDArray[np.uint8]
Result = TypeVar("Result")


def to_tensor(*, pixels: Pixels, device: str) -> Tensor:
    """8-bit RGB of shape (batch, height, width, 3) to float32 in [0, 1] of (batch, 3, height, width)."""
    return torch.from_numpy(np.array(pixels)).to(device).permute(0, 3, 1, 2).contiguous().to(torch.float32) / 255


def to_pixels(values: Tensor) -> Pixels:
    """The inverse of `to_tensor`: clipped to [0, 1] and rounded to 8 bits."""
    levels = (values.detach().clamp(0, 1) * 255).round().to(torch.uint8)
    return np.ascontiguousarray(levels.permute(0, 2, 3, 1).cpu().numpy())


def image_of(item: Mapping[str, Value], *, name: str = "image") -> Image:
    """The image input `name`; ExpertError if it is missing or no image."""
    value = item.get(name)
    if not isinstance(value, PillowImage.Image):
        kind = "nothing" if value is None else type(value).__name__
        raise ExpertError(f'the input "{name}" must be an image, found {kind}')
    return value.convert("RGB")


def stack(images: Sequence[Image]) -> Pixels:
    """Images as an array of shape (batch, height, width, 3); ExpertError if their sizes differ."""
    sizes = {image.size for image in images}
    if len(sizes) > 1:
        raise ExpertError(f"the images of one batch must have the same size, found {sorted(sizes)}")
    return np.stack([np.asarray(image, dtype=np.uint8) for image in images])


def in_fixed_batches(*, pixels: Pixels, batch_size: int, run: Callable[[Pixels], list[Result]]) -> list[Result]:
    """Run over all items in batches of exactly `batch_size`, the last padded with copies of its first item.

    Kernels are chosen by the shape of a batch: with a constant shape, results do not depend on the number of items.
    """
    results: list[Result] = []
    for start in range(0, len(pixels), batch_size):
        chunk = pixels[start : start + batch_size]
        missing = batch_size - len(chunk)
        filled = np.concatenate([chunk, np.repeat(chunk[:1], missing, axis=0)]) if missing else chunk
        results += run(filled)[: len(chunk)]
    return results


class ImageExpert:
    """An expert from one image to one value; subclasses process a batch."""

    output: ClassVar[str] = "image"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        self.batch_size = spec.batch_size
        self._device = device

    def transform(self, pixels: Pixels) -> list[Value]:
        """The values for a batch of 8-bit images of shape (batch, height, width, 3)."""
        raise NotImplementedError

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        if not batch:
            return []
        pixels = stack([self.prepare(image_of(item)) for item in batch])
        values = in_fixed_batches(pixels=pixels, batch_size=self.batch_size, run=self.transform)
        return [{self.output: value} for value in values]

    def prepare(self, image: Image) -> Image:
        """Prepare a single image before batching. Does nothing by default."""
        return image


class RestorationExpert(ImageExpert):
    """An expert from image to image."""

    def restore(self, pixels: Pixels) -> Pixels:
        """Restored 8-bit images, shapes (batch, height, width, 3)."""
        with torch.inference_mode():
            return to_pixels(self.forward(to_tensor(pixels=pixels, device=self._device)))

    def forward(self, images: Tensor) -> Tensor:
        """Images in [0, 1] of shape (batch, 3, height, width) to restored ones."""
        raise NotImplementedError

    def transform(self, pixels: Pixels) -> list[Value]:
        return [PillowImage.fromarray(item) for item in self.restore(pixels)]


def pad_to_multiple(images: Tensor, *, multiple: int) -> Tensor:
    """Pad (batch, channels, height, width) right and below until both sides are multiples.

    By reflection, as in the released code; images that are too small repeat their edge.
    """
    height, width = images.shape[-2:]
    below, right = -height % multiple, -width % multiple
    if not below and not right:
        return images
    mode = "reflect" if below < height and right < width else "replicate"
    return F.pad(images, (0, right, 0, below), mode=mode)
