"""Segmentation with Segment Anything: by boxes of a detector, points or rough masks, and of everything."""

import colorsys
import re
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from PIL import Image as PillowImage
from torch import Tensor
from transformers import SamImageProcessorPil, SamModel

from evaluator.core.expert import ExpertError, ExpertSpec, InputError
from evaluator.core.values import Image, Mask, Masks, Value
from evaluator.execution.experts.detection import BoxesExpert, Detection
from evaluator.execution.experts.imaging import image_of, to_tensor
from evaluator.execution.experts.implementations import implementation_of
from evaluator.execution.experts.inputs import in_batches, number, pixels_of, require_size, value_of, whole_number
from evaluator.execution.experts.pretrained import Preparation, load_model
from evaluator.execution.experts.texts import text_of

MOST_POINTS = 3
"""Points per prompt, as in the training of the model."""
NO_POINT = -1
"""Label of an unused place."""
_REACH = 2.0
"""Radius of a point in a plane, in pixels."""

_POINT = r"\s*(\d+(?:\.\d+)?)\s*,\s*(\d+(?:\.\d+)?)\s*"
_POINTS = re.compile(rf"{_POINT}(?:;{_POINT})*;?\s*", re.ASCII)


def points_of(text: str, *, size: tuple[int, int]) -> list[tuple[float, float]]:
    """The points in a text such as `12,30; 40,8`: column and row of a pixel, from 0.

    Args:
        text: the points.
        size: width and height of the picture.

    Raises:
        InputError: the text contains no points, too many, or one outside the picture.
    """
    if not _POINTS.fullmatch(text):
        raise InputError(f'"prompt_points" are written like "12,30; 40,8" (column, row), not {text[:60]!r}')
    points = [(float(x), float(y)) for x, y in re.findall(_POINT, text)]
    if len(points) > MOST_POINTS:
        raise InputError(f'"prompt_points" has {len(points)} points; 1 to {MOST_POINTS} name one thing')
    for x, y in points:
        if x > size[0] - 1 or y > size[1] - 1:
            last = f"{size[0] - 1},{size[1] - 1}"
            raise InputError(f'the point {x:g},{y:g} of "prompt_points" lies outside the picture; the last is {last}')
    return points


def plane_of_masks(masks: Tensor) -> Tensor:
    """Masks, bool of shape (prompts, height, width), as input of Segment Anything: 1 inside, -1 outside.

    Returns:
        Float32 of shape (prompts, 1, height, width).
    """
    return masks[:, None].float() * 2 - 1


def plane_of_boxes(boxes: Tensor, *, size: int) -> Tensor:
    """Boxes as filled rectangles: rough masks, since small models learn the position encoding of box tokens slowly.

    Args:
        boxes: left, top, right and bottom in pixels, shape (prompts, 4).
        size: side of the square picture in pixels.

    Returns:
        As `plane_of_masks`.
    """
    y, x = _centres(size)
    left, top, right, bottom = boxes[:, :, None, None].unbind(dim=1)
    return plane_of_masks((x >= left) & (x <= right) & (y >= top) & (y <= bottom))


def plane_of_points(places: Tensor, *, labels: Tensor, size: int) -> Tensor:
    """Points as discs, for the same reason as in `plane_of_boxes`.

    Args:
        places: column and row of pixels, shape (prompts, points, 2).
        labels: 1 for a point, -1 for an unused place, shape (prompts, points).
        size: side of the square picture in pixels.

    Returns:
        As `plane_of_masks`.
    """
    y, x = _centres(size)
    column, row = (places + 0.5)[:, :, None, None].unbind(dim=-1)
    near = (x - column) ** 2 + (y - row) ** 2 <= _REACH**2
    return plane_of_masks((near & (labels == 1)[:, :, None, None]).any(dim=1))


def _centres(size: int) -> tuple[Tensor, Tensor]:
    side = torch.arange(size) + 0.5
    return side[:, None], side[None, :]


