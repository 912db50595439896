"""Visual question answering with a ViLT, a GIT or a LLaVA."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image as PillowImage
from torch import Tensor
from transformers import (
    CLIPImageProcessorPil,
    GitForCausalLM,
    LlavaForConditionalGeneration,
    ViltForQuestionAnswering,
    ViltImageProcessorPil,
)

from evaluator.core.expert import ExpertError, ExpertSpec, InputError
from evaluator.core.values import Image, Value
from evaluator.execution.experts.imaging import image_of
from evaluator.execution.experts.inputs import in_batches, in_buckets, padded_length, whole_number
from evaluator.execution.experts.pretrained import load_model
from evaluator.execution.experts.texts import load_tokenizer, text_of


def embedded(*, model: ViltForQuestionAnswering, pixels: Tensor) -> Tensor:
    """The image embeddings of a ViLT: (batch, 3, h, w) to (batch, 1 + patches, hidden).

    Equals `ViltEmbeddings.visual_embed` for images without padding, which however shuffles the patches with torch's
    global generator, so that the last bits of an answer would vary between calls.
    """
    embeddings = model.vilt.embeddings
    patches = embeddings.patch_embeddings(pixels)
    side = model.config.image_size // model.config.patch_size
    grid = embeddings.position_embeddings[:, 1:].transpose(1, 2).unflatten(2, (side, side))
    fitted = F.interpolate(grid, size=patches.shape[-2:], mode="bilinear", align_corners=True)
    first = (embeddings.cls_token + embeddings.position_embeddings[:, :1]).expand(len(pixels), -1, -1)
    return torch.cat([first, (patches + fitted).flatten(2).transpose(1, 2)], dim=1)


class VisualQuestionExpert:
    """From an image of any size and an English question to the most likely of the checkpoint's answers.

    The parameter `output` names the answer. The checkpoint's processor prepares images and keeps their proportions.
    Questions are padded and truncated to one length and batches padded to one size, so that items are independent.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        self._model = load_model(ViltForQuestionAnswering, spec=spec, device=device)
        self._processor = ViltImageProcessorPil.from_pretrained(spec.path, local_files_only=True)
        self._tokenizer = load_tokenizer(spec)
        self._length = min(self._tokenizer.model_max_length, self._model.config.max_position_embeddings)
        self._answers: dict[int, str] = {int(k): str(v) for k, v in self._model.config.id2label.items()}
        self._output = str(spec.parameters.get("output", "text"))
        self.batch_size = spec.batch_size
        self._device = device

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        rows = [(self._pixels(image_of(item)), text_of(item, name="text")) for item in batch]
        shapes = {pixels.shape for pixels, _ in rows}
        if len(shapes) > 1:
            raise ExpertError(f"the images of one batch must have the same size, found {sorted(shapes)}")
        answers = in_batches(rows, size=self.batch_size, run=self._answers_to)
        return [{self._output: answer} for answer in answers]

    def _pixels(self, image: Image) -> np.ndarray:
        """Shape (3, height, width), normalized."""
        try:
            values = self._processor(image, return_tensors="np")["pixel_values"][0]
        except ValueError as error:
            # It has no pixels left when its longer side fits the model.
            raise InputError(
                f"a picture of {image.width}x{image.height} pixels is too thin to be asked about"
            ) from error
        return np.asarray(values, dtype=np.float32)

    def _answers_to(self, rows: Sequence[tuple[np.ndarray, str]]) -> list[str]:
        pixels = torch.from_numpy(np.stack([pixels for pixels, _ in rows])).to(self._device)
        pixels = pixels.to(self._model.dtype)
        words = self._tokenizer(
            [question for _, question in rows],
            padding="max_length",
            truncation=True,
            max_length=self._length,
            return_tensors="pt",
        ).to(self._device)
        with torch.inference_mode():
            images = embedded(model=self._model, pixels=pixels)
            mask = torch.ones(images.shape[:2], dtype=torch.long, device=self._device)
            logits = self._model(**words, image_embeds=images, pixel_mask=mask).logits
        return [self._answers[index] for index in logits.argmax(dim=-1).tolist()]


