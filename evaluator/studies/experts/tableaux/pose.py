"""Training of pose estimation: ViTPose, coarse at first, then on enlarged pictures.

The coarse estimator begins with the encoder of the image classifier and learns where limbs are; the one that is shipped
begins with the coarse one and sees the picture enlarged, so that its patches are smaller than a limb is long.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import VitPoseBackboneConfig, VitPoseConfig, VitPoseForPoseEstimation

from evaluator.execution.experts.poses import CELL, places, presence
from evaluator.miniature.scenes import SIZE
from evaluator.miniature.tableaux.figures import LIMB_RADIUS
from evaluator.miniature.tableaux.records import LIMBS, Figure, Joint
from evaluator.studies.experts.data.bank import normalised
from evaluator.studies.experts.recognition import classifier_encoder
from evaluator.studies.experts.tableaux.data import draw_batch
from evaluator.training.export import export_transformers

NAME, COARSE = "pose", "coarse-pose"
_LARGE = 96
"""Pixels of a side of the enlarged picture."""
_SPREAD = 3.0
"""Standard deviation of the wanted heat maps in pixels."""
_LIMBS, _COVERED = 8.0, 8.0
"""Weight of limbs in the loss, and what a cell that shows one counts against any other."""
_PATCH = 8
_CELLS = _PATCH // CELL
_POSITIONS = "backbone.embeddings.position_embeddings"
_PADDING = 2
"""Pixels by which ViTPose shifts its patches to the left and upwards."""
_KINDS = (0, 1, 1, 1, 1, 2)
"""Most tableaux have a figure; the others teach what a picture without one looks like."""


class PoseModel(nn.Module):
    """The estimator with a head that says of every patch which limbs pass through it where; only the former is kept.

    Heat maps alone say little about what a patch shows; limbs teach it left from right, and where a bone lies.
    """

    def __init__(self, estimator: VitPoseForPoseEstimation) -> None:
        super().__init__()
        self.estimator = estimator
        self.limbs = nn.Linear(estimator.config.backbone_config.hidden_size, len(LIMBS) * _CELLS**2)

    def forward(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Heat maps, and as logits of shape (batch, limbs, cells, cells) which cells of the patches show which limb."""
        patches: Tensor = self.estimator.backbone(values).feature_maps[-1]
        batch, count, width = patches.shape
        side = math.isqrt(count)
        limbs = self.limbs(patches).reshape(batch, side, side, len(LIMBS), _CELLS, _CELLS)
        maps: Tensor = self.estimator.head(patches.transpose(1, 2).reshape(batch, width, side, side))
        cells = limbs.permute(0, 3, 1, 4, 2, 5)
        return maps, cells.reshape(batch, len(LIMBS), side * _CELLS, side * _CELLS)


def build_coarse() -> nn.Module:
    """For pictures as they are: 64 patches, heat maps of 32x32."""
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
    """Start from the encoder of the image classifier; what is wider here than there stays as it is."""
    backbone = model.get_submodule("estimator.backbone").state_dict()
    for name, value in classifier_encoder(folders).items():
        if name in backbone:
            backbone[name][tuple(slice(size) for size in value.shape)].copy_(value)


@torch.no_grad()
def begin(model: nn.Module, folders: Mapping[str, Path]) -> None:
    """Start from the coarse estimator; the codes of its positions are spread over the larger picture."""
    assert isinstance(model, PoseModel)
    state = {k: v.float() for k, v in load_file(folders["work"] / COARSE / "model.safetensors").items()}
    codes = state[_POSITIONS]
    before, after = (math.isqrt(value.shape[1] - 1) for value in (codes, model.estimator.get_parameter(_POSITIONS)))
    grid = codes[:, 1:].transpose(1, 2).unflatten(2, (before, before))
    spread = F.interpolate(grid, size=(after, after), mode="bilinear").flatten(2).transpose(1, 2)
    model.estimator.load_state_dict(state | {_POSITIONS: torch.cat([codes[:, :1], spread], dim=1)})


@dataclass(frozen=True, slots=True)
class PoseObjective:
    """Cross-entropy of heat maps, the error of the places read from them, and whether there is a figure at all."""

    size: int = _LARGE
    """Pixels of a side to which pictures are enlarged."""
    batch: int = 16

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        batch = draw_batch(rng=rng, size=self.batch, kinds=_KINDS)
        figures = [tableau.figure for tableau in batch.tableaux]
        there = torch.tensor([figure is not None for figure in figures])
        zoom = self.size / SIZE
        values = F.interpolate(normalised(batch.pixels), size=(self.size, self.size), mode="bilinear")
        maps, limbs = model(values)
        found = torch.from_numpy(joint_places([figure for figure in figures if figure is not None]))
        wanted = (found + 0.5) * zoom - 0.5
        heat = F.cross_entropy(
            maps[there].flatten(0, 1).flatten(1), _heat(wanted, size=self.size).flatten(0, 1).flatten(1)
        )
        error = F.smooth_l1_loss(places(maps[there]) / zoom, wanted / zoom)
        seen = F.binary_cross_entropy_with_logits(presence(maps), there.float())
        shown = F.binary_cross_entropy_with_logits(
            limbs[there], _limb_cells(wanted, size=self.size), pos_weight=torch.tensor(8.0)
        )
        return 0.5 * heat + error + seen + _LIMBS * shown


def joint_places(figures: Sequence[Figure]) -> np.ndarray:
    """x and y of all joints in pixels, float32 of shape (figures, joints, 2)."""
    rows = [[figure.joints[joint] for joint in Joint] for figure in figures]
    return np.asarray(rows, dtype=np.float32).reshape(len(figures), len(Joint), 2)


def _heat(wanted: Tensor, *, size: int) -> Tensor:
    """A bell around each joint that sums up to 1, shape (figures, joints, cells, cells)."""
    cells = torch.arange(size // CELL) * CELL + (CELL - 1) / 2
    across = torch.exp(-(((cells - wanted[..., :1]) / _SPREAD) ** 2) / 2)
    down = torch.exp(-(((cells - wanted[..., 1:]) / _SPREAD) ** 2) / 2)
    bell = down[..., :, None] * across[..., None, :]
    return bell / bell.sum(dim=(-2, -1), keepdim=True)


def _limb_cells(wanted: Tensor, *, size: int) -> Tensor:
    """Which cells of the patches a limb covers, shape (figures, limbs, cells, cells), from joints in pixels."""
    order = list(Joint)
    start = wanted[:, [order.index(limb[0]) for limb in LIMBS], None, None]
    stop = wanted[:, [order.index(limb[1]) for limb in LIMBS], None, None]
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