_MOST_BOXES = 16
"""Boxes per image, the number of the detector's queries."""
_COVERED = 0.5
"""Share of a model's pixel that a rough mask of another size must cover."""
_GOLDEN = 0.618034
"""Fractional part of the golden ratio, whose multiples are evenly distributed."""
_OVERLAP = 0.5
"""Intersection over union from which two masks are one segment."""

Answers = tuple[Tensor, Tensor]
"""Logits of pixels and predicted overlaps, shapes (batch, prompts, height, width) and (batch, prompts)."""

Plane = npt.NDArray[np.bool_]
"""The pixels of a mask, shape (height, width)."""


class SegmentingExpert:
    """Base of experts with Segment Anything: one mask per prompt, in batches of one size."""

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        self.batch_size = spec.batch_size
        self._device = device
        self._model = load_model(SamModel, spec=spec, device=device)
        self._size = int(self._model.config.vision_config.image_size)
        self._preparation = Preparation(SamImageProcessorPil, folder=spec.path, size=self._size, normalises=False)

    def features(self, images: Sequence[Image]) -> Tensor:
        """The model's features of a full batch of images."""
        pixels = np.stack([np.asarray(self._preparation.resized(image), dtype=np.uint8) for image in images])
        values = self._preparation.normalised(to_tensor(pixels=pixels, device=self._device))
        return cast(Tensor, self._model.vision_encoder(values.to(self._model.dtype)).last_hidden_state)

    def by_boxes(self, *, features: Tensor, boxes: Tensor) -> Answers:
        """One mask for each box: left, top, right and bottom in pixels, shape (batch, boxes, 4)."""
        flat = boxes.flatten(0, 1)
        planes = plane_of_boxes(flat, size=self._size)
        return self._masks(features=features, planes=planes, input_boxes=flat[:, None])

    def by_points(self, *, features: Tensor, places: Tensor, labels: Tensor) -> Answers:
        """One mask for each set of points, shapes (batch, prompts, points, 2) and (batch, prompts, points)."""
        flat, flat_labels = places.flatten(0, 1), labels.flatten(0, 1)
        planes = plane_of_points(flat, labels=flat_labels, size=self._size)
        prompts = {"input_points": flat[:, None], "input_labels": flat_labels[:, None]}
        return self._masks(features=features, planes=planes, **prompts)

    def by_masks(self, *, features: Tensor, masks: Tensor) -> Answers:
        """One mask for each rough mask, bool of shape (batch, masks, height, width)."""
        return self._masks(features=features, planes=plane_of_masks(masks.flatten(0, 1)))

    def _masks(self, *, features: Tensor, planes: Tensor, **prompts: Tensor) -> Answers:
        each = len(planes) // len(features)
        output = self._model(
            image_embeddings=features.repeat_interleave(each, dim=0),
            input_masks=planes.to(device=self._device, dtype=features.dtype),
            multimask_output=False,
            **{name: value.to(self._device) for name, value in prompts.items()},
        )
        logits, overlaps = output.pred_masks[:, 0, 0].float(), output.iou_scores[:, 0, 0].float()
        return logits.unflatten(0, (-1, each)).cpu(), overlaps.unflatten(0, (-1, each)).cpu()

    def scaled(self, points: Tensor, *, size: tuple[int, int]) -> Tensor:
        """Convert places in a picture of this width and height, x and y last, to the model's square."""
        return points * (self._size / points.new_tensor(size))


def enlarged(logits: Tensor, *, size: tuple[int, int]) -> npt.NDArray[np.float32]:
    """Logits of masks at the size of a picture (width, height), shape (prompts, height, width)."""
    if tuple(logits.shape[-2:]) != size[::-1]:
        logits = F.interpolate(logits[None], size=size[::-1], mode="bilinear", align_corners=False)[0]
    return logits.cpu().numpy()


def _score(value: float) -> float:
    return min(max(float(value), 0.0), 1.0)


