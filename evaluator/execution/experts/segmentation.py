"""Segmentation with Segment Anything: by boxes of a detector, by points, by rough masks, and of everything."""

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
"""Of one prompt: Segment Anything is trained with no more."""
NO_POINT = -1
"""Label of a place that is left empty."""
_REACH = 2.0
"""Radius in pixels of a point in a plane."""

_POINT = r"\s*(\d+(?:\.\d+)?)\s*,\s*(\d+(?:\.\d+)?)\s*"
_POINTS = re.compile(rf"{_POINT}(?:;{_POINT})*;?\s*", re.ASCII)


def points_of(text: str, *, size: tuple[int, int]) -> list[tuple[float, float]]:
    """The points that a text such as `12,30; 40,8` names: column and row of a pixel, from 0.

    Args:
        text: the points.
        size: width and height of the picture.

    Raises:
        InputError: the text names no points, too many, or one outside the picture.
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
    """Masks, bool of shape (prompts, height, width), as Segment Anything takes them: 1 inside, -1 outside.

    Returns:
        Float32 of shape (prompts, 1, height, width).
    """
    return masks[:, None].float() * 2 - 1


def plane_of_boxes(boxes: Tensor, *, size: int) -> Tensor:
    """Boxes as filled rectangles.

    The tokens of a box alone say where it is in random waves, which a small model learns to read slowly; it gets the
    box as a rough mask too.

    Args:
        boxes: left, top, right and bottom in pixels, shape (prompts, 4).
        size: of the square picture in pixels.

    Returns:
        As `plane_of_masks`.
    """
    y, x = _centres(size)
    left, top, right, bottom = boxes[:, :, None, None].unbind(dim=1)
    return plane_of_masks((x >= left) & (x <= right) & (y >= top) & (y <= bottom))


def plane_of_points(places: Tensor, *, labels: Tensor, size: int) -> Tensor:
    """Points as discs, for the reason given in `plane_of_boxes`.

    Args:
        places: column and row of pixels, shape (prompts, points, 2).
        labels: 1 for a point, -1 for a place that is left empty, shape (prompts, points).
        size: of the square picture in pixels.

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
"""Of one image: the detector has no more queries."""
_COVERED = 0.5
"""Share of a pixel of the model that a rough mask must cover, if the picture has another size."""
_GOLDEN = 0.618034
"""Fraction of the golden ratio: its multiples are spread evenly."""
_OVERLAP = 0.5
"""From which on two masks are one segment."""

Answers = tuple[Tensor, Tensor]
"""Logits of pixels and predicted overlaps, shapes (batch, prompts, height, width) and (batch, prompts)."""

Plane = npt.NDArray[np.bool_]
"""The pixels of a mask, shape (height, width)."""


class SegmentingExpert:
    """Base of experts on Segment Anything: one mask for each prompt, in batches of one fixed size."""

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        self._batch_size = spec.batch_size
        self._device = device
        self._model = load_model(SamModel, spec=spec, device=device)
        self._size = int(self._model.config.vision_config.image_size)
        self._preparation = Preparation(SamImageProcessorPil, folder=spec.path, size=self._size, normalises=False)

    def features(self, images: Sequence[Image]) -> Tensor:
        """The model's features of as many images as a batch has."""
        pixels = np.stack([np.asarray(self._preparation.resized(image), dtype=np.uint8) for image in images])
        values = self._preparation.normalised(to_tensor(pixels=pixels, device=self._device))
        return cast(Tensor, self._model.vision_encoder(values.to(self._model.dtype)).last_hidden_state)

    def by_boxes(self, *, features: Tensor, boxes: Tensor) -> Answers:
        """One mask for each box: left, top, right and bottom in pixels, shape (batch, boxes, 4)."""
        flat = boxes.flatten(0, 1)
        planes = plane_of_boxes(flat, size=self._size)
        return self._masks(features=features, planes=planes, input_boxes=flat[:, None])

    def by_points(self, *, features: Tensor, places: Tensor, labels: Tensor) -> Answers:
        """One mask for some points each, shapes (batch, prompts, points, 2) and (batch, prompts, points)."""
        flat, there = places.flatten(0, 1), labels.flatten(0, 1)
        planes = plane_of_points(flat, labels=there, size=self._size)
        return self._masks(features=features, planes=planes, input_points=flat[:, None], input_labels=there[:, None])

    def by_masks(self, *, features: Tensor, masks: Tensor) -> Answers:
        """One mask for each rough mask, bool of shape (batch, masks, height, width)."""
        return self._masks(features=features, planes=plane_of_masks(masks.flatten(0, 1)))

    def _masks(self, *, features: Tensor, planes: Tensor, **prompts: Tensor) -> Answers:
        """Logits of pixels and predicted overlaps, shapes (batch, prompts, height, width) and (batch, prompts)."""
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
        """Places in a picture of this width and height, x and y last, as places in the model's square."""
        return points * (self._size / points.new_tensor(size))


