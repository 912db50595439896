"""Training of segmentation: a small Segment Anything that finds the part of a tableau that a prompt names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import SamConfig, SamMaskDecoderConfig, SamModel, SamPromptEncoderConfig, SamVisionConfig

from evaluator.execution.experts.segmentation import plane_of_boxes, plane_of_masks, plane_of_points
from evaluator.miniature.scenes import SIZE
from evaluator.miniature.tableaux.records import TABLEAU_LABELS
from evaluator.studies.experts import scene_encoder
from evaluator.studies.experts.data.bank import as_tensor
from evaluator.studies.experts.tableaux import detection
from evaluator.studies.experts.tableaux.data import Batch, draw_batch
from evaluator.studies.experts.tableaux.detection import patch_targets
from evaluator.studies.experts.tableaux.prompts import (
    Parts,
    boxes_around,
    draw_parts,
    points_on,
    roughened,
    with_background,
)
from evaluator.training.export import export_transformers

NAME = "segment-anything"
PATCH = 4
"""The decoder enlarges four times, so that masks have the size of the picture."""
_WIDTH = 96
_LAYERS = 3
_HEADS = 4
_LINED = 2.0
"""Weight of telling from the features of a patch which of its pixels show a part, and where parts end."""
_FRAMED = 10.0
"""Weight of telling where the box of the part lies that a patch shows: patches of one part become alike, so that one
point on it is enough."""
_NAMED = 0.25
"""Weight of naming the part that a patch shows."""
_PIXELS = 10.0
"""Weight of the cross-entropy of pixels beside the overlap of masks."""


def build() -> nn.Module:
    """A Segment Anything for 64x64 pixels with a stride of 4, all attention global."""
    vision = SamVisionConfig(
        hidden_size=_WIDTH,
        output_channels=_WIDTH,
        num_hidden_layers=_LAYERS,
        num_attention_heads=_HEADS,
        image_size=SIZE,
        patch_size=PATCH,
        mlp_dim=256,
        use_rel_pos=False,
        window_size=0,
        global_attn_indexes=list(range(_LAYERS)),
        num_pos_feats=_WIDTH // 2,
        initializer_range=0.02,
    )
    prompts = SamPromptEncoderConfig(hidden_size=_WIDTH, image_size=SIZE, patch_size=PATCH)
    decoder = SamMaskDecoderConfig(
        hidden_size=_WIDTH,
        mlp_dim=2 * _WIDTH,
        num_attention_heads=_HEADS,
        num_multimask_outputs=1,
        iou_head_hidden_dim=_WIDTH,
    )
    model = SamModel(
        SamConfig(
            vision_config=vision.to_dict(),
            prompt_encoder_config=prompts.to_dict(),
            mask_decoder_config=decoder.to_dict(),
        )
    )
    # The configuration's scale is for weights that replace it: neighbouring positions would have nothing in common.
    nn.init.normal_(model.shared_image_embedding.positional_embedding)
    return SegmentationModel(model)


class SegmentationModel(nn.Module):
    """Segment Anything with heads that say of each patch what it shows; only the former is kept."""

    def __init__(self, sam: nn.Module) -> None:
        super().__init__()
        self.sam = sam
        self.lines = nn.Linear(_WIDTH, 2 * PATCH**2)
        self.box = nn.Linear(_WIDTH, 4)
        self.name = nn.Linear(_WIDTH, len(TABLEAU_LABELS))


@torch.no_grad()
def begin(model: nn.Module, folders: Mapping[str, Path]) -> None:
    """Start from the first layers of the detector's backbone, whose patches are twice as wide."""
    assert isinstance(model, SegmentationModel)
    stored = load_file(folders["weights"] / detection.NAME / "model.safetensors")
    prefix = "model.backbone.model.beit."
    state = {name.removeprefix(prefix): value.float() for name, value in stored.items() if name.startswith(prefix)}
    found = model.sam.get_submodule("vision_encoder").load_state_dict(_as_sam(state), strict=False)
    assert not found.unexpected_keys, found.unexpected_keys


