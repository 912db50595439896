"""Object detection that answers with boxes."""

from collections.abc import Mapping, Sequence

from evaluator.core.values import Box, Boxes, Image, Value
from evaluator.execution.experts.detection import Detection, DetectionExpert, DetrExpert, RTDetrExpert
from evaluator.execution.experts.imaging import image_of, in_fixed_batches, stack

OUTPUT = "object"


class _BoxFinder(DetectionExpert):
    """Finds labelled boxes in an image of any size, the most confident first.

    Sides are in pixels of the image. Objects count from the score `threshold` of the profile's parameters on.
    """

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        images = [image_of(item) for item in batch]
        found = self.found([self.prepare(image) for image in images])
        return [
            {OUTPUT: as_boxes(objects=objects, size=image.size)} for objects, image in zip(found, images, strict=True)
        ]

    def found(self, images: Sequence[Image]) -> list[list[Detection]]:
        """The objects in each of some images that are prepared, the surest first."""
        if not images:
            return []
        return in_fixed_batches(pixels=stack(images), batch_size=self._batch_size, run=self.detect)


class BoxesExpert(_BoxFinder, RTDetrExpert):
    """With an RT-DETR. Of two boxes that say the same about nearly the same place, the surer one is kept."""

    @staticmethod
    def ordered(objects: list[Detection]) -> list[Detection]:
        """The surest first, each object once."""
        kept: list[Detection] = []
        for one in sorted(objects, key=lambda detection: -detection.score):
            if not any(one.name == other.name and overlap(one.box, other.box) > _SAME for other in kept):
                kept.append(one)
        return kept


class DetrBoxesExpert(_BoxFinder, DetrExpert):
    """With a DETR, whose queries do not repeat each other: all boxes are kept."""

    @staticmethod
    def ordered(objects: list[Detection]) -> list[Detection]:
        """The surest first."""
        return sorted(objects, key=lambda detection: -detection.score)


_SAME = 0.6
"""Overlap from which on two boxes with one name are one object. Things of one colour never overlap in tableaux."""

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
    """Detections as boxes in a picture of this width and height; what lies outside is cut."""
    width, height = size
    items = []
    for one in objects:
        left, top, right, bottom = (min(max(side, 0.0), 1.0) for side in one.box)
        items.append(
            Box(
                one.name,
                left * width,
                top * height,
                right * width,
                bottom * height,
                score=min(max(one.score, 0.0), 1.0),
            )
        )
    return Boxes(size, tuple(items))
