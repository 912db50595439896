"""Training of pose estimation: ViTPose, which begins with the encoder of the image classifier."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import VitPoseBackboneConfig, VitPoseConfig, VitPoseForPoseEstimation

from evaluator.experts.posing import CELL, places, presence
from evaluator.training.experts.recognition import normalised
from evaluator.training.experts.tableaux.data import draw_batch
from evaluator.training.experts.tableaux.shipped_encoder import classifier_encoder
from evaluator.world.scenes import SIZE
from evaluator.world.tableaux import Figure, Joint

NAME = "pose"
_SPREAD = 3.0
"""Standard deviation of the wanted heat maps in pixels."""
_KINDS = (0, 1, 1, 1, 1, 2)
"""Most tableaux have a figure; the others teach what a picture without one looks like."""


def build() -> nn.Module:
    """A ViT of four layers over 8x8 pixels, and heat maps of 32x32."""
    names = {index: str(joint) for index, joint in enumerate(Joint)}
    model: nn.Module = VitPoseForPoseEstimation(
        VitPoseConfig(
            backbone_config=VitPoseBackboneConfig(
                image_size=[SIZE, SIZE],
                patch_size=[8, 8],
                hidden_size=96,
                num_hidden_layers=4,
                num_attention_heads=4,
                mlp_ratio=3,
                out_features=["stage4"],
            ),
            scale_factor=8 // CELL,
            use_simple_decoder=True,
            id2label=names,
            label2id={name: index for index, name in names.items()},
        )
    )
    return model


@torch.no_grad()
def begin(model: nn.Module, folders: Mapping[str, Path]) -> None:
    """Start from the encoder of the image classifier; what is wider here than there stays as it is."""
    backbone = model.get_submodule("backbone").state_dict()
    for name, value in classifier_encoder(folders).items():
        if name in backbone:
            backbone[name][tuple(slice(size) for size in value.shape)].copy_(value)


@dataclass(frozen=True, slots=True)
class PoseObjective:
    """Cross-entropy of heat maps, the error of the places read from them, and whether there is a figure at all."""

    batch: int = 16

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        batch = draw_batch(rng=rng, size=self.batch, kinds=_KINDS)
        figures = [tableau.figure for tableau in batch.tableaux]
        there = torch.tensor([figure is not None for figure in figures])
        maps: Tensor = model(pixel_values=normalised(batch.pixels)).heatmaps
        wanted = torch.from_numpy(joint_places([figure for figure in figures if figure is not None]))
        heat = F.cross_entropy(maps[there].flatten(0, 1).flatten(1), _heat(wanted).flatten(0, 1).flatten(1))
        error = F.smooth_l1_loss(places(maps[there]), wanted)
        return 0.5 * heat + error + F.binary_cross_entropy_with_logits(presence(maps), there.float())


def joint_places(figures: Sequence[Figure]) -> np.ndarray:
    """x and y of all joints in pixels, float32 of shape (figures, joints, 2)."""
    rows = [[figure.joints[joint] for joint in Joint] for figure in figures]
    return np.asarray(rows, dtype=np.float32).reshape(len(figures), len(Joint), 2)


def _heat(wanted: Tensor) -> Tensor:
    """A bell around each joint that sums up to 1, shape (figures, joints, cells, cells)."""
    cells = torch.arange(SIZE // CELL) * CELL + (CELL - 1) / 2
    across = torch.exp(-(((cells - wanted[..., :1]) / _SPREAD) ** 2) / 2)
    down = torch.exp(-(((cells - wanted[..., 1:]) / _SPREAD) ** 2) / 2)
    bell = down[..., :, None] * across[..., None, :]
    return bell / bell.sum(dim=(-2, -1), keepdim=True)
