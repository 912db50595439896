"""Object detection with an RT-DETR."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import torch
from transformers import RTDetrForObjectDetection

from evaluator.experts.classification import resized
from evaluator.experts.imaging import ImageExpert, Pixels, to_tensor
from evaluator.experts.pretrained import load_pretrained
from evaluator.experts.protocol import ExpertSpec
from evaluator.experts.registry import expert
from evaluator.values import Image, Value

_THRESHOLD = 0.5


@dataclass(frozen=True, slots=True)
class Detection:
    """One object found in a picture."""

    name: str
    score: float
    """In [0, 1]."""
    box: tuple[float, float, float, float]
    """Left, top, right and bottom as shares of the width and the height of the picture."""

    @property
    def centre(self) -> float:
        """Of the box, from left to right."""
        return (self.box[0] + self.box[2]) / 2

    @property
    def off_centre(self) -> float:
        """Distance of the box's centre from the middle of the picture, as a share of its sides."""
        return math.hypot(self.centre - 0.5, (self.box[1] + self.box[3]) / 2 - 0.5)


def reading_order(objects: Iterable[Detection]) -> list[Detection]:
    """The object nearest to the middle first, then the others from left to right."""
    ordered = sorted(objects, key=lambda detection: detection.off_centre)
    return ordered[:1] + sorted(ordered[1:], key=lambda detection: detection.centre)


@expert("rt-detr")
class RTDetrExpert(ImageExpert):
    """Any image in, the names of the objects in it out: the most central first, then the others from left to right.

    A comma and a space lie between the names. Objects count from the score `threshold` of the profile's parameters
    on, 0.5 if it says nothing. If there are none the text is empty.
    """

    output: ClassVar[str] = "text"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_pretrained(RTDetrForObjectDetection, folder=spec.path, device=device)
        self._size = int(spec.parameters.get("size", 640))  # type: ignore[call-overload]
        self._threshold = float(spec.parameters.get("threshold", _THRESHOLD))  # type: ignore[arg-type]
        self._names: dict[int, str] = {int(k): str(v) for k, v in self._model.config.id2label.items()}

    def prepare(self, image: Image) -> Image:
        return resized(image, size=self._size)

    def transform(self, pixels: Pixels) -> list[Value]:
        return [", ".join(found.name for found in objects) for objects in self.detect(pixels)]

    def detect(self, pixels: Pixels) -> list[list[Detection]]:
        """The objects in each of a batch of 8-bit images of the model's size, in reading order."""
        with torch.inference_mode():
            # RT-DETR's own processor only divides by 255, too.
            output = self._model(pixel_values=to_tensor(pixels=pixels, device=self._device))
        scores, classes = output.logits.sigmoid().max(dim=-1)
        x, y, width, height = output.pred_boxes.unbind(dim=-1)
        boxes = torch.stack([x - width / 2, y - height / 2, x + width / 2, y + height / 2], dim=-1)
        return [
            self._objects(scores=row[0], classes=row[1], boxes=row[2])
            for row in zip(scores.tolist(), classes.tolist(), boxes.tolist(), strict=True)
        ]

    def _objects(self, *, scores: list[float], classes: list[int], boxes: list[list[float]]) -> list[Detection]:
        found = [
            Detection(name=self._names[index], score=score, box=(box[0], box[1], box[2], box[3]))
            for score, index, box in zip(scores, classes, boxes, strict=True)
            if score >= self._threshold
        ]
        return reading_order(found)
