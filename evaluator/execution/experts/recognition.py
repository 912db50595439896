"""Experts from an image to text: classes with a Vision Transformer, captions, and character recognition."""

from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import VisionEncoderDecoderModel, ViTForImageClassification, ViTImageProcessorPil

from evaluator.core.expert import ExpertSpec
from evaluator.core.values import Image, Label, Labels, Value
from evaluator.execution.experts.imaging import ImageExpert, Pixels, to_tensor
from evaluator.execution.experts.inputs import number, whole_number
from evaluator.execution.experts.pretrained import Preparation, load_model, resized
from evaluator.execution.experts.texts import generate_texts, load_tokenizer


class ViTClassifierExpert(ImageExpert):
    """From an image to the name of its most likely class."""

    output: ClassVar[str] = "text"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_model(ViTForImageClassification, spec=spec, device=device)
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
        """The value for an image with these logits, shape (classes,)."""
        return self._names[int(logits.argmax())]


class ViTLabelsExpert(ViTClassifierExpert):
    """From an image to the names of its likely classes: at least one, and all with the probability `least` or more.

    With the parameter `most`, always that many.
    """

    output: ClassVar[str] = "category"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._least = number(spec=spec, name="least", default=0.5)
        self._most = whole_number(spec=spec, name="most", default=0)

    def choose(self, logits: Tensor) -> Value:
        scores = logits.softmax(dim=-1)
        ranked = scores.argsort(descending=True).tolist()
        likely = [index for index in ranked if scores[index] >= self._least] or ranked[:1]
        likely = ranked[: self._most] if self._most else likely
        return Labels(tuple(Label(self._names[index], round(float(scores[index]), 3)) for index in likely))


_LONGEST = 40


class CaptioningExpert(ImageExpert):
    """From an image to an English sentence of at most `max_new_tokens`, by beam search with `num_beams` beams (default
    1)."""

    output: ClassVar[str] = "text"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_model(VisionEncoderDecoderModel, spec=spec, device=device)
        self._tokenizer = load_tokenizer(spec)
        self._preparation = Preparation(
            ViTImageProcessorPil, folder=spec.path, size=int(self._model.config.encoder.image_size)
        )
        self._longest = whole_number(spec=spec, name="max_new_tokens", default=_LONGEST)
        self._beams = whole_number(spec=spec, name="num_beams", default=1)

    def prepare(self, image: Image) -> Image:
        return self._preparation.resized(image)

    def transform(self, pixels: Pixels) -> list[Value]:
        values = self._preparation.normalised(to_tensor(pixels=pixels, device=self._device))
        settings = {"longest": self._longest, "beams": self._beams}
        return [*generate_texts(self._model, tokenizer=self._tokenizer, pixels=values, **settings)]


PATCH = (8, 4)
"""Height and width of a patch in pixels."""
CHANNELS = 9
"""The image and eight copies shifted by a patch: letters extend across patches, so each patch sees its neighbours."""
_LUMA = (0.299, 0.587, 0.114)
_LEAST_CONTRAST = 0.02


def letter_values(images: Tensor) -> Tensor:
    """The encoder's input, (batch, 9, height, width), from images in [0, 1] of shape (batch, 3, height, width).

    Brightness without colour, normalized by mean and standard deviation of the image.
    """
    luma = (images * images.new_tensor(_LUMA)[:, None, None]).sum(dim=1, keepdim=True)
    mean = luma.mean(dim=(2, 3), keepdim=True)
    deviation = luma.std(dim=(2, 3), keepdim=True).clamp_min(_LEAST_CONTRAST)
    down, across = PATCH
    height, width = luma.shape[2:]
    padded = F.pad((luma - mean) / deviation, (across, across, down, down), mode="replicate")
    moved = [
        padded[:, :, row * down : row * down + height, column * across : column * across + width]
        for row in range(3)
        for column in range(3)
    ]
    return torch.cat(moved, dim=1)


class CharacterRecognitionExpert(ImageExpert):
    """From an image to its text: the words from top to bottom, separated by spaces, of at most `max_new_tokens`."""

    output: ClassVar[str] = "text"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_model(VisionEncoderDecoderModel, spec=spec, device=device)
        self._tokenizer = load_tokenizer(spec)
        self._size = int(self._model.config.encoder.image_size)
        self._longest = whole_number(spec=spec, name="max_new_tokens", default=_LONGEST)

    def prepare(self, image: Image) -> Image:
        return resized(image, size=self._size)

    def transform(self, pixels: Pixels) -> list[Value]:
        values = letter_values(to_tensor(pixels=pixels, device=self._device))
        return [*generate_texts(self._model, tokenizer=self._tokenizer, pixels=values, longest=self._longest)]
