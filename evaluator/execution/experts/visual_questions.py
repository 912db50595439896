"""Visual question answering with a ViLT."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import ViltForQuestionAnswering, ViltImageProcessorPil

from evaluator.core.expert import ExpertError, ExpertSpec, InputError
from evaluator.core.values import Image, Value
from evaluator.execution.experts.imaging import image_of
from evaluator.execution.experts.pretrained import load_pretrained
from evaluator.execution.experts.texts import load_tokenizer, text_of


def embedded(*, model: ViltForQuestionAnswering, pixels: Tensor) -> Tensor:
    """The states of image and patches with which a ViLT begins: (batch, 3, h, w) to (batch, 1 + patches, hidden).

    The same numbers as `ViltEmbeddings.visual_embed` for images without padding. That function puts the patches in an
    order drawn from torch's global generator, so that the last bits of an answer would change from call to call.
    """
    embeddings = model.vilt.embeddings
    patches = embeddings.patch_embeddings(pixels)
    side = model.config.image_size // model.config.patch_size
    grid = embeddings.position_embeddings[:, 1:].transpose(1, 2).unflatten(2, (side, side))
    fitted = F.interpolate(grid, size=patches.shape[-2:], mode="bilinear", align_corners=True)
    first = (embeddings.cls_token + embeddings.position_embeddings[:, :1]).expand(len(pixels), -1, -1)
    return torch.cat([first, (patches + fitted).flatten(2).transpose(1, 2)], dim=1)


class VisualQuestionExpert:
    """An image of any size and an English question in, the likeliest of the checkpoint's answers out.

    The parameter `output` names it.

    Images are resized and normalised by the checkpoint's own processor, which keeps their proportions. Questions are
    padded (and cut) to one length and batches filled up to one size, so that a result does not depend on the others.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        self._model = load_pretrained(
            ViltForQuestionAnswering, folder=spec.path, device=device, precision=spec.precision
        )
        self._processor = ViltImageProcessorPil.from_pretrained(spec.path, local_files_only=True)
        self._tokenizer = load_tokenizer(spec)
        self._length = min(self._tokenizer.model_max_length, self._model.config.max_position_embeddings)
        self._answers: dict[int, str] = {int(k): str(v) for k, v in self._model.config.id2label.items()}
        self._output = str(spec.parameters.get("output", "text"))
        self._batch_size = spec.batch_size
        self._device = device

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        """See `Expert.run`."""
        rows = [(self._pixels(image_of(item)), text_of(item, name="text")) for item in batch]
        shapes = {pixels.shape for pixels, _ in rows}
        if len(shapes) > 1:
            raise ExpertError(f"the images of one batch must have the same size, found {sorted(shapes)}")
        answers: list[str] = []
        for start in range(0, len(rows), self._batch_size):
            chunk = rows[start : start + self._batch_size]
            filled = chunk + chunk[:1] * (self._batch_size - len(chunk))
            answers += self._answer(filled)[: len(chunk)]
        return [{self._output: answer} for answer in answers]

    def _pixels(self, image: Image) -> np.ndarray:
        """Shape (3, height, width), normalised.

        Raises:
            InputError: the picture is so thin that it has no pixels once its longer side fits the model.
        """
        try:
            found = self._processor(image, return_tensors="np")["pixel_values"][0]
        except ValueError as error:
            raise InputError(
                f"a picture of {image.width}x{image.height} pixels is too thin to be asked about"
            ) from error
        return np.asarray(found, dtype=np.float32)

    def _answer(self, rows: Sequence[tuple[np.ndarray, str]]) -> list[str]:
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
