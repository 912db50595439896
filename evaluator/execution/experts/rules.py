"""Experts by rules: selecting and counting findings, cropping, framing, cutting out, inpainting, line drawing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from PIL import Image as PillowImage

from evaluator.core.expert import ExpertSpec, InputError
from evaluator.core.naming import is_named
from evaluator.core.values import Boxes, Labels, Masks, Value
from evaluator.execution.experts.inputs import pixels_of, require_size, value_of
from evaluator.miniature.pictures import regions, strokes

Pixels = npt.NDArray[np.uint8]
MOST_BOXES = 64
"""Limit of crops of one picture."""


class _Rule:
    """An expert without weights or device."""

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        pass

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        return [self.output(item) for item in batch]

    def output(self, item: Mapping[str, Value]) -> Mapping[str, Value]:
        """The outputs for one item."""
        raise NotImplementedError


class Cropping(_Rule):
    """The contents of boxes in a picture, side by side; a grey picture if there is no box."""

    def output(self, item: Mapping[str, Value]) -> Mapping[str, Value]:
        pixels, boxes = _boxed(item, name="object")
        if len(boxes.items) > MOST_BOXES:
            raise InputError(f'"object" has {len(boxes.items)} boxes; a picture is cropped to at most {MOST_BOXES}')
        return _image(regions.cropped(pixels, boxes=[box.corners for box in boxes.items]))


class Highlighting(_Rule):
    """A picture with a frame around each box."""

    def output(self, item: Mapping[str, Value]) -> Mapping[str, Value]:
        pixels, boxes = _boxed(item, name="bbox")
        return _image(regions.outlined(pixels, boxes=[box.corners for box in boxes.items]), name="result")


class _Masked(_Rule):
    """From a picture and masks to a picture."""

    def output(self, item: Mapping[str, Value]) -> Mapping[str, Value]:
        pixels, masks = pixels_of(item), value_of(item, name="mask", kind=Masks)
        require_size(findings=masks, name="mask", pixels=pixels)
        return _image(self.change(pixels=pixels, region=masks.union()))

    def change(self, *, pixels: Pixels, region: npt.NDArray[np.bool_]) -> Pixels:
        """The picture with a change by the region of all masks."""
        raise NotImplementedError


class CuttingOut(_Masked):
    """The masked region on black."""

    def change(self, *, pixels: Pixels, region: npt.NDArray[np.bool_]) -> Pixels:
        return regions.kept(pixels, region=region)


class Inpainting(_Masked):
    """The picture with the masked region filled smoothly from its border."""

    def change(self, *, pixels: Pixels, region: npt.NDArray[np.bool_]) -> Pixels:
        return regions.filled(pixels, region=region)


_STROKES: Mapping[str, Callable[[Pixels], npt.NDArray[np.bool_]]] = {
    "edge": strokes.edges,
    "line": strokes.straight_lines,
    "scribble": strokes.scribble,
}


class LineDrawing(_Rule):
    """A line drawing of a picture, white on black, of the parameter's `kind`: edge, line or scribble."""

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:  # noqa: ARG002 - no device is needed
        """Raises KeyError for another kind."""
        self._kind = str(spec.parameters["kind"])
        self._draw = _STROKES[self._kind]

    def output(self, item: Mapping[str, Value]) -> Mapping[str, Value]:
        return _image(strokes.drawing(self._draw(pixels_of(item))), name=self._kind)


def _boxed(item: Mapping[str, Value], *, name: str) -> tuple[Pixels, Boxes]:
    pixels, boxes = pixels_of(item), value_of(item, name=name, kind=Boxes)
    require_size(findings=boxes, name=name, pixels=pixels)
    return pixels, boxes


def _image(pixels: Pixels, *, name: str = "image") -> Mapping[str, Value]:
    return {name: PillowImage.fromarray(pixels)}


class SelectLabels(_Rule):
    """Keeps the labels that a condition names (`evaluator.core.naming`)."""

    def output(self, item: Mapping[str, Value]) -> Mapping[str, Value]:
        labels = value_of(item, name="category_list", kind=Labels)
        means = _meaning(item)
        return {"target_category_result": Labels(tuple(label for label in labels.items if means(label.name)))}


class SelectBoxes(_Rule):
    """Keeps the boxes whose label a condition names."""

    def output(self, item: Mapping[str, Value]) -> Mapping[str, Value]:
        boxes = value_of(item, name="bbox_list", kind=Boxes)
        means = _meaning(item)
        return {"result": replace(boxes, items=tuple(box for box in boxes.items if means(box.label)))}


class SelectMasks(_Rule):
    """Keeps the masks whose label a condition names."""

    def output(self, item: Mapping[str, Value]) -> Mapping[str, Value]:
        masks = value_of(item, name="mask_list", kind=Masks)
        means = _meaning(item)
        return {"result": replace(masks, items=tuple(mask for mask in masks.items if means(mask.label)))}


class _Count(_Rule):
    """The length of a list, in digits."""

    name: ClassVar[str]
    kind: ClassVar[type[Labels | Boxes | Masks]]

    def output(self, item: Mapping[str, Value]) -> Mapping[str, Value]:
        return {"length": str(len(value_of(item, name=self.name, kind=self.kind).items))}


class CountLabels(_Count):
    """The number of labels."""

    name, kind = "category_list", Labels


class CountBoxes(_Count):
    """The number of boxes."""

    name, kind = "bbox_list", Boxes


class CountMasks(_Count):
    """The number of masks."""

    name, kind = "mask_list", Masks


def _meaning(item: Mapping[str, Value]) -> Callable[[str], bool]:
    condition = value_of(item, name="condition", kind=str)
    return lambda name: is_named(name, condition=condition)
