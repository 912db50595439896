"""Training of Object Detection: a small RT-DETR on clean scenes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import BeitConfig, RTDetrConfig, RTDetrForObjectDetection

from evaluator.miniature.rendering import object_mask, outline_box
from evaluator.miniature.scenes import SIZE, draw_scene
from evaluator.miniature.seeds import Split
from evaluator.miniature.vocabulary import CLASS_LABELS, Colour, Shape
from evaluator.studies.experts.data.bank import Bank, as_tensor, rows_of
from evaluator.studies.experts.scene_encoder import PATCH, trained_encoder, vision_config
from evaluator.training.export import export_transformers

_WIDTH = 96
_MOST_THINGS = 4
_OUTLINED = 5.0
"""Weight of predicting for each pixel whether it belongs to an object."""
_NAMED = 3.0
"""Weight of the separate losses of colour and shape where there is an object."""


def build(*, names: Sequence[str] = CLASS_LABELS) -> nn.Module:
    """An RT-DETR for some class names on a plain Vision Transformer, with a stride of 8: small objects are ten pixels
    wide."""
    encoder = vision_config()
    model: nn.Module = RTDetrForObjectDetection(
        RTDetrConfig(
            # Without relative positions and layer scales, BEiT is a ViT that can be a backbone.
            backbone_config=BeitConfig(
                hidden_size=encoder.hidden_size,
                num_hidden_layers=encoder.num_hidden_layers,
                num_attention_heads=encoder.num_attention_heads,
                intermediate_size=encoder.intermediate_size,
                image_size=SIZE,
                patch_size=PATCH,
                use_absolute_position_embeddings=True,
                use_relative_position_bias=False,
                use_shared_relative_position_bias=False,
                use_mask_token=False,
                layer_scale_init_value=0.0,
                drop_path_rate=0.0,
                out_features=[f"stage{encoder.num_hidden_layers}"],
            ),
            encoder_in_channels=[encoder.hidden_size],
            encode_proj_layers=[0],
            feat_strides=[PATCH],
            num_feature_levels=1,
            encoder_hidden_dim=_WIDTH,
            encoder_ffn_dim=192,
            encoder_attention_heads=4,
            d_model=_WIDTH,
            decoder_in_channels=[_WIDTH],
            decoder_ffn_dim=192,
            decoder_layers=2,
            decoder_attention_heads=4,
            num_queries=16,
            num_denoising=16,
            weight_loss_vfl=2.0,
            id2label=dict(enumerate(names)),
            label2id={label: index for index, label in enumerate(names)},
        )
    )
    return DetectionModel(model)


class DetectionModel(nn.Module):
    """The detector with an auxiliary head for outlines, which determine the shape; the head is not exported."""

    def __init__(self, detector: nn.Module) -> None:
        super().__init__()
        self.detector = detector
        self.outlines = nn.Linear(_WIDTH, PATCH**2)


@torch.no_grad()
def begin(model: nn.Module, folders: Mapping[str, Path]) -> None:
    """Start from the encoder of clean scenes."""
    # A bias of the keys does not change attention, and BEiT has none.
    state = {
        name: value
        for name, value in trained_encoder(folders).items()
        if "k_proj.bias" not in name and not name.startswith("layernorm.")
    }
    # The encoder takes values from -1 to 1, RT-DETR from 0 to 1: the first layer compensates.
    projection = "embeddings.patch_embeddings.projection"
    state[f"{projection}.bias"] -= state[f"{projection}.weight"].sum(dim=(1, 2, 3))
    state[f"{projection}.weight"] *= 2
    model.get_submodule("detector.model.backbone.model.beit").load_state_dict(state)


def batch_of_targets(*, bank: Bank, indices: np.ndarray) -> list[dict[str, Tensor]]:
    """Classes and boxes (centre, width and height as shares of the picture) of the things in some scenes of a bank."""
    rows = torch.from_numpy(rows_of(_target_row, split=bank.split, count=len(bank)).take(indices))
    filled = [row[row[:, 0] >= 0] for row in rows]
    return [{"class_labels": row[:, 0].long(), "boxes": row[:, 1:]} for row in filled]


def _target_row(*, split: Split, index: int) -> np.ndarray:
    """Class and box of each thing; rows of -1 where there are fewer than `_MOST_THINGS`."""
    things = draw_scene(split=split, index=index).things
    corners = np.asarray([outline_box(thing) for thing in things], dtype=np.float32) / SIZE
    row = np.full((_MOST_THINGS, 5), -1, dtype=np.float32)
    row[: len(things), 0] = [CLASS_LABELS.index(thing.name) for thing in things]
    row[: len(things), 1:3] = (corners[:, :2] + corners[:, 2:]) / 2
    row[: len(things), 3:] = corners[:, 2:] - corners[:, :2]
    return row


def patch_masks(*, split: Split, index: int) -> np.ndarray:
    """Which pixels of each patch belong to an object, bool of shape (patches, pixels of a patch)."""
    mask = object_mask(draw_scene(split=split, index=index))
    side = SIZE // PATCH
    return mask.reshape(side, PATCH, side, PATCH).transpose(0, 2, 1, 3).reshape(side**2, PATCH**2)


def export(model: nn.Module, folder: Path) -> None:
    """Write the detector."""
    assert isinstance(model, DetectionModel)
    export_transformers(model.detector, folder)


@dataclass(frozen=True, slots=True)
class DetectionObjective:
    """RT-DETR's own loss with denoising queries, and a dense loss on the anchors from which it selects its queries.

    RT-DETR supervises only the selected anchors. In a training this short it pays to supervise each anchor, and colour
    and shape separately: outlines are learnt later than colours and gain little from a loss over 64 names.
    """

    bank: Bank
    batch: int = 32

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        # Denoising draws from torch's global generator; a step must depend on its own numbers only.
        torch.manual_seed(int(rng.integers(2**62)))
        indices = np.sort(rng.integers(len(self.bank), size=self.batch))
        labels = batch_of_targets(bank=self.bank, indices=indices)
        pixels = as_tensor(np.asarray(self.bank.pixels[indices]))
        assert isinstance(model, DetectionModel)
        output = model.detector(pixel_values=pixels, labels=labels)
        masks = torch.from_numpy(rows_of(patch_masks, split=self.bank.split, count=len(self.bank)).take(indices))
        features = output.encoder_last_hidden_state[0].flatten(2).transpose(1, 2)
        outlines = F.binary_cross_entropy_with_logits(model.outlines(features), masks.float())
        targets = [(item["class_labels"], item["boxes"], item["boxes"][:, :2]) for item in labels]
        dense = dense_loss(output=output, targets=targets, name_loss=_name_loss)
        own: Tensor = output.loss
        return own + dense + _OUTLINED * outlines


@cache
def anchor_points() -> Tensor:
    """Centres of the anchors as shares of the picture, x and y, shape (anchors, 2)."""
    side = (torch.arange(SIZE // PATCH) + 0.5) * PATCH / SIZE
    y, x = torch.meshgrid(side, side, indexing="ij")
    return torch.stack([x.flatten(), y.flatten()], dim=-1)


def dense_loss(
    *, output: Any, targets: Sequence[tuple[Tensor, Tensor, Tensor]], name_loss: Callable[..., Tensor]
) -> Tensor:
    """Focal loss of the classes of all anchors; L1 of the boxes, and `name_loss`, of the anchors on an object.

    Args:
        output: of RT-DETR.
        targets: for each picture the classes, the boxes, and the centres around which anchors lie on the object. If an
            anchor is near two objects, the later one counts: smaller and nearer objects come last.
        name_loss: takes `logits` and `labels`.
    """
    logits, boxes = output.enc_outputs_class, output.enc_outputs_coord_logits.sigmoid()
    classes, target_boxes = torch.zeros_like(logits), torch.zeros_like(boxes)
    on_object = torch.zeros(logits.shape[:2], dtype=torch.bool)
    points = anchor_points()
    for item, target in enumerate(targets):
        for label, box, centre in zip(*target, strict=True):
            near = ((points - centre).abs() <= (0.25 * box[2:]).clamp(min=0.5 * PATCH / SIZE)).all(dim=-1)
            classes[item, near] = F.one_hot(label, logits.shape[-1]).to(logits)
            target_boxes[item, near] = box
            on_object[item] |= near
    probability = logits.detach().sigmoid()
    weight = torch.where(classes > 0, torch.ones_like(logits), 0.75 * probability.square())
    cross = F.binary_cross_entropy_with_logits(logits, classes, weight=weight, reduction="sum")
    distance = (boxes - target_boxes).abs().sum(dim=-1)[on_object].sum()
    names = name_loss(logits=logits[on_object], labels=classes[on_object].argmax(dim=-1))
    dense: Tensor = 2 * (cross + 5 * distance) / on_object.sum().clamp(min=1) + _NAMED * names
    return dense


def _name_loss(*, logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy of colour and of shape, shapes (objects, 64) and (objects,)."""
    joint = logits.log_softmax(dim=-1).reshape(-1, len(Colour), len(Shape))
    colour = F.nll_loss(joint.logsumexp(dim=2), labels // len(Shape))
    shape = F.nll_loss(joint.logsumexp(dim=1), labels % len(Shape))
    return colour + shape