def enlarged(logits: Tensor, *, size: tuple[int, int]) -> npt.NDArray[np.float32]:
    """Logits of masks in the size of a picture (width, height), shape (prompts, height, width)."""
    if tuple(logits.shape[-2:]) != size[::-1]:
        logits = F.interpolate(logits[None], size=size[::-1], mode="bilinear", align_corners=False)[0]
    return logits.cpu().numpy()


def _score(value: float) -> float:
    return min(max(float(value), 0.0), 1.0)


class InstanceExpert(SegmentingExpert):
    """Any image in, a mask with a name for each object out, the surest first.

    The boxes of the expert that the profile lets it use are the prompts.
    """

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
        detections = self._detector.found([self._detector.prepare(image) for image in images])
        rows = list(zip(images, detections, strict=True))
        return [{"mask": masks} for masks in in_batches(rows, size=self._batch_size, run=self._batch)]

    def _batch(self, rows: Sequence[tuple[Image, list[Detection]]]) -> list[Masks]:
        prompts = torch.zeros(self._batch_size, _MOST_BOXES, 4)
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
    """A mask for each object; where two claim a pixel, it is of the one that is surer of it."""
    own = logits[: len(objects)]
    inside = (own > 0) & (own == own.max(axis=0, keepdims=True)) if len(objects) else own > 0
    items = [
        Mask(detection.name, pixels, score=_score(detection.score))
        for detection, pixels in zip(objects, inside, strict=True)
        if pixels.any()
    ]
    return Masks(size, tuple(items))


class PointsExpert(SegmentingExpert):
    """Segments what one to three points lie on; gives no mask for the background.

    All points are on one thing. The mask has no name.
    """

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        images = [image_of(item) for item in batch]
        rows = [
            (image, points_of(text_of(item, name="prompt_points"), size=image.size))
            for item, image in zip(batch, images, strict=True)
        ]
        return [{"mask": masks} for masks in in_batches(rows, size=self._batch_size, run=self._batch)]

    def _batch(self, rows: Sequence[tuple[Image, list[tuple[float, float]]]]) -> list[Masks]:
        places = torch.zeros(self._batch_size, 1, MOST_POINTS, 2)
        labels = torch.full((self._batch_size, 1, MOST_POINTS), NO_POINT, dtype=torch.int)
        for item, (image, points) in enumerate(rows):
            # The model takes places as numbers of pixels too, and adds half a pixel itself.
            centres = self.scaled(torch.tensor(points) + 0.5, size=image.size) - 0.5
            places[item, 0, : len(points)] = centres
            labels[item, 0, : len(points)] = 1
        with torch.inference_mode():
            features = self.features([image for image, _ in rows])
            logits, overlaps = self.by_points(features=features, places=places, labels=labels)
        found: list[Masks] = []
        for row, overlap, (image, _) in zip(logits, overlaps[:, 0], rows, strict=True):
            pixels = enlarged(row, size=image.size)[0] > 0
            mask = Mask("", pixels, score=_score(float(overlap)))
            found.append(Masks(image.size, (mask,) if pixels.any() else ()))
        return found


