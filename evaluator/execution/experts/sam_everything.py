"""Segmentation of everything with a released Segment Anything, as its automatic mask generator does it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import SamImageProcessorPil, SamModel

from evaluator.core.expert import ExpertError, ExpertSpec
from evaluator.core.values import Image, Value
from evaluator.execution.experts.imaging import image_of
from evaluator.execution.experts.object_boxes import overlap
from evaluator.execution.experts.pretrained import load_pretrained
from evaluator.execution.experts.sampling import number
from evaluator.execution.experts.segmenting import Plane, coloured
from evaluator.execution.experts.texts import whole_number

_AT_ONCE = 64
"""Points of one call of the decoder."""
_MARGIN = 1.0
"""Of logits: a mask is stable if raising and lowering the threshold by it changes little."""
_SAME = 0.7
"""Overlap of boxes from which on the less sure mask is left out."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Masks that are good enough: logits (masks, height, width) in the model's square, and their scores (masks,)."""

    logits: Tensor
    scores: Tensor


class SegmentAnythingExpert:
    """Any image in, a picture out in which each segment has its own colour and the background is black.

    Prompts are `grid` x `grid` points, each with three masks. A mask counts if its predicted overlap reaches
    `threshold` and its stability `stability`; of masks whose boxes overlap by more than 0.7 the surest stays. Small
    segments lie on large ones. Pictures go through the model one by one.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        self._device = device
        self._model = load_pretrained(SamModel, folder=spec.path, device=device, precision=spec.precision)
        self._size = int(self._model.config.vision_config.image_size)
        self._processor = SamImageProcessorPil.from_pretrained(spec.path, local_files_only=True)
        if int(self._processor.size["longest_edge"]) != self._size:
            raise ExpertError(f"{spec.path}: pictures are prepared for another size than the model's {self._size}")
        self._grid = whole_number(spec=spec, name="grid", default=32)
        self._threshold = number(spec=spec, name="threshold", default=0.88)
        self._stability = number(spec=spec, name="stability", default=0.95)

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        """See `Expert.run`."""
        images = [image_of(item) for item in batch]
        return [{"segmentation": coloured(self.segments(image), size=image.size)} for image in images]

    def segments(self, image: Image) -> list[Plane]:
        """The segments of an image, the smallest first: bool arrays of its size."""
        prepared = self._processor(images=image, return_tensors="pt", input_data_format="channels_last")
        height, width = (int(side) for side in prepared["reshaped_input_sizes"][0])
        with torch.inference_mode():
            pixels = prepared["pixel_values"].to(device=self._device, dtype=self._model.dtype)
            seen = self._model.vision_encoder(pixels).last_hidden_state
            found = distinct(self._candidates(seen=seen, shown=(height, width)))
            planes = [self._plane(logits, shown=(height, width), size=image.size) for logits in found]
        return sorted((plane for plane in planes if plane.any()), key=lambda plane: int(plane.sum()))

    def _candidates(self, *, seen: Tensor, shown: tuple[int, int]) -> Candidates:
        side = (torch.arange(self._grid) + 0.5) / self._grid
        y, x = torch.meshgrid(side * shown[0], side * shown[1], indexing="ij")
        points = torch.stack([x.flatten(), y.flatten()], dim=-1)
        parts = [self._prompted(seen=seen, points=chunk) for chunk in torch.split(points, _AT_ONCE)]
        return Candidates(torch.cat([one.logits for one in parts]), torch.cat([one.scores for one in parts]))

    def _prompted(self, *, seen: Tensor, points: Tensor) -> Candidates:
        """What is good enough of the masks for some points, each of shape (2,)."""
        places = points[None, :, None].to(device=self._device, dtype=seen.dtype)
        labels = torch.ones(places.shape[:3], dtype=torch.int, device=self._device)
        output = self._model(image_embeddings=seen, input_points=places, input_labels=labels, multimask_output=True)
        logits = output.pred_masks[0].flatten(0, 1).float().cpu()
        scores = output.iou_scores[0].flatten().float().cpu()
        certain = (logits > _MARGIN).flatten(1).sum(dim=1)
        possible = (logits > -_MARGIN).flatten(1).sum(dim=1)
        kept = (scores >= self._threshold) & (possible > 0) & (certain >= self._stability * possible)
        return Candidates(logits[kept], scores[kept])

    def _plane(self, logits: Tensor, *, shown: tuple[int, int], size: tuple[int, int]) -> Plane:
        """A mask in the size of the picture: without what the model's square has beyond it."""
        square = F.interpolate(logits[None, None], size=self._size, mode="bilinear", align_corners=False)
        part = square[..., : shown[0], : shown[1]]
        plane: Plane = (F.interpolate(part, size=size[::-1], mode="bilinear", align_corners=False)[0, 0] > 0).numpy()
        return plane


def distinct(found: Candidates) -> list[Tensor]:
    """The logits of masks whose boxes are no other one's, the surest first."""
    kept: list[tuple[Tensor, tuple[int, int, int, int]]] = []
    for index in found.scores.argsort(descending=True, stable=True).tolist():
        box = _box(found.logits[index] > 0)
        if box is not None and all(overlap(box, other) <= _SAME for _, other in kept):
            kept.append((found.logits[index], box))
    return [logits for logits, _ in kept]


def _box(mask: Tensor) -> tuple[int, int, int, int] | None:
    """Left, top, right and bottom of a mask; None if it is empty."""
    rows, columns = mask.any(dim=1).nonzero().flatten(), mask.any(dim=0).nonzero().flatten()
    if not len(rows):
        return None
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1
