"""Segmentation with released models: of everything with Segment Anything, of instances with a panoptic DETR."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import (
    DetrConfig,
    DetrForSegmentation,
    DetrImageProcessorPil,
    ResNetConfig,
    SamImageProcessorPil,
    SamModel,
)

from evaluator.core.expert import ExpertError, ExpertSpec
from evaluator.core.values import MOST_ITEMS, MOST_PIXELS, Image, Mask, Masks, Value
from evaluator.execution.experts.detection import overlap
from evaluator.execution.experts.imaging import Pixels, image_of, in_fixed_batches, stack, to_tensor
from evaluator.execution.experts.inputs import number, whole_number
from evaluator.execution.experts.pretrained import Preparation, load_model, load_pretrained
from evaluator.execution.experts.segmentation import Plane, coloured
from evaluator.execution.experts.weights import WeightsError

_AT_ONCE = 64
"""Points per call of the decoder."""
_MARGIN = 1.0
"""Change of the logits' threshold by which a mask's stability is measured."""
_SAME = 0.7
"""Overlap of boxes above which the less confident mask is suppressed."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Accepted masks: logits (masks, height, width) in the model's square, and scores (masks,)."""

    logits: Tensor
    scores: Tensor


class SegmentAnythingExpert:
    """From an image to a picture with one colour per segment on a black background.

    Prompts are `grid` x `grid` points, each with three masks. A mask is accepted if its predicted overlap reaches
    `threshold` and its stability `stability`; of masks whose boxes overlap by more than 0.7, the most confident
    remains. Small segments are on top of large ones. Pictures are processed one by one.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        self._device = device
        self._model = load_model(SamModel, spec=spec, device=device)
        self._size = int(self._model.config.vision_config.image_size)
        self._processor = SamImageProcessorPil.from_pretrained(spec.path, local_files_only=True)
        if int(self._processor.size["longest_edge"]) != self._size:
            raise ExpertError(f"{spec.path}: pictures are prepared for another size than the model's {self._size}")
        self._grid = whole_number(spec=spec, name="grid", default=32)
        self._threshold = number(spec=spec, name="threshold", default=0.88)
        self._stability = number(spec=spec, name="stability", default=0.95)

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        images = [image_of(item) for item in batch]
        return [{"segmentation": coloured(self.segments(image), size=image.size)} for image in images]

    def segments(self, image: Image) -> list[Plane]:
        """The segments of an image as bool arrays of its size, smallest first."""
        prepared = self._processor(images=image, return_tensors="pt", input_data_format="channels_last")
        height, width = (int(side) for side in prepared["reshaped_input_sizes"][0])
        with torch.inference_mode():
            pixels = prepared["pixel_values"].to(device=self._device, dtype=self._model.dtype)
            features = self._model.vision_encoder(pixels).last_hidden_state
            side = (torch.arange(self._grid) + 0.5) / self._grid
            y, x = torch.meshgrid(side * height, side * width, indexing="ij")
            points = torch.stack([x.flatten(), y.flatten()], dim=-1)
            parts = [self._prompted(features=features, points=chunk) for chunk in torch.split(points, _AT_ONCE)]
            candidates = Candidates(
                torch.cat([part.logits for part in parts]), torch.cat([part.scores for part in parts])
            )
            planes = []
            for logits in distinct(candidates):
                square = F.interpolate(logits[None, None], size=self._size, mode="bilinear", align_corners=False)
                # Without the padding of the model's square.
                part = square[..., :height, :width]
                mask = F.interpolate(part, size=image.size[::-1], mode="bilinear", align_corners=False)[0, 0] > 0
                planes.append(mask.numpy())
        return sorted((plane for plane in planes if plane.any()), key=lambda plane: int(plane.sum()))

    def _prompted(self, *, features: Tensor, points: Tensor) -> Candidates:
        """The accepted masks of points, shape (points, 2)."""
        places = points[None, :, None].to(device=self._device, dtype=features.dtype)
        labels = torch.ones(places.shape[:3], dtype=torch.int, device=self._device)
        output = self._model(image_embeddings=features, input_points=places, input_labels=labels, multimask_output=True)
        logits = output.pred_masks[0].flatten(0, 1).float().cpu()
        scores = output.iou_scores[0].flatten().float().cpu()
        certain = (logits > _MARGIN).flatten(1).sum(dim=1)
        possible = (logits > -_MARGIN).flatten(1).sum(dim=1)
        accepted = (scores >= self._threshold) & (possible > 0) & (certain >= self._stability * possible)
        return Candidates(logits[accepted], scores[accepted])


def distinct(candidates: Candidates) -> list[Tensor]:
    """The logits of masks after non-maximum suppression by their boxes, most confident first."""
    chosen: list[tuple[Tensor, tuple[int, int, int, int]]] = []
    for index in candidates.scores.argsort(descending=True, stable=True).tolist():
        mask = candidates.logits[index] > 0
        rows, columns = mask.any(dim=1).nonzero().flatten(), mask.any(dim=0).nonzero().flatten()
        if not len(rows):
            continue
        box = int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1
        if all(overlap(box, other) <= _SAME for _, other in chosen):
            chosen.append((candidates.logits[index], box))
    return [logits for logits, _ in chosen]


_FROM_TIMM = {
    r"backbone\.conv_encoder\.model\.conv1\.": "backbone.model.embedder.embedder.convolution.",
    r"backbone\.conv_encoder\.model\.bn1\.": "backbone.model.embedder.embedder.normalization.",
    **{
        rf"backbone\.conv_encoder\.model\.layer{stage + 1}\.(\d+)\.{old}\.": (
            rf"backbone.model.encoder.stages.{stage}.layers.\1.{new}."
        )
        for stage in range(4)
        for old, new in (
            (r"downsample\.0", "shortcut.convolution"),
            (r"downsample\.1", "shortcut.normalization"),
            *((f"conv{k + 1}", f"layer.{k}.convolution") for k in range(3)),
            *((f"bn{k + 1}", f"layer.{k}.normalization") for k in range(3)),
        )
    },
}
"""Names of a ResNet's parameters in timm, as in the released file, and in `transformers`."""
_OF_TIMM = ("backbone", "use_timm_backbone", "use_pretrained_backbone", "dilation", "backbone_kwargs")
_RESNET = "resnet50"
_STAGES = ["stage1", "stage2", "stage3", "stage4"]

