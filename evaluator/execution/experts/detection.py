"""Object detection with a DETR or an RT-DETR, answered with names or with boxes."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor
from transformers import (
    DetrForObjectDetection,
    DetrImageProcessorPil,
    RTDetrForObjectDetection,
    RTDetrImageProcessorPil,
)

from evaluator.core import canonical_json
from evaluator.core.canonical_json import JsonValue
from evaluator.core.expert import ExpertSpec
from evaluator.core.values import Box, Boxes, Image, Value
from evaluator.execution.experts.imaging import ImageExpert, Pixels, image_of, in_fixed_batches, stack, to_tensor
from evaluator.execution.experts.inputs import number, whole_number
from evaluator.execution.experts.pretrained import Preparation, load_model

BOXES = "boxes"
"""Name of the output with the locations of objects."""
_THRESHOLD = 0.5


@dataclass(frozen=True, slots=True)
class Detection:
    """A detected object."""

    name: str
    score: float
    """In [0, 1]."""
    box: tuple[float, float, float, float]
    """Left, top, right and bottom as shares of the width and the height of the picture."""

    @property
    def centre(self) -> float:
        """Horizontal centre of the box."""
        return (self.box[0] + self.box[2]) / 2

    @property
    def off_centre(self) -> float:
        """Distance of the box's centre from the centre of the picture, as a share of its sides."""
        return math.hypot(self.centre - 0.5, (self.box[1] + self.box[3]) / 2 - 0.5)


def reading_order(objects: Iterable[Detection]) -> list[Detection]:
    """The object nearest to the centre, then the others from left to right."""
    ordered = sorted(objects, key=lambda detection: detection.off_centre)
    return ordered[:1] + sorted(ordered[1:], key=lambda detection: detection.centre)


def boxes_as_text(objects: Iterable[Detection]) -> str:
    """Detections as JSON for records: `[{"label", "score", "box": [left, top, right, bottom]}]`.

    Rounded, so that devices that differ in the last bits give the same text.
    """
    entries: list[JsonValue] = [
        {"label": detection.name, "score": round(detection.score, 2), "box": [round(side, 3) for side in detection.box]}
        for detection in objects
    ]
    return canonical_json.dumps(entries)


class DetectionExpert(ImageExpert):
    """From an image to the names of its objects, separated by commas, by default in `reading_order`.

    Includes objects with at least the score `threshold` of the profile's parameters, by default 0.5. Without objects
    the text is empty. The additional output `boxes`, which plans cannot use, documents the locations in the record.
    """

    output: ClassVar[str] = "text"
    model_class: ClassVar[Any]
    processor_class: ClassVar[Any]

    @staticmethod
    def ordered(objects: list[Detection]) -> list[Detection]:
        """The objects of one image, in the order of queries, sorted for the output."""
        return reading_order(objects)

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_model(self.model_class, spec=spec, device=device)
        # Without settings, a model gets values in [0, 1], as from RT-DETR's processor.
        self._preparation = Preparation(
            self.processor_class,
            folder=spec.path,
            size=whole_number(spec=spec, name="size", default=640),
            normalises=False,
        )
        self._threshold = number(spec=spec, name="threshold", default=_THRESHOLD)
        self._names: dict[int, str] = {int(k): str(v) for k, v in self._model.config.id2label.items()}

    def prepare(self, image: Image) -> Image:
        return self._preparation.resized(image)

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        if not batch:
            return []
        pixels = stack([self.prepare(image_of(item)) for item in batch])
        detections = in_fixed_batches(pixels=pixels, batch_size=self.batch_size, run=self.detect)
        return [
            {self.output: ", ".join(detection.name for detection in objects), BOXES: boxes_as_text(objects)}
            for objects in detections
        ]

    def probabilities(self, logits: Tensor) -> Tensor:
        """Scores in [0, 1] of shape (batch, queries, classes) from the model's logits."""
        raise NotImplementedError

    def detect(self, pixels: Pixels) -> list[list[Detection]]:
        """The `ordered` objects in each image of a batch, 8-bit and of the model's size."""
        with torch.inference_mode():
            values = self._preparation.normalised(to_tensor(pixels=pixels, device=self._device))
            output = self._model(pixel_values=values.to(self._model.dtype))
        scores, classes = self.probabilities(output.logits.float()).max(dim=-1)
        x, y, width, height = output.pred_boxes.float().unbind(dim=-1)
        boxes = torch.stack([x - width / 2, y - height / 2, x + width / 2, y + height / 2], dim=-1)
        return [
            self.ordered(
                [
                    Detection(name=self._names[index], score=score, box=(box[0], box[1], box[2], box[3]))
                    for score, index, box in zip(*row, strict=True)
                    if score >= self._threshold
                ]
            )
            for row in zip(scores.tolist(), classes.tolist(), boxes.tolist(), strict=True)
        ]