class InstanceExpert(SegmentingExpert):
    """From an image to a named mask for each object, most confident first, by the boxes of the profile's detector."""

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        if len(spec.uses) != 1:
            raise ExpertError(f'{spec.id} needs a detector: name one tool under "uses" in the profile')
        detector = implementation_of(spec.uses[0].implementation).factory()(spec=spec.uses[0], device=device)
        if not isinstance(detector, BoxesExpert):
            raise ExpertError(f"{spec.id} needs a detector that answers with boxes, not {spec.uses[0].implementation}")
        self._detector = detector

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        images = [image_of(item) for item in batch]
        detections = self._detector.detect_all([self._detector.prepare(image) for image in images])
        rows = list(zip(images, detections, strict=True))
        return [{"mask": masks} for masks in in_batches(rows, size=self.batch_size, run=self._batch)]

    def _batch(self, rows: Sequence[tuple[Image, list[Detection]]]) -> list[Masks]:
        prompts = torch.zeros(self.batch_size, _MOST_BOXES, 4)
        for row, (_, objects) in zip(prompts, rows, strict=True):
            for place, detection in zip(row, objects[:_MOST_BOXES], strict=False):
                place[:] = torch.tensor(detection.box).clamp(0, 1) * self._size
        with torch.inference_mode():
            logits, _ = self.by_boxes(features=self.features([image for image, _ in rows]), boxes=prompts)
        return [
            _named(logits=enlarged(row, size=image.size), objects=objects[:_MOST_BOXES], size=image.size)
            for row, (image, objects) in zip(logits, rows, strict=True)
        ]


def _named(*, logits: npt.NDArray[np.float32], objects: Sequence[Detection], size: tuple[int, int]) -> Masks:
    """A mask for each object. Pixels of several masks belong to the most confident one."""
    own = logits[: len(objects)]
    inside = (own > 0) & (own == own.max(axis=0, keepdims=True)) if len(objects) else own > 0
    items = [
        Mask(detection.name, pixels, score=_score(detection.score))
        for detection, pixels in zip(objects, inside, strict=True)
        if pixels.any()
    ]
    return Masks(size, tuple(items))


class PointsExpert(SegmentingExpert):
    """From an image and one to three points on one thing to its mask, without a name; none for the background."""

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        images = [image_of(item) for item in batch]
        rows = [
            (image, points_of(text_of(item, name="prompt_points"), size=image.size))
            for item, image in zip(batch, images, strict=True)
        ]
        return [{"mask": masks} for masks in in_batches(rows, size=self.batch_size, run=self._batch)]

    def _batch(self, rows: Sequence[tuple[Image, list[tuple[float, float]]]]) -> list[Masks]:
        places = torch.zeros(self.batch_size, 1, MOST_POINTS, 2)
        labels = torch.full((self.batch_size, 1, MOST_POINTS), NO_POINT, dtype=torch.int)
        for item, (image, points) in enumerate(rows):
            # The model's places are pixel indices too; it adds half a pixel itself.
            centres = self.scaled(torch.tensor(points) + 0.5, size=image.size) - 0.5
            places[item, 0, : len(points)] = centres
            labels[item, 0, : len(points)] = 1
        with torch.inference_mode():
            features = self.features([image for image, _ in rows])
            logits, overlaps = self.by_points(features=features, places=places, labels=labels)
        results: list[Masks] = []
        for row, overlap, (image, _) in zip(logits, overlaps[:, 0], rows, strict=True):
            pixels = enlarged(row, size=image.size)[0] > 0
            mask = Mask("", pixels, score=_score(float(overlap)))
            results.append(Masks(image.size, (mask,) if pixels.any() else ()))
        return results


