"""Visual grounding with a Grounding DINO."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from transformers import GroundingDinoForObjectDetection, GroundingDinoImageProcessorPil

from evaluator.core.expert import ExpertSpec
from evaluator.core.values import LONGEST_LABEL, Image, Value
from evaluator.execution.experts.detection import Detection
from evaluator.execution.experts.grounding import plain_name
from evaluator.execution.experts.imaging import image_of, stack, to_tensor
from evaluator.execution.experts.object_boxes import as_boxes
from evaluator.execution.experts.preparation import Preparation
from evaluator.execution.experts.pretrained import load_pretrained
from evaluator.execution.experts.sampling import number
from evaluator.execution.experts.texts import load_tokenizer, text_of


class GroundingDinoExpert:
    """Finds the boxes of whatever an English phrase means in an image, the surest first; none may be sure enough.

    A box counts if a word of the phrase reaches the score `threshold` of the profile's parameters in it. Its label is
    the phrase without its article. Phrases are of different lengths, so items go through the model one by one.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        self._device = device
        self._model = load_pretrained(
            GroundingDinoForObjectDetection, folder=spec.path, device=device, precision=spec.precision
        )
        self._preparation = Preparation(GroundingDinoImageProcessorPil, folder=spec.path, size=800)
        self._words = load_tokenizer(spec)
        self._longest = int(self._model.config.max_text_len)
        self._threshold = number(spec=spec, name="threshold", default=0.8)

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        """See `Expert.run`."""
        rows = [(image_of(item), plain_name(text_of(item, name="query"))) for item in batch]
        return [
            {"bbox": as_boxes(objects=self._found(image=image, name=name), size=image.size)} for image, name in rows
        ]

    def _found(self, *, image: Image, name: str) -> list[Detection]:
        pixels = stack([self._preparation.resized(image)])
        asked: Any = self._words(
            f"{name.lower().rstrip('.')}.", truncation=True, max_length=self._longest, return_tensors="pt"
        ).to(self._device)
        with torch.inference_mode():
            values = self._preparation.normalised(to_tensor(pixels=pixels, device=self._device))
            output = self._model(pixel_values=values.to(self._model.dtype), **asked)
        scores = output.logits[0].float().sigmoid().max(dim=-1).values.cpu()
        x, y, width, height = output.pred_boxes[0].float().cpu().unbind(dim=-1)
        corners = torch.stack([x - width / 2, y - height / 2, x + width / 2, y + height / 2], dim=-1).tolist()
        return [
            Detection(name=name[:LONGEST_LABEL], score=float(scores[k]), box=(*corners[k],))
            for k in scores.argsort(descending=True, stable=True).tolist()
            if scores[k] >= self._threshold
        ]
