"""From an image to words: classes with a Vision Transformer, captions, and its writing."""

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
    """Any image in, the name of its most likely class out."""

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
        """What is said of an image with these logits, shape (classes,)."""
        return self._names[int(logits.argmax())]


class ViTLabelsExpert(ViTClassifierExpert):
    """Any image in, the names of its likely classes out: those of at least the parameter `least`, at any rate one.

    With the parameter `most` there are so many, however unlikely they are.
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
    """Any image in, an English sentence out: the likeliest that `num_beams` beams find, one unless a profile says more.

    A sentence ends with its end token or after `max_new_tokens` of the profile's parameters.
    """

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
"""The image and eight copies moved by a patch: letters lie across patches, so each patch sees its neighbours."""
_LUMA = (0.299, 0.587, 0.114)
_LEAST_CONTRAST = 0.02


def letter_values(images: Tensor) -> Tensor:
    """Images in [0, 1] of shape (batch, 3, height, width) as the encoder sees them: (batch, 9, height, width).

    Colours are left away, brightness is counted in deviations from its mean over the image.
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
    """Any image in, its writing out: the words from top to bottom with a space between them.

    A text ends with its end token or after `max_new_tokens` of the profile's parameters.
    """

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
