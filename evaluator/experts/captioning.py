"""Image captioning with an image encoder and a text decoder."""

from typing import ClassVar

import torch
from transformers import AutoTokenizer, VisionEncoderDecoderModel

from evaluator.experts.classification import resized
from evaluator.experts.imaging import ImageExpert, Pixels, to_tensor
from evaluator.experts.pretrained import load_pretrained
from evaluator.experts.protocol import ExpertSpec
from evaluator.experts.registry import expert
from evaluator.values import Image, Value

_LONGEST = 40


@expert("vit-gpt2-captioner")
class CaptioningExpert(ImageExpert):
    """Any image in, an English sentence out, always the likeliest next word.

    A sentence ends with its end token or after `max_new_tokens` of the profile's parameters.
    """

    output: ClassVar[str] = "text"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_pretrained(VisionEncoderDecoderModel, folder=spec.path, device=device)
        self._words = AutoTokenizer.from_pretrained(spec.path, local_files_only=True, trust_remote_code=False)
        self._size = int(self._model.config.encoder.image_size)
        self._longest = int(spec.parameters.get("max_new_tokens", _LONGEST))  # type: ignore[call-overload]

    def prepare(self, image: Image) -> Image:
        return resized(image, size=self._size)

    def transform(self, pixels: Pixels) -> list[Value]:
        # Mean and deviation 0.5, as in nlpconnect/vit-gpt2-image-captioning.
        values = to_tensor(pixels=pixels, device=self._device) * 2 - 1
        with torch.inference_mode():
            tokens = self._model.generate(
                pixel_values=values,
                do_sample=False,
                num_beams=1,
                max_new_tokens=self._longest,
                pad_token_id=self._words.pad_token_id,
                eos_token_id=self._words.eos_token_id,
            )
        texts = self._words.batch_decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return [text.strip() for text in texts]
