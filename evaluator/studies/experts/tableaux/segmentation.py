"""Training of segmentation: a small Segment Anything that segments the part of a tableau that a prompt selects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
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
"""Weight of predicting from the features of a patch which of its pixels show a part, and where parts end."""
_FRAMED = 10.0
"""Weight of predicting the box of the part that a patch shows: patches of one part become similar, so that one point
on it is enough."""
_NAMED = 0.25
"""Weight of predicting the name of the part that a patch shows."""
_PIXELS = 10.0
"""Weight of the cross-entropy of pixels relative to the overlap of masks."""


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
    # At the configured scale, which released weights replace, neighbouring positions would be unrelated.
    nn.init.normal_(model.shared_image_embedding.positional_embedding)
    return SegmentationModel(model)


class SegmentationModel(nn.Module):
    """Segment Anything with auxiliary heads on its patches, which are not exported."""

    def __init__(self, sam: nn.Module) -> None:
        super().__init__()
        self.sam = sam
        self.lines = nn.Linear(_WIDTH, 2 * PATCH**2)
        self.box = nn.Linear(_WIDTH, 4)
        self.name = nn.Linear(_WIDTH, len(TABLEAU_LABELS))


@torch.no_grad()
def begin(model: nn.Module, folders: Mapping[str, Path]) -> None:
    """Start from the first layers of the detector's backbone, a BEiT whose patches are twice as wide."""
    assert isinstance(model, SegmentationModel)
    state = scene_encoder.read_weights(
        folders["weights"] / detection.NAME / "model.safetensors", prefix="model.backbone.model.beit."
    )
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
        renamed |= {f"layers.{layer}.{name}": value for name, value in _layer_of(state=state, layer=layer).items()}
    encoder: Any = model.sam.get_submodule("vision_encoder")
    unexpected = encoder.load_state_dict(renamed, strict=False).unexpected_keys
    assert not unexpected, unexpected


_NAMES = {
    "layernorm_before": "layer_norm1",
    "layernorm_after": "layer_norm2",
    "attention.o_proj": "attn.proj",
    "mlp.fc1": "mlp.lin1",
    "mlp.fc2": "mlp.lin2",
}
"""Names of the parts of a layer in BEiT and in Segment Anything."""


def _layer_of(*, state: Mapping[str, Tensor], layer: int) -> dict[str, Tensor]:
    """A layer with queries, keys and values in one projection. Keys have no bias in BEiT."""
    here = f"layers.{layer}"
    renamed = {
        f"{new}.{kind}": state[f"{here}.{old}.{kind}"] for old, new in _NAMES.items() for kind in ("weight", "bias")
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
    """Two parts of each tableau selected by boxes, two by points, one by a rough mask; and the labels of each patch."""

    batch: int = 16

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        assert isinstance(model, SegmentationModel)
        batch = draw_batch(rng=rng, size=self.batch)
        seen = model.sam.vision_encoder(as_tensor(batch.pixels)).last_hidden_state  # type: ignore[operator]
        boxed = [draw_parts(batch=batch, rng=rng) for _ in range(_EACH)]
        boxes = torch.stack([boxes_around(masks=part.masks, rng=rng) for part in boxed], dim=1).flatten(0, 1)
        planes = plane_of_boxes(boxes, size=SIZE)
        losses = [_mask_loss(model=model, seen=seen, parts=boxed, planes=planes, input_boxes=boxes[:, None])]
        pointed = [with_background(parts=draw_parts(batch=batch, rng=rng), rng=rng) for _ in range(_EACH)]
        points = torch.stack([points_on(owner=batch.owner, numbers=part.numbers, rng=rng) for part in pointed], dim=1)
        places, labels = points[..., :2].flatten(0, 1), points[..., 2].int().flatten(0, 1)
        losses.append(
            _mask_loss(
                model=model,
                seen=seen,
                parts=pointed,
                planes=plane_of_points(places, labels=labels, size=SIZE),
                input_points=places[:, None],
                input_labels=labels[:, None],
            )
        )
        part = draw_parts(batch=batch, rng=rng)
        planes = plane_of_masks(torch.from_numpy(roughened(masks=part.masks, rng=rng)))
        losses.append(0.5 * _mask_loss(model=model, seen=seen, parts=[part], planes=planes))
        patches = seen.flatten(2).transpose(1, 2)
        return torch.stack(losses).sum() + _patch_loss(model=model, patches=patches, batch=batch)


def _patch_loss(*, model: SegmentationModel, patches: Tensor, batch: Batch) -> Tensor:
    """The loss of each patch: its outlines and borders, and the box and the name of its part."""
    drawn = model.lines(patches).unflatten(-1, (2, PATCH**2))
    planes = (batch.owner >= 0, detection.borders_of(batch.owner))
    targets = torch.stack([detection.in_patches(planes=plane, patch=PATCH) for plane in planes], dim=2)
    lines = F.binary_cross_entropy_with_logits(drawn, targets)
    labels, boxes = patch_targets(batch=batch, patch=PATCH)
    on_part = labels >= 0
    distance = (model.box(patches)[on_part] - boxes[on_part]).abs().mean()
    names = detection.name_loss(logits=model.name(patches)[on_part], labels=labels[on_part])
    loss: Tensor = _LINED * lines + _FRAMED * distance + _NAMED * names
    return loss


_EACH = 2
"""Prompts of a kind for each tableau."""


def _mask_loss(
    *, model: SegmentationModel, seen: Tensor, parts: Sequence[Parts], planes: Tensor, **prompts: Tensor
) -> Tensor:
    """Cross-entropy of pixels, one minus the soft overlap, and the error of the predicted overlap."""
    output = model.sam(
        image_embeddings=seen.repeat_interleave(len(planes) // len(seen), dim=0),
        input_masks=planes,
        multimask_output=False,
        **prompts,
    )
    logits, overlaps = output.pred_masks[:, 0, 0], output.iou_scores[:, 0, 0]
    masks = torch.from_numpy(np.stack([part.masks for part in parts], axis=1)).float().flatten(0, 1)
    pixels = F.binary_cross_entropy_with_logits(logits, masks)
    share = logits.sigmoid()
    both, either = (share * masks).sum(dim=(1, 2)), (share + masks).sum(dim=(1, 2))
    soft = 1 - (2 * both + 1) / (either + 1)
    predicted, right = logits.detach() > 0, masks > 0
    common, union = (predicted & right).sum(dim=(1, 2)), (predicted | right).sum(dim=(1, 2))
    error = (overlaps - common / union.clamp(min=1)).square()
    loss: Tensor = _PIXELS * pixels + soft.mean() + error.mean()
    return loss


def export(model: nn.Module, folder: Path) -> None:
    """Write Segment Anything."""
    assert isinstance(model, SegmentationModel)
    export_transformers(model.sam, folder)
