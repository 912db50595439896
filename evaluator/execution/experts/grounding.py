"""Visual grounding with an OWL-ViT or a Grounding DINO."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from transformers import (
    GroundingDinoForObjectDetection,
    GroundingDinoImageProcessorPil,
    OwlViTForObjectDetection,
    OwlViTImageProcessorPil,
)

from evaluator.core.expert import ExpertSpec, InputError
from evaluator.core.values import LONGEST_LABEL, Image, Value
from evaluator.execution.experts.detection import BoxesExpert, Detection, as_boxes
from evaluator.execution.experts.imaging import image_of, stack, to_tensor
from evaluator.execution.experts.inputs import in_batches, number
from evaluator.execution.experts.pretrained import Preparation, load_model
from evaluator.execution.experts.texts import load_tokenizer, text_of

_THRESHOLD = 0.5
_ARTICLE = re.compile(r"(?:the|an?)\s+", re.IGNORECASE)


class GroundingExpert:
    """From an image and an English name to the boxes of what it names, most confident first.

    Includes boxes with at least the score `threshold` of the profile's parameters, and always the most confident. Their
    label is the name without its article.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        self.batch_size = spec.batch_size
        self._device = device
        self._model = load_model(OwlViTForObjectDetection, spec=spec, device=device)
        size = int(self._model.config.vision_config.image_size)
        self._preparation = Preparation(OwlViTImageProcessorPil, folder=spec.path, size=size)
        self._words = load_tokenizer(spec)
        self._length = int(self._model.config.text_config.max_position_embeddings)
        self._threshold = number(spec=spec, name="threshold", default=_THRESHOLD)

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        rows = [(image_of(item), plain_name(text_of(item, name="query"))) for item in batch]
        detections = in_batches(rows, size=self.batch_size, run=self._batch)
        return [
            {"bbox": as_boxes(objects=objects, size=image.size)}
            for objects, (image, _) in zip(detections, rows, strict=True)
        ]

    def _batch(self, rows: Sequence[tuple[Image, str]]) -> list[list[Detection]]:
        prepared = [self._preparation.resized(image) for image, _ in rows]
        pixels = np.stack([np.asarray(image, dtype=np.uint8) for image in prepared])
        values = self._preparation.normalised(to_tensor(pixels=pixels, device=self._device))
        query = self._words(
            [name.lower() for _, name in rows],
            padding="max_length",
            truncation=True,
            max_length=self._length,
            return_tensors="pt",
        ).to(self._device)
        with torch.inference_mode():
            output = self._model(
                input_ids=query["input_ids"],
                attention_mask=query["attention_mask"],
                pixel_values=values.to(self._model.dtype),
            )
        scores = output.logits[:, :, 0].float().sigmoid().cpu()
        x, y, width, height = output.pred_boxes.float().cpu().unbind(dim=-1)
        boxes = torch.stack([x - width / 2, y - height / 2, x + width / 2, y + height / 2], dim=-1)
        results = []
        for (_, name), row, corners in zip(rows, scores.tolist(), boxes.tolist(), strict=True):
            least = min(self._threshold, max(row))
            detections = [
                Detection(name=name, score=score, box=(box[0], box[1], box[2], box[3]))
                for score, box in zip(row, corners, strict=True)
                if score >= least
            ]
            # Suppresses duplicates: neighbouring patches of a thing predict the same box.
            results.append(BoxesExpert.ordered(detections))
        return results


def plain_name(query: str) -> str:
    """A query without a leading article: `red star` for `the red star`; InputError if it is empty."""
    name = " ".join(query.split())
    name = _ARTICLE.sub("", name, count=1) if _ARTICLE.match(name) else name
    if not name:
        raise InputError('"query" is empty; it names what is looked for, such as "the red star"')
    return name


class GroundingDinoExpert:
    """From an image and an English phrase to the boxes of what it names, most confident first; possibly none.

    Includes boxes in which a word of the phrase has at least the score `threshold` of the profile's parameters. Their
    label is the phrase without its article. Items are processed one by one, since phrases have different lengths.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        self._device = device
        self._model = load_model(GroundingDinoForObjectDetection, spec=spec, device=device)
        self._preparation = Preparation(GroundingDinoImageProcessorPil, folder=spec.path, size=800)
        self._words = load_tokenizer(spec)
        self._longest = int(self._model.config.max_text_len)
        self._threshold = number(spec=spec, name="threshold", default=0.8)

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        rows = [(image_of(item), plain_name(text_of(item, name="query"))) for item in batch]
        return [
            {"bbox": as_boxes(objects=self._detections(image=image, name=name), size=image.size)}
            for image, name in rows
        ]

    def _detections(self, *, image: Image, name: str) -> list[Detection]:
        pixels = stack([self._preparation.resized(image)])
        phrase: Any = self._words(
            f"{name.lower().rstrip('.')}.", truncation=True, max_length=self._longest, return_tensors="pt"
        ).to(self._device)
        with torch.inference_mode():
            values = self._preparation.normalised(to_tensor(pixels=pixels, device=self._device))
            output = self._model(pixel_values=values.to(self._model.dtype), **phrase)
        scores = output.logits[0].float().sigmoid().max(dim=-1).values.cpu()
        x, y, width, height = output.pred_boxes[0].float().cpu().unbind(dim=-1)
        corners = torch.stack([x - width / 2, y - height / 2, x + width / 2, y + height / 2], dim=-1).tolist()
        return [
            Detection(name=name[:LONGEST_LABEL], score=float(scores[k]), box=(*corners[k],))
            for k in scores.argsort(descending=True, stable=True).tolist()
            if scores[k] >= self._threshold
        ]
