"""Instance segmentation with a DETR for panoptic segmentation."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import DetrConfig, DetrForSegmentation, DetrImageProcessorPil, ResNetConfig

from evaluator.core.expert import ExpertSpec
from evaluator.core.values import MOST_ITEMS, MOST_PIXELS, Image, Mask, Masks, Value
from evaluator.execution.experts.imaging import Pixels, image_of, in_fixed_batches, stack, to_tensor
from evaluator.execution.experts.preparation import Preparation
from evaluator.execution.experts.pretrained import load_pretrained
from evaluator.execution.experts.weights import WeightsError

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
"""Names of a ResNet's parameters in timm, as the released file has them, and in `transformers`."""
_OF_TIMM = ("backbone", "use_timm_backbone", "use_pretrained_backbone", "dilation", "backbone_kwargs")
_RESNET = "resnet50"
_STAGES = ["stage1", "stage2", "stage3", "stage4"]

Found = list[tuple[str, float, Any]]
"""Name, score and pixels (a bool array of the picture's size) of each segment."""


class PanopticExpert:
    """Any image in, a mask with a name for each segment out, the surest first; no pixel is in two of them.

    The names are those of COCO's things and stuff. Segments count from the score `threshold` of the profile's
    parameters on; pixels where a mask is at least 0.5, if that is at least half of what the mask would cover alone.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        self._batch_size = spec.batch_size
        self._device = device
        self._model = load_panoptic(folder=spec.path, device=device, precision=spec.precision)
        self._names: dict[int, str] = {int(k): str(v) for k, v in self._model.config.id2label.items()}
        self._preparation = Preparation(DetrImageProcessorPil, folder=spec.path, size=800)
        self._segments = DetrImageProcessorPil().post_process_panoptic_segmentation
        self._threshold = float(spec.parameters.get("threshold", 0.9))  # type: ignore[arg-type]

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        """See `Expert.run`."""
        if not batch:
            return []
        images = [image_of(item) for item in batch]
        pixels = stack([self._preparation.resized(image) for image in images])
        size = images[0].size  # one for all: see `Expert.run`
        found = in_fixed_batches(
            pixels=pixels, batch_size=self._batch_size, run=lambda chunk: self._found(chunk, size=size)
        )
        return [{"mask": _masks(segments, image=image)} for segments, image in zip(found, images, strict=True)]

    def _found(self, pixels: Pixels, *, size: tuple[int, int]) -> list[Found]:
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
                (self._names[one["label_id"]], float(one["score"]), (found["segmentation"] == one["id"]).numpy())
                for one in found["segments_info"]
            ]
            for found in maps
        ]


def load_panoptic(*, folder: Path, device: str, precision: str) -> DetrForSegmentation:
    """The model of a folder, with the ResNet of `transformers` in the place of timm's, which is the same network.

    Raises:
        WeightsError: weights and configuration do not belong together.
    """
    config = config_of(json.loads((folder / "config.json").read_text(encoding="utf-8")))
    model: DetrForSegmentation = load_pretrained(
        DetrForSegmentation, folder=folder, device=device, precision=precision, config=config, key_mapping=_FROM_TIMM
    )
    return model


def config_of(settings: Mapping[str, Any]) -> DetrConfig:
    """The configuration of a released file; where it names timm's ResNet-50, that of `transformers`.

    Raises:
        WeightsError: it names another backbone of timm.
    """
    if settings.get("backbone_config") is not None:
        return DetrConfig(**settings)
    if settings.get("backbone") != _RESNET or settings.get("dilation"):
        raise WeightsError(f"the backbone of the released model must be {_RESNET}, not {settings.get('backbone')}")
    plain = {key: value for key, value in settings.items() if key not in _OF_TIMM}
    return DetrConfig(**{**plain, "backbone_config": ResNetConfig(out_features=_STAGES)})


def _masks(found: Found, *, image: Image) -> Masks:
    """The surest segments, as many as findings may hold of a picture of this size."""
    most = min(MOST_ITEMS, MOST_PIXELS // (image.width * image.height))
    surest = sorted(found, key=lambda one: -one[1])[:most]
    return Masks(image.size, tuple(Mask(name, np.asarray(pixels), score=score) for name, score, pixels in surest))