Segments = list[tuple[str, float, Any]]
"""Name, score and pixels (a bool array of the picture's size) of each segment."""


class PanopticExpert:
    """From an image to disjoint masks with the names of COCO's things and stuff, most confident first.

    Includes segments with at least the score `threshold` of the profile's parameters, and pixels with at least the
    value 0.5, if these are at least half of the mask before the resolution of overlaps.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        self.batch_size = spec.batch_size
        self._device = device
        self._model = load_panoptic(folder=spec.path, device=device, precision=spec.precision)
        self._names: dict[int, str] = {int(k): str(v) for k, v in self._model.config.id2label.items()}
        self._preparation = Preparation(DetrImageProcessorPil, folder=spec.path, size=800)
        self._segments = DetrImageProcessorPil().post_process_panoptic_segmentation
        self._threshold = number(spec=spec, name="threshold", default=0.9)

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        if not batch:
            return []
        images = [image_of(item) for item in batch]
        pixels = stack([self._preparation.resized(image) for image in images])
        size = images[0].size  # equal within a batch: see `Expert.run`
        batch_segments = in_fixed_batches(
            pixels=pixels, batch_size=self.batch_size, run=lambda chunk: self._segmented(chunk, size=size)
        )
        return [{"mask": _masks(segments, image=image)} for segments, image in zip(batch_segments, images, strict=True)]

    def _segmented(self, pixels: Pixels, *, size: tuple[int, int]) -> list[Segments]:
        with torch.inference_mode():
            values = self._preparation.normalised(to_tensor(pixels=pixels, device=self._device))
            output = self._model(pixel_values=values.to(self._model.dtype))
            output.logits, output.pred_masks = output.logits.float().cpu(), output.pred_masks.float().cpu()
            maps = self._segments(
                output, threshold=self._threshold, mask_threshold=0.5, overlap_mask_area_threshold=0.5,
                label_ids_to_fuse=set(), target_sizes=[size[::-1]] * len(pixels),
            )  # fmt: skip
        return [
            [
                (
                    self._names[segment["label_id"]],
                    float(segment["score"]),
                    (panoptic["segmentation"] == segment["id"]).numpy(),
                )
                for segment in panoptic["segments_info"]
            ]
            for panoptic in maps
        ]


def load_panoptic(*, folder: Path, device: str, precision: str) -> DetrForSegmentation:
    """The model of a folder, with the ResNet of `transformers` instead of timm's equivalent one.

    Raises:
        WeightsError: the weights do not match the configuration.
    """
    config = config_of(json.loads((folder / "config.json").read_text(encoding="utf-8")))
    model: DetrForSegmentation = load_pretrained(
        DetrForSegmentation, folder=folder, device=device, precision=precision, config=config, key_mapping=_FROM_TIMM
    )
    return model


def config_of(settings: Mapping[str, Any]) -> DetrConfig:
    """The configuration of a released file, with the ResNet-50 of `transformers` instead of timm's.

    Raises:
        WeightsError: it names another backbone of timm.
    """
    if settings.get("backbone_config") is not None:
        return DetrConfig(**settings)
    if settings.get("backbone") != _RESNET or settings.get("dilation"):
        raise WeightsError(f"the backbone of the released model must be {_RESNET}, not {settings.get('backbone')}")
    plain = {key: value for key, value in settings.items() if key not in _OF_TIMM}
    return DetrConfig(**{**plain, "backbone_config": ResNetConfig(out_features=_STAGES)})


def _masks(segments: Segments, *, image: Image) -> Masks:
    """The most confident segments, up to the limits of masks for a picture of this size."""
    most = min(MOST_ITEMS, MOST_PIXELS // (image.width * image.height))
    surest = sorted(segments, key=lambda segment: -segment[1])[:most]
    return Masks(image.size, tuple(Mask(name, np.asarray(pixels), score=score) for name, score, pixels in surest))
