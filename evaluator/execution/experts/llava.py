"""Visual questions and captions with a LLaVA."""

from collections.abc import Mapping, Sequence

import torch
from PIL import Image as PillowImage
from transformers import CLIPImageProcessorPil, LlavaForConditionalGeneration

from evaluator.core.expert import ExpertSpec
from evaluator.core.values import Image, Value
from evaluator.execution.experts.imaging import image_of
from evaluator.execution.experts.pretrained import load_pretrained
from evaluator.execution.experts.texts import load_tokenizer, text_of, whole_number

_PROMPT = (
    "A chat between a curious human and an artificial intelligence assistant. The assistant gives helpful, detailed, "
    "and polite answers to the human's questions. USER: <image>\n{} ASSISTANT:"
)
"""How the model was trained to be asked."""
_MOST_CHARACTERS = 4000
"""Of a question; the model reads 4,096 tokens with picture and answer."""


class LlavaQuestionExpert:
    """An image of any size and an English question in, an answer in words out, always the likeliest next word.

    The image is padded to a square with the mean colour. The parameter `question` is asked where the tool takes none,
    `output` names the answer. Items go through the model one by one, since questions are of different lengths.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        self._device = device
        self._model = load_pretrained(
            LlavaForConditionalGeneration, folder=spec.path, device=device, precision=spec.precision
        )
        self._processor = CLIPImageProcessorPil.from_pretrained(spec.path, local_files_only=True)
        self._words = load_tokenizer(spec)
        vision = self._model.config.vision_config
        self._places = (int(vision.image_size) // int(vision.patch_size)) ** 2
        self._image_token = int(self._model.config.image_token_id)
        self._new = whole_number(spec=spec, name="max_new_tokens", default=512)
        self._question = str(spec.parameters.get("question", ""))
        self._output = str(spec.parameters.get("output", "response"))

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        """See `Expert.run`."""
        rows = [(image_of(item), self._question or text_of(item, name="text")) for item in batch]
        return [{self._output: self._answer(image=image, question=question)} for image, question in rows]

    def _answer(self, *, image: Image, question: str) -> str:
        ids = torch.tensor([self._ids(question)], device=self._device)
        pixels = self._processor(self._square(image), return_tensors="pt", input_data_format="channels_last")
        with torch.inference_mode():
            written = self._model.generate(
                pixel_values=pixels["pixel_values"].to(device=self._device, dtype=self._model.dtype),
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                do_sample=False,
                num_beams=1,
                max_new_tokens=self._new,
                pad_token_id=self._words.pad_token_id,
            )
        text: str = self._words.decode(written[0, ids.shape[1] :], skip_special_tokens=True)
        return text.strip()

    def _ids(self, question: str) -> list[int]:
        """The prompt's tokens; a question cannot bring in a further picture."""
        asked = question[:_MOST_CHARACTERS].replace("<image>", "")
        before, after = _PROMPT.format(asked).split("<image>")
        first: list[int] = self._words(before)["input_ids"]
        second: list[int] = self._words(after, add_special_tokens=False)["input_ids"]
        return [*first, *[self._image_token] * self._places, *second]

    def _square(self, image: Image) -> Image:
        side = max(image.size)
        mean = [round(255 * share) for share in self._processor.image_mean]
        square = PillowImage.new("RGB", (side, side), (mean[0], mean[1], mean[2]))
        square.paste(image, ((side - image.width) // 2, (side - image.height) // 2))
        return square
