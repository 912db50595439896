"""Reading the writing in an image: a vision encoder and a decoder that spells, as in TrOCR (Li et al., 2021)."""

from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import VisionEncoderDecoderModel

from evaluator.core.expert import ExpertSpec
from evaluator.core.values import Image, Value
from evaluator.execution.experts.imaging import ImageExpert, Pixels, to_tensor
from evaluator.execution.experts.preparation import resized
from evaluator.execution.experts.pretrained import load_pretrained
from evaluator.execution.experts.texts import load_tokenizer, whole_number

PATCH = (8, 4)
"""Height and width of a patch in pixels."""
CHANNELS = 9
"""The image and eight copies moved by a patch: letters lie across patches, so each patch sees its neighbours."""
_LUMA = (0.299, 0.587, 0.114)
_LEAST_CONTRAST = 0.02
_LONGEST = 40


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
        self._model = load_pretrained(
            VisionEncoderDecoderModel, folder=spec.path, device=device, precision=spec.precision
        )
        self._characters = load_tokenizer(spec)
        self._size = int(self._model.config.encoder.image_size)
        self._longest = whole_number(spec=spec, name="max_new_tokens", default=_LONGEST)

    def prepare(self, image: Image) -> Image:
        return resized(image, size=self._size)

    def transform(self, pixels: Pixels) -> list[Value]:
        values = letter_values(to_tensor(pixels=pixels, device=self._device))
        with torch.inference_mode():
            tokens = self._model.generate(
                pixel_values=values.to(self._model.dtype),
                do_sample=False,
                num_beams=1,
                max_new_tokens=self._longest,
                pad_token_id=self._characters.pad_token_id,
                eos_token_id=self._characters.eos_token_id,
            )
        texts = self._characters.batch_decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return [text.strip() for text in texts]
