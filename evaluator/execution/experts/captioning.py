"""Image captioning with an image encoder and a text decoder."""

from typing import ClassVar

import torch
from transformers import VisionEncoderDecoderModel, ViTImageProcessorPil

from evaluator.core.expert import ExpertSpec
from evaluator.core.values import Image, Value
from evaluator.execution.experts.imaging import ImageExpert, Pixels, to_tensor
from evaluator.execution.experts.preparation import Preparation
from evaluator.execution.experts.pretrained import load_pretrained
from evaluator.execution.experts.texts import load_tokenizer, whole_number

_LONGEST = 40


class CaptioningExpert(ImageExpert):
    """Any image in, an English sentence out: the likeliest that `num_beams` beams find, one unless a profile says more.

    A sentence ends with its end token or after `max_new_tokens` of the profile's parameters.
    """

    output: ClassVar[str] = "text"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_pretrained(
            VisionEncoderDecoderModel, folder=spec.path, device=device, precision=spec.precision
        )
        self._words = load_tokenizer(spec)
        self._preparation = Preparation(
            ViTImageProcessorPil, folder=spec.path, size=int(self._model.config.encoder.image_size)
        )
        self._longest = whole_number(spec=spec, name="max_new_tokens", default=_LONGEST)
        self._beams = whole_number(spec=spec, name="num_beams", default=1)

    def prepare(self, image: Image) -> Image:
        return self._preparation.resized(image)

    def transform(self, pixels: Pixels) -> list[Value]:
        values = self._preparation.normalised(to_tensor(pixels=pixels, device=self._device))
        with torch.inference_mode():
            tokens = self._model.generate(
                pixel_values=values.to(self._model.dtype),
                do_sample=False,
                num_beams=self._beams,
                max_new_tokens=self._longest,
                pad_token_id=self._words.pad_token_id,
                eos_token_id=self._words.eos_token_id,
            )
        texts = self._words.batch_decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return [text.strip() for text in texts]