class RTDetrExpert(DetectionExpert):
    """Every class of a query is an independent binary decision."""

    model_class: ClassVar[Any] = RTDetrForObjectDetection
    processor_class: ClassVar[Any] = RTDetrImageProcessorPil

    def probabilities(self, logits: Tensor) -> Tensor:
        return logits.sigmoid()


class DetrExpert(DetectionExpert):
    """A query has one of the classes, of which the last is "no object". The backbone is a ResNet of `transformers`.

    Objects are in the order of the queries, as in OpenAGI's released code.
    """

    model_class: ClassVar[Any] = DetrForObjectDetection
    processor_class: ClassVar[Any] = DetrImageProcessorPil

    @staticmethod
    def ordered(objects: list[Detection]) -> list[Detection]:
        return objects

    def probabilities(self, logits: Tensor) -> Tensor:
        return logits.softmax(dim=-1)[..., :-1]


OUTPUT = "object"


class _BoxFinder(DetectionExpert):
    """From an image of any size to labelled boxes in pixels, most confident first.

    Includes objects with at least the score `threshold` of the profile's parameters.
    """

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        images = [image_of(item) for item in batch]
        detections = self.detect_all([self.prepare(image) for image in images])
        return [
            {OUTPUT: as_boxes(objects=objects, size=image.size)}
            for objects, image in zip(detections, images, strict=True)
        ]

    def detect_all(self, images: Sequence[Image]) -> list[list[Detection]]:
        """The objects in each prepared image, most confident first."""
        if not images:
            return []
        return in_fixed_batches(pixels=stack(images), batch_size=self.batch_size, run=self.detect)


class BoxesExpert(_BoxFinder, RTDetrExpert):
    """With an RT-DETR and non-maximum suppression per label."""

    @staticmethod
    def ordered(objects: list[Detection]) -> list[Detection]:
        selected: list[Detection] = []
        for box in sorted(objects, key=lambda detection: -detection.score):
            if not any(box.name == other.name and overlap(box.box, other.box) > _SAME for other in selected):
                selected.append(box)
        return selected


class DetrBoxesExpert(_BoxFinder, DetrExpert):
    """With a DETR, whose queries do not repeat each other and need no suppression."""

    @staticmethod
    def ordered(objects: list[Detection]) -> list[Detection]:
        return sorted(objects, key=lambda detection: -detection.score)


_SAME = 0.6
"""Overlap above which two boxes with one label are one object. Things of one colour never overlap in tableaux."""

Corners = tuple[float, float, float, float]
"""Left, top, right and bottom."""


def overlap(first: Corners, second: Corners) -> float:
    """Intersection over union of two boxes, in [0, 1]."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    if width <= 0 or height <= 0:
        return 0.0
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (first, second))
    return width * height / (areas - width * height)


def as_boxes(*, objects: Sequence[Detection], size: tuple[int, int]) -> Boxes:
    """Detections as boxes in pixels of a picture of this width and height, clipped to the picture."""
    width, height = size
    items = []
    for detection in objects:
        left, top, right, bottom = (min(max(side, 0.0), 1.0) for side in detection.box)
        items.append(
            Box(
                detection.name,
                left * width,
                top * height,
                right * width,
                bottom * height,
                score=min(max(detection.score, 0.0), 1.0),
            )
        )
    return Boxes(size, tuple(items))
