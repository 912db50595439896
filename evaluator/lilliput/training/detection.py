"""Training of Object Detection: a small RT-DETR on clean scenes."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import RTDetrConfig, RTDetrForObjectDetection, RTDetrResNetConfig

from evaluator.lilliput.rendering import outline_box
from evaluator.lilliput.scenes import SIZE, draw_scene
from evaluator.lilliput.seeds import Split
from evaluator.lilliput.training.bank import Bank
from evaluator.lilliput.training.restoration import as_tensor
from evaluator.lilliput.vocabulary import CLASS_LABELS, Colour, Shape

_STRIDES = (4, 8, 16)
_ANCHORS = sum((SIZE // stride) ** 2 for stride in _STRIDES)
_NAMED = 3.0
"""Weight of telling colour and shape apart, each on its own, where there is an object."""


def build() -> nn.Module:
    """An RT-DETR with strides of 4 to 16: the smaller objects are ten pixels wide."""
    model: nn.Module = RTDetrForObjectDetection(
        RTDetrConfig(
            backbone_config=RTDetrResNetConfig(
                embedding_size=32,
                hidden_sizes=[32, 64, 96],
                depths=[1, 1, 1],
                layer_type="basic",
                out_features=["stage1", "stage2", "stage3"],
            ),
            freeze_backbone_batch_norms=False,
            encoder_in_channels=[32, 64, 96],
            feat_strides=list(_STRIDES),
            encoder_hidden_dim=64,
            encoder_ffn_dim=128,
            encoder_attention_heads=4,
            hidden_expansion=0.5,
            d_model=64,
            decoder_in_channels=[64, 64, 64],
            decoder_ffn_dim=128,
            decoder_layers=1,
            decoder_attention_heads=4,
            num_queries=16,
            num_denoising=16,
            weight_loss_vfl=2.0,
            id2label=dict(enumerate(CLASS_LABELS)),
            label2id={label: index for index, label in enumerate(CLASS_LABELS)},
        )
    )
    return model


@cache
def targets_of(*, split: Split, index: int) -> dict[str, Tensor]:
    """Classes and boxes (centre, width and height as shares of the picture) of the things of a scene."""
    things = draw_scene(split=split, index=index).things
    corners = np.asarray([outline_box(thing) for thing in things], dtype=np.float32) / SIZE
    boxes = np.concatenate([(corners[:, :2] + corners[:, 2:]) / 2, corners[:, 2:] - corners[:, :2]], axis=1)
    classes = [CLASS_LABELS.index(thing.name) for thing in things]
    return {"class_labels": torch.tensor(classes), "boxes": torch.from_numpy(boxes)}


@dataclass(frozen=True, slots=True)
class DetectionObjective:
    """RT-DETR's own loss with denoising queries, and a dense one on the anchors from which it picks its queries.

    RT-DETR supervises only the anchors that were picked. With this little training it pays to say for each anchor
    whether it lies on an object, and on which; and to ask for colour and shape apart, for outlines are learnt later
    than colours and get little out of a loss over 64 names.
    """

    bank: Bank
    batch: int = 24

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        # Denoising draws from torch's global generator; a step must depend on its own numbers only.
        torch.manual_seed(int(rng.integers(2**62)))
        indices = np.sort(rng.integers(len(self.bank), size=self.batch))
        labels = [targets_of(split=self.bank.split, index=int(index)) for index in indices]
        pixels = as_tensor(np.asarray(self.bank.pixels[indices]))
        output = model(pixel_values=pixels, labels=labels)
        dense: Tensor = _dense_loss(output=output, labels=labels)
        own: Tensor = output.loss
        return own + dense


@cache
def _anchor_points() -> Tensor:
    """Centres of the anchors of all levels as shares of the picture, shape (anchors, 2)."""
    levels = []
    for stride in _STRIDES:
        side = (torch.arange(SIZE // stride) + 0.5) * stride / SIZE
        y, x = torch.meshgrid(side, side, indexing="ij")
        levels.append(torch.stack([x.flatten(), y.flatten()], dim=-1))
    return torch.cat(levels)


def _dense_loss(*, output: Any, labels: list[dict[str, Tensor]]) -> Tensor:
    """Focal loss of the classes of all anchors, and L1 of the boxes of those on an object."""
    logits, boxes = output.enc_outputs_class, output.enc_outputs_coord_logits.sigmoid()
    wanted, wanted_boxes = torch.zeros_like(logits), torch.zeros_like(boxes)
    on_object = torch.zeros(logits.shape[:2], dtype=torch.bool)
    points = _anchor_points()
    for item, target in enumerate(labels):
        # The main object comes first, so that a smaller one beside it wins the anchors near both.
        for label, box in zip(target["class_labels"], target["boxes"], strict=True):
            near = ((points - box[:2]).abs() <= (0.25 * box[2:]).clamp(min=0.034)).all(dim=-1)
            wanted[item, near] = F.one_hot(label, logits.shape[-1]).to(logits)
            wanted_boxes[item, near] = box
            on_object[item] |= near
    probability = logits.detach().sigmoid()
    weight = torch.where(wanted > 0, torch.ones_like(logits), 0.75 * probability.square())
    cross = F.binary_cross_entropy_with_logits(logits, wanted, weight=weight, reduction="sum")
    distance = (boxes - wanted_boxes).abs().sum(dim=-1)[on_object].sum()
    names = _name_loss(logits=logits[on_object], labels=wanted[on_object].argmax(dim=-1))
    return 2 * (cross + 5 * distance) / on_object.sum().clamp(min=1) + _NAMED * names


def _name_loss(*, logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy of colour and of shape, shapes (objects, 64) and (objects,)."""
    joint = logits.log_softmax(dim=-1).reshape(-1, len(Colour), len(Shape))
    colour = F.nll_loss(joint.logsumexp(dim=2), labels // len(Shape))
    return colour + F.nll_loss(joint.logsumexp(dim=1), labels % len(Shape))