def _as_sam(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Weights of a BEiT under the names that Segment Anything gives the same parts."""
    projection = "embeddings.patch_embeddings.projection"
    side = SIZE // scene_encoder.PATCH
    positions = state["embeddings.position_embeddings"][:, 1:].reshape(1, side, side, _WIDTH).permute(0, 3, 1, 2)
    wider = F.interpolate(positions, size=SIZE // PATCH, mode="bilinear").permute(0, 2, 3, 1)
    kernels = state[f"{projection}.weight"]
    renamed = {
        "patch_embed.projection.weight": 4 * F.interpolate(kernels, size=PATCH, mode="bilinear"),
        "patch_embed.projection.bias": state[f"{projection}.bias"],
        "pos_embed": wider,
    }
    for layer in range(_LAYERS):
        here, there = _layer_of(state=state, layer=layer), f"layers.{layer}"
        renamed |= {f"{there}.{name}": value for name, value in here.items()}
    return renamed


_SAME = {
    "layernorm_before": "layer_norm1",
    "layernorm_after": "layer_norm2",
    "attention.o_proj": "attn.proj",
    "mlp.fc1": "mlp.lin1",
    "mlp.fc2": "mlp.lin2",
}
"""Parts of a layer of BEiT, and the same in Segment Anything."""


def _layer_of(*, state: Mapping[str, Tensor], layer: int) -> dict[str, Tensor]:
    """A layer, its queries, keys and values as one projection. Keys have no bias in BEiT."""
    here = f"layers.{layer}"
    renamed = {
        f"{new}.{kind}": state[f"{here}.{old}.{kind}"] for old, new in _SAME.items() for kind in ("weight", "bias")
    }
    weights = [state[f"{here}.attention.{name}_proj.weight"] for name in "qkv"]
    query, value = (state[f"{here}.attention.{name}_proj.bias"] for name in "qv")
    return {
        **renamed,
        "attn.qkv.weight": torch.cat(weights),
        "attn.qkv.bias": torch.cat([query, torch.zeros_like(query), value]),
    }


@dataclass(frozen=True, slots=True)
class SegmentationObjective:
    """Two parts of each tableau named by boxes, two by points, one by a rough mask; and the lines in each patch."""

    batch: int = 16

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        assert isinstance(model, SegmentationModel)
        batch = draw_batch(rng=rng, size=self.batch)
        seen = model.sam.vision_encoder(as_tensor(batch.pixels)).last_hidden_state  # type: ignore[operator]
        losses = [
            _mask_loss(*_from_boxes(model=model, seen=seen, batch=batch, rng=rng)),
            _mask_loss(*_from_points(model=model, seen=seen, batch=batch, rng=rng)),
            0.5 * _mask_loss(*_from_masks(model=model, seen=seen, batch=batch, rng=rng)),
        ]
        patches = seen.flatten(2).transpose(1, 2)
        return torch.stack(losses).sum() + _patch_loss(model=model, patches=patches, batch=batch)


def _patch_loss(*, model: SegmentationModel, patches: Tensor, batch: Batch) -> Tensor:
    """What each patch shows: its outlines and borders, and the box and the name of its part."""
    drawn = model.lines(patches).unflatten(-1, (2, PATCH**2))
    planes = (batch.owner >= 0, detection.borders_of(batch.owner))
    wanted = torch.stack([detection.in_patches(planes=plane, patch=PATCH) for plane in planes], dim=2)
    lines = F.binary_cross_entropy_with_logits(drawn, wanted)
    labels, boxes = patch_targets(batch=batch, patch=PATCH)
    there = labels >= 0
    distance = (model.box(patches)[there] - boxes[there]).abs().mean()
    names = detection.name_loss(logits=model.name(patches)[there], labels=labels[there])
    loss: Tensor = _LINED * lines + _FRAMED * distance + _NAMED * names
    return loss


_EACH = 2
"""Prompts of a kind for each tableau."""

_Answers = tuple[Tensor, Tensor, Tensor]
"""Logits of pixels and what is right, both of shape (prompts, 64, 64), and the predicted overlaps, (prompts,)."""


def _from_boxes(*, model: SegmentationModel, seen: Tensor, batch: Batch, rng: np.random.Generator) -> _Answers:
    parts = [draw_parts(batch=batch, rng=rng) for _ in range(_EACH)]
    boxes = torch.stack([boxes_around(masks=one.masks, rng=rng) for one in parts], dim=1)
    flat = boxes.flatten(0, 1)
    planes = plane_of_boxes(flat, size=SIZE)
    return _answers(output=_asked(model=model, seen=seen, planes=planes, input_boxes=flat[:, None]), parts=parts)


def _from_points(*, model: SegmentationModel, seen: Tensor, batch: Batch, rng: np.random.Generator) -> _Answers:
    parts = [with_background(parts=draw_parts(batch=batch, rng=rng), rng=rng) for _ in range(_EACH)]
    points = torch.stack([points_on(owner=batch.owner, numbers=one.numbers, rng=rng) for one in parts], dim=1)
    places, labels = points[..., :2].flatten(0, 1), points[..., 2].int().flatten(0, 1)
    planes = plane_of_points(places, labels=labels, size=SIZE)
    output = _asked(model=model, seen=seen, planes=planes, input_points=places[:, None], input_labels=labels[:, None])
    return _answers(output=output, parts=parts)


def _from_masks(*, model: SegmentationModel, seen: Tensor, batch: Batch, rng: np.random.Generator) -> _Answers:
    part = draw_parts(batch=batch, rng=rng)
    rough = torch.from_numpy(roughened(masks=part.masks, rng=rng))
    return _answers(output=_asked(model=model, seen=seen, planes=plane_of_masks(rough)), parts=[part])


def _asked(*, model: SegmentationModel, seen: Tensor, planes: Tensor, **prompts: Tensor) -> Any:
    return model.sam(
        image_embeddings=seen.repeat_interleave(len(planes) // len(seen), dim=0),
        input_masks=planes,
        multimask_output=False,
        **prompts,
    )


def _answers(*, output: Any, parts: Sequence[Parts]) -> _Answers:
    wanted = torch.from_numpy(np.stack([one.masks for one in parts], axis=1)).float()
    return output.pred_masks[:, 0, 0], wanted.flatten(0, 1), output.iou_scores[:, 0, 0]


def _mask_loss(logits: Tensor, wanted: Tensor, overlaps: Tensor) -> Tensor:
    """Cross-entropy of pixels, one minus the soft overlap, and the error of the predicted overlap."""
    pixels = F.binary_cross_entropy_with_logits(logits, wanted)
    shown = logits.sigmoid()
    both, either = (shown * wanted).sum(dim=(1, 2)), (shown + wanted).sum(dim=(1, 2))
    soft = 1 - (2 * both + 1) / (either + 1)
    found, right = logits.detach() > 0, wanted > 0
    common, all_ = (found & right).sum(dim=(1, 2)), (found | right).sum(dim=(1, 2))
    error = (overlaps - common / all_.clamp(min=1)).square()
    return _PIXELS * pixels + soft.mean() + error.mean()


def export(model: nn.Module, folder: Path) -> None:
    """Write Segment Anything."""
    assert isinstance(model, SegmentationModel)
    export_transformers(model.sam, folder)