class _WritingExpert:
    """From an image of any size and an English question to an answer by greedy decoding.

    Questions are padded on the left to their `padded_length`, so that the answer follows directly, and hidden by the
    mask. Those of one length share batches, which are padded to one size.
    """

    def __init__(self, *, spec: ExpertSpec, device: str, model_class: Any, new_tokens: int, output: str) -> None:
        self._model = load_model(model_class, spec=spec, device=device)
        self._processor = CLIPImageProcessorPil.from_pretrained(spec.path, local_files_only=True)
        self._words = load_tokenizer(spec)
        self._new = whole_number(spec=spec, name="max_new_tokens", default=new_tokens)
        self._question = str(spec.parameters.get("question", ""))
        self._output = str(spec.parameters.get("output", output))
        self._device = device
        self.batch_size = spec.batch_size

    def ids(self, question: str) -> list[int]:
        """The tokens of a prompt."""
        raise NotImplementedError

    def prepared(self, image: Image) -> Image:
        """Prepare an image for the checkpoint's processor. Does nothing by default."""
        return image

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        rows = [(image_of(item), self.ids(self._question or text_of(item, name="text"))) for item in batch]
        # Tokens that every prompt has, such as the image's, do not count.
        common = len(self.ids(""))
        lengths = [
            common + padded_length(len(ids) - common, least=_LEAST_QUESTION, most=2 * max(len(ids), _LEAST_QUESTION))
            for _, ids in rows
        ]
        answers = in_buckets(rows, lengths=lengths, size=self.batch_size, run=self._answers)
        return [{self._output: answer} for answer in answers]

    def _answers(self, rows: Sequence[tuple[Image, list[int]]], length: int) -> list[str]:
        # The copies that fill a batch are one object.
        pixels = {id(image): self._pixels(image) for image, _ in rows}
        padding = self._words.pad_token_id
        ids = torch.tensor([[padding] * (length - len(ids)) + ids for _, ids in rows], device=self._device)
        spaces = torch.tensor([length - len(ids) for _, ids in rows], device=self._device)
        mask = (torch.arange(length, device=self._device) >= spaces[:, None]).long()
        with torch.inference_mode():
            written = self._model.generate(
                pixel_values=torch.cat([pixels[id(image)] for image, _ in rows]).to(
                    device=self._device, dtype=self._model.dtype
                ),
                input_ids=ids,
                attention_mask=mask,
                do_sample=False,
                num_beams=1,
                max_new_tokens=self._new,
                pad_token_id=padding,
            )
        return [self._words.decode(row, skip_special_tokens=True).strip() for row in written[:, length:]]

    def _pixels(self, image: Image) -> Tensor:
        """Shape (1, 3, height, width)."""
        settings = {"return_tensors": "pt", "input_data_format": "channels_last"}
        values: Tensor = self._processor(self.prepared(image), **settings)["pixel_values"]
        return values


_LEAST_QUESTION = 16
"""In tokens."""


class GitQuestionExpert(_WritingExpert):
    """With a GIT; the checkpoint's processor prepares images."""

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device, model_class=GitForCausalLM, new_tokens=20, output="text")
        # Reserves positions for the class token and the answer.
        self._longest = int(self._model.config.max_position_embeddings) - self._new - 1

    def ids(self, question: str) -> list[int]:
        words = self._words(question, add_special_tokens=False, truncation=True, max_length=self._longest)["input_ids"]
        return [self._words.cls_token_id, *words]


_PROMPT = (
    "A chat between a curious human and an artificial intelligence assistant. The assistant gives helpful, detailed, "
    "and polite answers to the human's questions. USER: <image>\n{} ASSISTANT:"
)
"""The model's training prompt."""
_MOST_CHARACTERS = 4000
"""Limit of a question; the model reads 4,096 tokens including picture and answer."""


class LlavaQuestionExpert(_WritingExpert):
    """With a LLaVA. The image is padded to a square with the mean colour. The parameter `question` replaces the tool's
    question, `output` names the answer.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        model_class = LlavaForConditionalGeneration
        super().__init__(spec=spec, device=device, model_class=model_class, new_tokens=512, output="response")
        vision = self._model.config.vision_config
        self._places = (int(vision.image_size) // int(vision.patch_size)) ** 2
        self._image_token = int(self._model.config.image_token_id)

    def ids(self, question: str) -> list[int]:
        """A question cannot insert another picture."""
        safe_question = question[:_MOST_CHARACTERS].replace("<image>", "")
        before, after = _PROMPT.format(safe_question).split("<image>")
        first: list[int] = self._words(before)["input_ids"]
        second: list[int] = self._words(after, add_special_tokens=False)["input_ids"]
        return [*first, *[self._image_token] * self._places, *second]

    def prepared(self, image: Image) -> Image:
        side = max(image.size)
        mean = [round(255 * share) for share in self._processor.image_mean]
        square = PillowImage.new("RGB", (side, side), (mean[0], mean[1], mean[2]))
        square.paste(image, ((side - image.width) // 2, (side - image.height) // 2))
        return square