class RoughMaskExpert(SegmentingExpert):
    """An image and rough masks in, exact masks with the same names out, each on its own.

    A mask without pixels names nothing and is left out.
    """

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        images = [image_of(item) for item in batch]
        prompts: list[tuple[int, Mask]] = []
        for index, item in enumerate(batch):
            rough = value_of(item, name="prompt_mask", kind=Masks)
            require_size(found=rough, name="prompt_mask", pixels=pixels_of(item))
            prompts += [(index, rough_mask) for rough_mask in rough.items if rough_mask.pixels.any()]
        refined: list[list[Mask]] = [[] for _ in batch]
        rows = [(images[index], rough) for index, rough in prompts]
        masks = in_batches(rows, size=self._batch_size, run=self._batch)
        for (index, _), mask in zip(prompts, masks, strict=True):
            if mask.pixels.any():
                refined[index].append(mask)
        return [{"mask": Masks(image.size, tuple(items))} for image, items in zip(images, refined, strict=True)]

    def _batch(self, rows: Sequence[tuple[Image, Mask]]) -> list[Mask]:
        prompts = torch.zeros(self._batch_size, 1, self._size, self._size, dtype=torch.bool)
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
    """Any image in, a picture out in which each segment has its own colour and the background is black.

    Prompts are `grid` x `grid` points; segments are those whose predicted overlap reaches `threshold`, the surest
    first, without those that are there already.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._grid = whole_number(spec=spec, name="grid", default=8)
        self._threshold = number(spec=spec, name="threshold", default=0.5)

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        images = [image_of(item) for item in batch]
        segments = in_batches(images, size=self._batch_size, run=self.segments)
        return [
            {"segmentation": coloured(planes, size=image.size)} for planes, image in zip(segments, images, strict=True)
        ]

    def segments(self, images: Sequence[Image]) -> list[list[Plane]]:
        """The segments in each of as many images as a batch has, the surest first."""
        side = (torch.arange(self._grid) + 0.5) * self._size / self._grid - 0.5
        y, x = torch.meshgrid(side, side, indexing="ij")
        points = torch.stack([x.flatten(), y.flatten()], dim=-1)[None, :, None].expand(self._batch_size, -1, -1, -1)
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
    """The masks that are good enough and no other one, the surest first.

    Args:
        masks: shape (masks, height, width).
        scores: shape (masks,).
        least: the score that a mask needs.
    """
    kept: list[Plane] = []
    for index in np.argsort(-scores, kind="stable"):
        mask = masks[index]
        if scores[index] < least or not mask.any():
            continue
        if all((mask & other).sum() < _OVERLAP * (mask | other).sum() for other in kept):
            kept.append(mask)
    return kept


def coloured(segments: Sequence[Plane], *, size: tuple[int, int]) -> Image:
    """Segments in colours of their own on black, the surest one on top.

    Colours go by place, from left to right, so that they depend on what is shown and not on how sure a model is.
    """
    width, height = size
    pixels = np.zeros((height, width, 3), dtype=np.uint8)
    order = sorted(range(len(segments)), key=lambda index: float(np.nonzero(segments[index])[1].mean()))
    places = {segment: place for place, segment in enumerate(order)}
    for index in reversed(range(len(segments))):
        # Bright colours; those of neighbouring places lie far apart.
        hue, saturation = (places[index] * _GOLDEN) % 1.0, 1.0 - 0.35 * (places[index] % 2)
        pixels[segments[index]] = [round(255 * level) for level in colorsys.hsv_to_rgb(hue, saturation, 1.0)]
    return PillowImage.fromarray(pixels)
