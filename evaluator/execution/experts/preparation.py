"""How a model wants its images: the size they are resized to, and the normalisation of their values.

A released checkpoint says so in `preprocessor_config.json`, which its own processor class reads. A folder without that
file gets ViT's way: a square, bilinear, mean and deviation 0.5.
"""

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as PillowImage
from torch import Tensor

from evaluator.core.values import Image
from evaluator.execution.experts.weights import WeightsError

_SETTINGS = "preprocessor_config.json"


def resized(image: Image, *, size: int) -> Image:
    """The image at `size` x `size` pixels, bilinear as ViT's own processor does it."""
    if image.size == (size, size):
        return image
    return image.resize((size, size), PillowImage.Resampling.BILINEAR)


class Preparation:
    """Resizes single images and normalises batches of them as one checkpoint asks for."""

    def __init__(self, processor_class: Any, *, folder: Path, size: int, normalises: bool = True) -> None:
        """Read the folder's settings.

        Args:
            processor_class: one of the processors of `transformers` that need no torchvision.
            folder: of the weights.
            size: of the square, for folders without settings.
            normalises: for those too: whether values in [0, 1] are mapped to [-1, 1].

        Raises:
            WeightsError: the settings cannot be read.
        """
        self._size = size
        self._normalises = normalises
        self._processor: Any = None
        if (folder / _SETTINGS).is_file():
            try:
                self._processor = processor_class.from_pretrained(folder, local_files_only=True)
            except (ValueError, TypeError, KeyError) as error:
                raise WeightsError(f"{folder / _SETTINGS} cannot be read: {error}") from error

    def resized(self, image: Image) -> Image:
        """An 8-bit image of any size at the size that the model wants."""
        if self._processor is None:
            return resized(image, size=self._size)
        # Rescaling and normalising wait for the batch, so that images stay comparable and small until then.
        settings = {"do_rescale": False, "do_normalize": False, "return_tensors": "np"}
        (values,) = self._processor(images=image.convert("RGB"), input_data_format="channels_last", **settings)[
            "pixel_values"
        ]
        return PillowImage.fromarray(np.ascontiguousarray(values.transpose(1, 2, 0)).astype(np.uint8))

    def normalised(self, values: Tensor) -> Tensor:
        """Float32 in [0, 1] of shape (batch, 3, height, width) as the model wants them."""
        if self._processor is None:
            return values * 2 - 1 if self._normalises else values
        if not self._processor.do_rescale:
            values = values * 255
        elif self._processor.rescale_factor != 1 / 255:
            values = values * (255 * self._processor.rescale_factor)
        if not self._processor.do_normalize:
            return values
        mean = values.new_tensor(self._processor.image_mean)[:, None, None]
        deviation = values.new_tensor(self._processor.image_std)[:, None, None]
        return (values - mean) / deviation
