"""Image classification with a Vision Transformer."""

from typing import ClassVar

import torch
from torch import Tensor
from transformers import ViTForImageClassification, ViTImageProcessorPil

from evaluator.core.expert import ExpertSpec
from evaluator.core.values import Image, Label, Labels, Value
from evaluator.execution.experts.imaging import ImageExpert, Pixels, to_tensor
from evaluator.execution.experts.preparation import Preparation
from evaluator.execution.experts.pretrained import load_pretrained
from evaluator.execution.experts.texts import whole_number


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
            logits = self._model(pixel_values=values.to(self._model.dtype)).logits.float().cpu()
        return [self.choose(row) for row in logits]

    def choose(self, logits: Tensor) -> Value:
        """What is said of an image with these logits, shape (classes,)."""
        return self._names[int(logits.argmax())]


class ViTLabelsExpert(ViTClassifierExpert):
    """Any image in, the names of its likely classes out: those of at least the parameter `least`, at any rate one.

    With the parameter `most` there are so many, however unlikely they are.
    """

    output: ClassVar[str] = "category"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._least = float(str(spec.parameters.get("least", 0.5)))
        self._most = whole_number(spec=spec, name="most", default=0)

    def choose(self, logits: Tensor) -> Value:
        scores = logits.softmax(dim=-1)
        ranked = scores.argsort(descending=True).tolist()
        likely = [index for index in ranked if scores[index] >= self._least] or ranked[:1]
        likely = ranked[: self._most] if self._most else likely
        return Labels(tuple(Label(self._names[index], round(float(scores[index]), 3)) for index in likely))