class RoughMaskExpert(SegmentingExpert):
    """From an image and rough masks to exact masks with the same names. Empty masks are left out."""

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        images = [image_of(item) for item in batch]
        prompts: list[tuple[int, Mask]] = []
        for index, item in enumerate(batch):
            rough = value_of(item, name="prompt_mask", kind=Masks)
            require_size(findings=rough, name="prompt_mask", pixels=pixels_of(item))
            prompts += [(index, rough_mask) for rough_mask in rough.items if rough_mask.pixels.any()]
        refined: list[list[Mask]] = [[] for _ in batch]
        rows = [(images[index], rough) for index, rough in prompts]
        masks = in_batches(rows, size=self.batch_size, run=self._batch)
        for (index, _), mask in zip(prompts, masks, strict=True):
            if mask.pixels.any():
                refined[index].append(mask)
        return [{"mask": Masks(image.size, tuple(items))} for image, items in zip(images, refined, strict=True)]

    def _batch(self, rows: Sequence[tuple[Image, Mask]]) -> list[Mask]:
        prompts = torch.zeros(self.batch_size, 1, self._size, self._size, dtype=torch.bool)
        for prompt, (_, rough) in zip(prompts, rows, strict=True):
            pixels = torch.from_numpy(rough.pixels.astype(np.float32))[None, None]
            prompt[0] = F.interpolate(pixels, size=self._size, mode="area")[0, 0] >= _COVERED
        with torch.inference_mode():
            logits, overlaps = self.by_masks(features=self.features([image for image, _ in rows]), masks=prompts)
        return [
            Mask(rough.label, enlarged(row, size=image.size)[0] > 0, score=_score(overlap))
            for row, overlap, (image, rough) in zip(logits, overlaps[:, 0], rows, strict=True)
        ]


class EverythingExpert(SegmentingExpert):
    """From an image to a picture with one colour per segment on a black background.

    Prompts are `grid` x `grid` points. Segments are the masks whose predicted overlap reaches `threshold`, after
    non-maximum suppression.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._grid = whole_number(spec=spec, name="grid", default=8)
        self._threshold = number(spec=spec, name="threshold", default=0.5)

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        images = [image_of(item) for item in batch]
        segments = in_batches(images, size=self.batch_size, run=self.segments)
        return [
            {"segmentation": coloured(planes, size=image.size)} for planes, image in zip(segments, images, strict=True)
        ]

    def segments(self, images: Sequence[Image]) -> list[list[Plane]]:
        """The segments in each image of a full batch, most confident first."""
        side = (torch.arange(self._grid) + 0.5) * self._size / self._grid - 0.5
        y, x = torch.meshgrid(side, side, indexing="ij")
        points = torch.stack([x.flatten(), y.flatten()], dim=-1)[None, :, None].expand(self.batch_size, -1, -1, -1)
        places = torch.zeros(*points.shape[:2], MOST_POINTS, 2)
        places[:, :, :1] = points
        labels = torch.full(places.shape[:3], NO_POINT, dtype=torch.int)
        labels[:, :, 0] = 1
        with torch.inference_mode():
            logits, overlaps = self.by_points(features=self.features(images), places=places, labels=labels)
        return [
            distinct(masks=enlarged(row, size=image.size) > 0, scores=scores.cpu().numpy(), least=self._threshold)
            for row, scores, image in zip(logits, overlaps, images, strict=True)
        ]


def distinct(*, masks: npt.NDArray[np.bool_], scores: npt.NDArray[np.float32], least: float) -> list[Plane]:
    """The masks after non-maximum suppression, most confident first.

    Args:
        masks: shape (masks, height, width).
        scores: shape (masks,).
        least: minimum score.
    """
    selected: list[Plane] = []
    for index in np.argsort(-scores, kind="stable"):
        mask = masks[index]
        if scores[index] < least or not mask.any():
            continue
        if all((mask & other).sum() < _OVERLAP * (mask | other).sum() for other in selected):
            selected.append(mask)
    return selected


def coloured(segments: Sequence[Plane], *, size: tuple[int, int]) -> Image:
    """Segments in distinct colours on black, the first one on top.

    Colours are assigned from left to right, so that they do not depend on the model's confidence.
    """
    width, height = size
    pixels = np.zeros((height, width, 3), dtype=np.uint8)
    order = sorted(range(len(segments)), key=lambda index: float(np.nonzero(segments[index])[1].mean()))
    places = {segment: place for place, segment in enumerate(order)}
    for index in reversed(range(len(segments))):
        # Bright colours, with distant hues for neighbours.
        hue, saturation = (places[index] * _GOLDEN) % 1.0, 1.0 - 0.35 * (places[index] % 2)
        pixels[segments[index]] = [round(255 * level) for level in colorsys.hsv_to_rgb(hue, saturation, 1.0)]
    return PillowImage.fromarray(pixels)
