"""Training of pose estimation: ViTPose, first coarse, then on enlarged pictures.

The coarse estimator starts from the encoder of the image classifier and learns where limbs are. The shipped one starts
from the coarse one and sees the picture enlarged, so that its patches are smaller than the length of a limb.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import VitPoseBackboneConfig, VitPoseConfig, VitPoseForPoseEstimation

from evaluator.execution.experts.poses import CELL, places, presence
from evaluator.miniature.scenes import SIZE
from evaluator.miniature.tableaux.figures import LIMB_RADIUS
from evaluator.miniature.tableaux.records import LIMBS, Figure, Joint
from evaluator.studies.experts.data.bank import normalised
from evaluator.studies.experts.recognition import classifier_encoder
from evaluator.studies.experts.scene_encoder import trained
from evaluator.studies.experts.tableaux.data import draw_batch
from evaluator.training.export import export_transformers

NAME, COARSE = "pose", "coarse-pose"
_LARGE = 96
"""Pixels of a side of the enlarged picture."""
_SPREAD = 3.0
"""Standard deviation of the target heat maps in pixels."""
_LIMBS, _COVERED = 8.0, 8.0
"""Weight of limbs in the loss, and weight of a cell that shows one relative to other cells."""
_PATCH = 8
_CELLS = _PATCH // CELL
_POSITIONS = "backbone.embeddings.position_embeddings"
_PADDING = 2
"""Pixels by which ViTPose shifts its patches to the left and upwards."""
_KINDS = (0, 1, 1, 1, 1, 2)
"""Kinds of tableaux: most have a figure; the others are examples without one."""


class PoseModel(nn.Module):
    """The estimator with an auxiliary head for the limbs in every patch, which is not exported.

    Heat maps alone say little about what a patch shows; limbs teach it left from right, and where a bone lies.
    """

    def __init__(self, estimator: VitPoseForPoseEstimation) -> None:
        super().__init__()
        self.estimator = estimator
        self.limbs = nn.Linear(estimator.config.backbone_config.hidden_size, len(LIMBS) * _CELLS**2)

    def forward(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Heat maps, and logits of the limbs in each cell of the patches, shape (batch, limbs, cells, cells)."""
        patches: Tensor = self.estimator.backbone(values).feature_maps[-1]
        batch, count, width = patches.shape
        side = math.isqrt(count)
        limbs = self.limbs(patches).reshape(batch, side, side, len(LIMBS), _CELLS, _CELLS)
        maps: Tensor = self.estimator.head(patches.transpose(1, 2).reshape(batch, width, side, side))
        cells = limbs.permute(0, 3, 1, 4, 2, 5)
        return maps, cells.reshape(batch, len(LIMBS), side * _CELLS, side * _CELLS)


def build_coarse() -> nn.Module:
    """For pictures of the original size: 64 patches, heat maps of 32x32."""
    return _build(size=SIZE)


def build() -> nn.Module:
    """For enlarged pictures: 144 patches, heat maps of 48x48."""
    return _build(size=_LARGE)


def _build(*, size: int) -> nn.Module:
    names = {index: str(joint) for index, joint in enumerate(Joint)}
    config = VitPoseConfig(
        backbone_config=VitPoseBackboneConfig(
            image_size=[size, size],
            patch_size=[_PATCH, _PATCH],
            hidden_size=96,
            num_hidden_layers=4,
            num_attention_heads=4,
            mlp_ratio=3,
            out_features=["stage4"],
        ),
        scale_factor=_PATCH // CELL,
        use_simple_decoder=True,
        id2label=names,
        label2id={name: index for index, name in names.items()},
    )
    return PoseModel(VitPoseForPoseEstimation(config))


@torch.no_grad()
def begin_coarse(model: nn.Module, folders: Mapping[str, Path]) -> None:
    """Start from the encoder of the image classifier; parameters beyond its width keep their initial values."""
    backbone = model.get_submodule("estimator.backbone").state_dict()
    for name, value in classifier_encoder(folders, mlp=False).items():
        if name in backbone:
            backbone[name][tuple(slice(size) for size in value.shape)].copy_(value)


