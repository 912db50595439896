"""Image classification with a Vision Transformer."""

from typing import ClassVar

import torch
from transformers import ViTForImageClassification, ViTImageProcessorPil

from evaluator.experts.imaging import ImageExpert, Pixels, to_tensor
from evaluator.experts.preparation import Preparation
from evaluator.experts.pretrained import load_pretrained
from evaluator.experts.protocol import ExpertSpec
from evaluator.values import Image, Value


class ViTClassifierExpert(ImageExpert):
    """Any image in, the name of its most likely class out."""

    output: ClassVar[str] = "text"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_pretrained(
            ViTForImageClassification, folder=spec.path, device=device, precision=spec.precision
        )
        self._preparation = Preparation(ViTImageProcessorPil, folder=spec.path, size=int(self._model.config.image_size))
        self._names: dict[int, str] = {int(k): str(v) for k, v in self._model.config.id2label.items()}

    def prepare(self, image: Image) -> Image:
        return self._preparation.resized(image)

    def transform(self, pixels: Pixels) -> list[Value]:
        with torch.inference_mode():
            values = self._preparation.normalised(to_tensor(pixels=pixels, device=self._device))
            best = self._model(pixel_values=values.to(self._model.dtype)).logits.argmax(dim=-1).tolist()
        return [self._names[index] for index in best]
