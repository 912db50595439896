"""Image classification with a Vision Transformer."""

from typing import ClassVar

import torch
from PIL import Image as PillowImage
from transformers import ViTForImageClassification

from evaluator.experts.imaging import ImageExpert, Pixels, to_tensor
from evaluator.experts.pretrained import load_pretrained
from evaluator.experts.protocol import ExpertSpec
from evaluator.experts.registry import expert
from evaluator.values import Image, Value


def resized(image: Image, *, size: int) -> Image:
    """The image at `size` x `size` pixels, bilinear as ViT's own processor does it."""
    if image.size == (size, size):
        return image
    return image.resize((size, size), PillowImage.Resampling.BILINEAR)


@expert("vit-classifier")
class ViTClassifierExpert(ImageExpert):
    """Any image in, the name of its most likely class out."""

    output: ClassVar[str] = "text"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_pretrained(ViTForImageClassification, folder=spec.path, device=device)
        self._size = int(self._model.config.image_size)
        self._names: dict[int, str] = {int(k): str(v) for k, v in self._model.config.id2label.items()}

    def prepare(self, image: Image) -> Image:
        return resized(image, size=self._size)

    def transform(self, pixels: Pixels) -> list[Value]:
        with torch.inference_mode():
            # Mean and deviation 0.5, as in google/vit-base-patch16-224.
            values = to_tensor(pixels=pixels, device=self._device) * 2 - 1
            best = self._model(pixel_values=values).logits.argmax(dim=-1).tolist()
        return [self._names[index] for index in best]