@torch.no_grad()
def begin(model: nn.Module, folders: Mapping[str, Path]) -> None:
    """Start from the coarse estimator; its position codes are interpolated for the larger picture."""
    assert isinstance(model, PoseModel)
    state = trained(COARSE, folders=folders)
    codes = state[_POSITIONS]
    before, after = (math.isqrt(value.shape[1] - 1) for value in (codes, model.estimator.get_parameter(_POSITIONS)))
    grid = codes[:, 1:].transpose(1, 2).reshape(len(codes), -1, before, before)
    spread = F.interpolate(grid, size=(after, after), mode="bilinear").flatten(2).transpose(1, 2)
    model.estimator.load_state_dict(state | {_POSITIONS: torch.cat([codes[:, :1], spread], dim=1)})


@dataclass(frozen=True, slots=True)
class PoseObjective:
    """Cross-entropy of heat maps, the error of the joints read from them, and whether there is a figure."""

    size: int = _LARGE
    """Side in pixels to which pictures are enlarged."""
    batch: int = 16

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        batch = draw_batch(rng=rng, size=self.batch, kinds=_KINDS)
        figures = [tableau.figure for tableau in batch.tableaux]
        present = torch.tensor([figure is not None for figure in figures])
        zoom = self.size / SIZE
        values = F.interpolate(normalised(batch.pixels), size=(self.size, self.size), mode="bilinear")
        maps, limbs = model(values)
        joints = torch.from_numpy(joint_places([figure for figure in figures if figure is not None]))
        joints = (joints + 0.5) * zoom - 0.5
        heat = F.cross_entropy(
            maps[present].flatten(0, 1).flatten(1), _heat(joints, size=self.size).flatten(0, 1).flatten(1)
        )
        error = F.smooth_l1_loss(places(maps[present]) / zoom, joints / zoom)
        figure_loss = F.binary_cross_entropy_with_logits(presence(maps), present.float())
        limb_loss = F.binary_cross_entropy_with_logits(
            limbs[present], _limb_cells(joints, size=self.size), pos_weight=torch.tensor(_COVERED)
        )
        return 0.5 * heat + error + figure_loss + _LIMBS * limb_loss


def joint_places(figures: Sequence[Figure]) -> np.ndarray:
    """x and y of all joints in pixels, float32 of shape (figures, joints, 2)."""
    rows = [[figure.joints[joint] for joint in Joint] for figure in figures]
    return np.asarray(rows, dtype=np.float32).reshape(len(figures), len(Joint), 2)


def _heat(joints: Tensor, *, size: int) -> Tensor:
    """A Gaussian around each joint with a sum of 1, shape (figures, joints, cells, cells)."""
    cells = torch.arange(size // CELL) * CELL + (CELL - 1) / 2
    across = torch.exp(-(((cells - joints[..., :1]) / _SPREAD) ** 2) / 2)
    down = torch.exp(-(((cells - joints[..., 1:]) / _SPREAD) ** 2) / 2)
    bell = down[..., :, None] * across[..., None, :]
    return bell / bell.sum(dim=(-2, -1), keepdim=True)


def _limb_cells(joints: Tensor, *, size: int) -> Tensor:
    """Which cells of the patches a limb covers, shape (figures, limbs, cells, cells), from joints in pixels."""
    order = list(Joint)
    start = joints[:, [order.index(limb[0]) for limb in LIMBS], None, None]
    stop = joints[:, [order.index(limb[1]) for limb in LIMBS], None, None]
    line = torch.arange(size // CELL) * CELL + (CELL - 1) / 2 - _PADDING
    cells = torch.stack(torch.meshgrid(line, line, indexing="xy"), dim=-1)
    bone = stop - start
    along = (((cells - start) * bone).sum(dim=-1) / bone.square().sum(dim=-1).clamp(min=1e-6)).clamp(0, 1)
    away: Tensor = (cells - start - along[..., None] * bone).norm(dim=-1)
    return (away <= LIMB_RADIUS * size / SIZE).float()


def export(model: nn.Module, folder: Path) -> None:
    """Write the estimator."""
    assert isinstance(model, PoseModel)
    export_transformers(model.estimator, folder)
