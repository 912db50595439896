"""Training of Object Detection: a small RT-DETR on clean scenes."""

from collections.abc import Mapping, Sequence
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
from evaluator.studies.experts.data.bank import Bank, Rows, as_tensor
from evaluator.studies.experts.scene_encoder import PATCH, trained_encoder, vision_config
from evaluator.training.export import export_transformers

_WIDTH = 96
_MOST_THINGS = 4
_OUTLINED = 5.0
"""Weight of telling for each pixel whether it belongs to an object."""
_NAMED = 3.0
"""Weight of telling colour and shape apart, each on its own, where there is an object."""


def build(*, names: Sequence[str] = CLASS_LABELS) -> nn.Module:
    """An RT-DETR on a plain Vision Transformer, with a stride of 8: the smaller objects are ten pixels wide.

    Args:
        names: of its classes.
    """
    encoder = vision_config()
    model: nn.Module = RTDetrForObjectDetection(
        RTDetrConfig(
            # Without its relative positions and layer scales BEiT is a ViT that can be a backbone.
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
    """The detector with a head that draws outlines, which is where shapes come from; only the detector is kept."""

    def __init__(self, detector: nn.Module) -> None:
        super().__init__()
        self.detector = detector
        self.outlines = nn.Linear(_WIDTH, PATCH**2)


@torch.no_grad()
def begin(model: nn.Module, folders: Mapping[str, Path]) -> None:
    """Start from the encoder of clean scenes."""
    state = trained_encoder(folders)
    # A bias of the keys changes no attention; BEiT has none.
    kept = {k: v for k, v in state.items() if "k_proj.bias" not in k and not k.startswith("layernorm.")}
    # That encoder takes values from -1 to 1, RT-DETR from 0 to 1: the first layer makes up for it.
    projection = "embeddings.patch_embeddings.projection"
    kept[f"{projection}.bias"] -= kept[f"{projection}.weight"].sum(dim=(1, 2, 3))
    kept[f"{projection}.weight"] *= 2
    backbone = model.get_submodule("detector.model.backbone.model.beit")
    backbone.load_state_dict(kept)


def targets_of(*, split: Split, index: int) -> dict[str, Tensor]:
    """Classes and boxes (centre, width and height as shares of the picture) of the things of a scene."""
    things = draw_scene(split=split, index=index).things
    corners = np.asarray([outline_box(thing) for thing in things], dtype=np.float32) / SIZE
    boxes = np.concatenate([(corners[:, :2] + corners[:, 2:]) / 2, corners[:, 2:] - corners[:, :2]], axis=1)
    classes = [CLASS_LABELS.index(thing.name) for thing in things]
    return {"class_labels": torch.tensor(classes), "boxes": torch.from_numpy(boxes)}


def batch_of_targets(*, bank: Bank, indices: np.ndarray) -> list[dict[str, Tensor]]:
    """The targets of some scenes of a bank."""
    rows = torch.from_numpy(_target_rows(split=bank.split, count=len(bank)).take(indices))
    there = [row[row[:, 0] >= 0] for row in rows]
    return [{"class_labels": row[:, 0].long(), "boxes": row[:, 1:]} for row in there]


@cache
def _target_rows(*, split: Split, count: int) -> Rows:
    def row(index: int) -> np.ndarray:
        target = targets_of(split=split, index=index)
        values = np.full((_MOST_THINGS, 5), -1, dtype=np.float32)
        values[: len(target["boxes"])] = np.column_stack([target["class_labels"], target["boxes"]])
        return values

    return Rows(count=count, compute=lambda new: np.stack([row(int(index)) for index in new]))


def batch_of_masks(*, bank: Bank, indices: np.ndarray) -> Tensor:
    """The masks of some scenes of a bank, bool of shape (batch, patches, pixels of a patch)."""
    return torch.from_numpy(_mask_rows(split=bank.split, count=len(bank)).take(indices))


@cache
def _mask_rows(*, split: Split, count: int) -> Rows:
    return Rows(
        count=count, compute=lambda new: np.stack([patch_masks(split=split, index=int(i)).numpy() for i in new])
    )


def patch_masks(*, split: Split, index: int) -> Tensor:
    """Which pixels of each patch belong to an object, bool of shape (patches, pixels of a patch)."""
    mask = object_mask(draw_scene(split=split, index=index))
    side = SIZE // PATCH
    patches = mask.reshape(side, PATCH, side, PATCH).transpose(0, 2, 1, 3).reshape(side**2, PATCH**2)
    return torch.from_numpy(np.ascontiguousarray(patches))


def export(model: nn.Module, folder: Path) -> None:
    """Write the detector."""
    assert isinstance(model, DetectionModel)
    export_transformers(model.detector, folder)


@dataclass(frozen=True, slots=True)
class DetectionObjective:
    """RT-DETR's own loss with denoising queries, and a dense one on the anchors from which it picks its queries.

    RT-DETR supervises only the anchors that were picked. With this little training it pays to say for each anchor
    whether it lies on an object, and on which; and to ask for colour and shape apart, for outlines are learnt later
    than colours and get little out of a loss over 64 names.
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
        masks = batch_of_masks(bank=self.bank, indices=indices)
        features = output.encoder_last_hidden_state[0].flatten(2).transpose(1, 2)
        outlines = F.binary_cross_entropy_with_logits(model.outlines(features), masks.float())
        dense: Tensor = _dense_loss(output=output, labels=labels)
        own: Tensor = output.loss
        return own + dense + _OUTLINED * outlines


@cache
def anchor_points() -> Tensor:
    """Centres of the anchors as shares of the picture, shape (anchors, 2)."""
    side = (torch.arange(SIZE // PATCH) + 0.5) * PATCH / SIZE
    y, x = torch.meshgrid(side, side, indexing="ij")
    return torch.stack([x.flatten(), y.flatten()], dim=-1)


def _dense_loss(*, output: Any, labels: list[dict[str, Tensor]]) -> Tensor:
    """Focal loss of the classes of all anchors, and L1 of the boxes of those on an object."""
    logits, boxes = output.enc_outputs_class, output.enc_outputs_coord_logits.sigmoid()
    wanted, wanted_boxes = torch.zeros_like(logits), torch.zeros_like(boxes)
    on_object = torch.zeros(logits.shape[:2], dtype=torch.bool)
    points = anchor_points()
    for item, target in enumerate(labels):
        # The main object comes first, so that a smaller one beside it wins the anchors near both.
        for label, box in zip(target["class_labels"], target["boxes"], strict=True):
            near = ((points - box[:2]).abs() <= (0.25 * box[2:]).clamp(min=0.5 * PATCH / SIZE)).all(dim=-1)
            wanted[item, near] = F.one_hot(label, logits.shape[-1]).to(logits)
            wanted_boxes[item, near] = box
            on_object[item] |= near
    probability = logits.detach().sigmoid()
    weight = torch.where(wanted > 0, torch.ones_like(logits), 0.75 * probability.square())
    cross = F.binary_cross_entropy_with_logits(logits, wanted, weight=weight, reduction="sum")
    distance = (boxes - wanted_boxes).abs().sum(dim=-1)[on_object].sum()
    names = _name_loss(logits=logits[on_object], labels=wanted[on_object].argmax(dim=-1))
    dense: Tensor = 2 * (cross + 5 * distance) / on_object.sum().clamp(min=1) + _NAMED * names
    return dense


def _name_loss(*, logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy of colour and of shape, shapes (objects, 64) and (objects,)."""
    joint = logits.log_softmax(dim=-1).reshape(-1, len(Colour), len(Shape))
    colour = F.nll_loss(joint.logsumexp(dim=2), labels // len(Shape))
    shape = F.nll_loss(joint.logsumexp(dim=1), labels % len(Shape))
    return colour + shape
