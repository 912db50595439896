"""Visual question answering with a GIT, which writes its answer behind the question."""

from collections.abc import Mapping, Sequence

import torch
from transformers import CLIPImageProcessorPil, GitForCausalLM

from evaluator.core.expert import ExpertSpec
from evaluator.core.values import Image, Value
from evaluator.execution.experts.imaging import image_of
from evaluator.execution.experts.pretrained import load_pretrained
from evaluator.execution.experts.texts import load_tokenizer, text_of, whole_number


class GitQuestionExpert:
    """An image of any size and an English question in, an answer in words out, always the likeliest next word.

    Questions are of different lengths and the answer must follow them directly, so items go through the model one by
    one; images are prepared by the checkpoint's own processor.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        self._model = load_pretrained(GitForCausalLM, folder=spec.path, device=device, precision=spec.precision)
        self._processor = CLIPImageProcessorPil.from_pretrained(spec.path, local_files_only=True)
        self._words = load_tokenizer(spec)
        self._new = whole_number(spec=spec, name="max_new_tokens", default=20)
        # The class token and the answer need their places too.
        self._longest = int(self._model.config.max_position_embeddings) - self._new - 1
        self._device = device

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        """See `Expert.run`."""
        rows = [(image_of(item), text_of(item, name="text")) for item in batch]
        return [{"text": self._answer(image=image, question=question)} for image, question in rows]

    def _answer(self, *, image: Image, question: str) -> str:
        pixels = self._processor(image, return_tensors="pt", input_data_format="channels_last")["pixel_values"]
        asked = self._words(question, add_special_tokens=False, truncation=True, max_length=self._longest)["input_ids"]
        ids = torch.tensor([[self._words.cls_token_id, *asked]], device=self._device)
        with torch.inference_mode():
            written = self._model.generate(
                pixel_values=pixels.to(device=self._device, dtype=self._model.dtype),
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                do_sample=False,
                num_beams=1,
                max_new_tokens=self._new,
            )
        text: str = self._words.decode(written[0, ids.shape[1] :], skip_special_tokens=True)
        return text.strip()
