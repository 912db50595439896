"""Training of object_detection: the shipped detector of scenes goes on with tableaux.

In tableaux things overlap, names repeat, and there are figures; boxes are those of the visible pixels.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn

from evaluator.miniature.scenes import SIZE
from evaluator.miniature.tableaux.records import TABLEAU_LABELS, name_of
from evaluator.miniature.vocabulary import CLASS_LABELS, Colour, Shape
from evaluator.studies.experts import detection
from evaluator.studies.experts.data.bank import as_tensor
from evaluator.studies.experts.scene_encoder import PATCH
from evaluator.studies.experts.tableaux.data import Batch, draw_batch

NAME = "tableau-detection"
BEGINS_WITH = "object-detection"
"""Folder of the shipped weights."""
_OUTLINED = 5.0
"""Weight of telling for each pixel whether it shows a part."""
_BORDERED = 5.0
"""Weight of telling for each pixel whether the pixel to its right or below shows something else."""
_NAMED = 3.0
"""Weight of telling colour and shape apart, each on its own, where there is a part."""


def build() -> nn.Module:
    """The detector of scenes with eight more classes."""
    wrapped = detection.build(names=TABLEAU_LABELS)
    assert isinstance(wrapped, detection.DetectionModel)
    return TableauDetector(wrapped.detector)


class TableauDetector(nn.Module):
    """The detector with a head that draws outlines and borders; only the detector is kept."""

    def __init__(self, detector: nn.Module) -> None:
        super().__init__()
        self.detector = detector
        width = int(detector.config.d_model)  # type: ignore[union-attr, arg-type]
        self.lines = nn.Linear(width, 2 * PATCH**2)


@torch.no_grad()
def begin(model: nn.Module, folders: Mapping[str, Path]) -> None:
    """Start from the shipped detector; a figure begins as the mean of the things in its colour."""
    assert isinstance(model, TableauDetector)
    stored = load_file(folders["weights"] / BEGINS_WITH / "model.safetensors")
    state = {name: value.float() for name, value in stored.items()}
    for name, value in state.items():
        if "class_embed" in name or "enc_score_head" in name:
            state[name] = _with_figures(value)
    # Names that loading ties together are stored once.
    found = model.detector.load_state_dict(state, strict=False)
    assert not found.unexpected_keys, found.unexpected_keys


def _with_figures(value: Tensor) -> Tensor:
    """The 72 rows of a head with 64; a row behind them (no object) stays the last."""
    things, rest = value[: len(CLASS_LABELS)], value[len(CLASS_LABELS) :]
    figures = things.reshape(len(Colour), len(Shape), *value.shape[1:]).mean(dim=1)
    return torch.cat([things, figures, rest])


def export(model: nn.Module, folder: Path) -> None:
    """Write the detector."""
    assert isinstance(model, TableauDetector)
    detection.export(detection.DetectionModel(model.detector), folder)


@dataclass(frozen=True, slots=True)
class Targets:
    """What there is to find in a tableau."""

    classes: Tensor
    """Indices of names, shape (parts,)."""
    boxes: Tensor
    """Centre, width and height as shares of the picture, shape (parts, 4)."""
    centroids: Tensor
    """Of the visible pixels as shares of the picture, x and y, shape (parts, 2)."""


def targets_of(*, batch: Batch) -> list[Targets]:
    """The targets of each tableau of a batch, the farthest part first."""
    return [
        _targets(names=[name_of(part) for part in tableau.parts], owner=owner)
        for tableau, owner in zip(batch.tableaux, batch.owner, strict=True)
    ]


def _targets(*, names: list[str], owner: npt.NDArray[np.int8]) -> Targets:
    boxes, centroids = [], []
    for index in range(len(names)):
        rows, columns = np.nonzero(owner == index)
        left, top, right, bottom = columns.min(), rows.min(), columns.max() + 1, rows.max() + 1
        boxes.append(((left + right) / 2, (top + bottom) / 2, right - left, bottom - top))
        centroids.append((columns.mean() + 0.5, rows.mean() + 0.5))
    return Targets(
        classes=torch.tensor([TABLEAU_LABELS.index(name) for name in names]),
        boxes=torch.tensor(boxes, dtype=torch.float32).reshape(-1, 4) / SIZE,
        centroids=torch.tensor(centroids, dtype=torch.float32).reshape(-1, 2) / SIZE,
    )


@dataclass(frozen=True, slots=True)
class TableauDetectionObjective:
    """RT-DETR's own loss with denoising queries, a dense one on the anchors, and one on outlines and borders."""

    batch: int = 32

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        assert isinstance(model, TableauDetector)
        # Denoising draws from torch's global generator; a step must depend on its own numbers only.
        torch.manual_seed(int(rng.integers(2**62)))
        batch = draw_batch(rng=rng, size=self.batch)
        targets = targets_of(batch=batch)
        labels = [{"class_labels": one.classes, "boxes": one.boxes} for one in targets]
        output = model.detector(pixel_values=as_tensor(batch.pixels), labels=labels)
        features = output.encoder_last_hidden_state[0].flatten(2).transpose(1, 2)
        drawn = model.lines(features).unflatten(-1, (2, PATCH**2))
        inside, border = (
            in_patches(planes=plane, patch=PATCH) for plane in (batch.owner >= 0, borders_of(batch.owner))
        )
        lines = _OUTLINED * F.binary_cross_entropy_with_logits(drawn[:, :, 0], inside)
        lines = lines + _BORDERED * F.binary_cross_entropy_with_logits(drawn[:, :, 1], border)
        own: Tensor = output.loss
        return own + _dense_loss(output=output, targets=targets) + lines


def borders_of(owner: npt.NDArray[np.int8]) -> npt.NDArray[np.bool_]:
    """Which pixels show something else than their right or lower neighbour, shapes (batch, 64, 64)."""
    borders = np.zeros(owner.shape, dtype=np.bool_)
    borders[:, :, :-1] |= owner[:, :, :-1] != owner[:, :, 1:]
    borders[:, :-1] |= owner[:, :-1] != owner[:, 1:]
    return borders


def in_patches(*, planes: npt.NDArray[np.bool_], patch: int) -> Tensor:
    """Planes of shape (batch, 64, 64) as numbers of shape (batch, patches, pixels of a patch)."""
    side = SIZE // patch
    rows = torch.from_numpy(planes).float().reshape(-1, side, patch, side, patch)
    return rows.permute(0, 1, 3, 2, 4).reshape(-1, side**2, patch**2)


def _dense_loss(*, output: Any, targets: list[Targets]) -> Tensor:
    """Focal loss of the classes of all anchors, and L1 of the boxes of those on a part."""
    logits, boxes = output.enc_outputs_class, output.enc_outputs_coord_logits.sigmoid()
    wanted, wanted_boxes = torch.zeros_like(logits), torch.zeros_like(boxes)
    on_part = torch.zeros(logits.shape[:2], dtype=torch.bool)
    points = detection.anchor_points()
    for item, target in enumerate(targets):
        for label, box, centroid in zip(target.classes, target.boxes, target.centroids, strict=True):
            near = ((points - centroid).abs() <= (0.25 * box[2:]).clamp(min=0.5 * PATCH / SIZE)).all(dim=-1)
            wanted[item, near] = F.one_hot(label, logits.shape[-1]).to(logits)
            wanted_boxes[item, near] = box
            on_part[item] |= near
    probability = logits.detach().sigmoid()
    weight = torch.where(wanted > 0, torch.ones_like(logits), 0.75 * probability.square())
    cross = F.binary_cross_entropy_with_logits(logits, wanted, weight=weight, reduction="sum")
    distance = (boxes - wanted_boxes).abs().sum(dim=-1)[on_part].sum()
    names = name_loss(logits=logits[on_part], labels=wanted[on_part].argmax(dim=-1))
    dense: Tensor = 2 * (cross + 5 * distance) / on_part.sum().clamp(min=1) + _NAMED * names
    return dense


@cache
def _colours_and_shapes() -> Tensor:
    """Index of the colour and of the shape of each label, figures being one more shape; shape (72, 2)."""
    colours = [*Colour]
    pairs = [label.split() for label in TABLEAU_LABELS]
    shapes = [*(str(shape) for shape in Shape), "figure"]
    return torch.tensor([(colours.index(Colour(colour)), shapes.index(shape)) for colour, shape in pairs])


def name_loss(*, logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy of colour and of shape, shapes (parts, 72) and (parts,)."""
    joint = logits.log_softmax(dim=-1)
    things = joint[:, : len(CLASS_LABELS)].reshape(-1, len(Colour), len(Shape))
    table = torch.cat([things, joint[:, len(CLASS_LABELS) :, None]], dim=2)
    wanted = _colours_and_shapes()[labels]
    colour = F.nll_loss(table.logsumexp(dim=2), wanted[:, 0])
    shape = F.nll_loss(table.logsumexp(dim=1), wanted[:, 1])
    return colour + shape


_SHOWN = 0.15
"""Least share of a patch that must show a part for the patch to be said to lie on it."""


def parts_of_patches(*, batch: Batch, patch: int) -> npt.NDArray[np.int64]:
    """Index of the part that most of a patch shows, -1 where there is little of any; shape (batch, patches)."""
    side = SIZE // patch
    rows = batch.owner.reshape(-1, side, patch, side, patch).transpose(0, 1, 3, 2, 4)
    patches = rows.reshape(-1, side**2, patch**2)
    counts = np.stack([(patches == part).sum(axis=2) for part in range(max(1, int(batch.owner.max()) + 1))], axis=2)
    return np.where(counts.max(axis=2) >= _SHOWN * patch**2, counts.argmax(axis=2), -1)


def patch_targets(*, batch: Batch, patch: int) -> tuple[Tensor, Tensor]:
    """Label (-1 for none) and box of what each patch shows, shapes (batch, patches) and (batch, patches, 4).

    Boxes are centre, width and height as shares of the picture.
    """
    labels, boxes = [], []
    for target, parts in zip(targets_of(batch=batch), parts_of_patches(batch=batch, patch=patch), strict=True):
        labels.append(torch.cat([target.classes, torch.tensor([-1])])[parts])
        boxes.append(torch.cat([target.boxes, torch.zeros(1, 4)])[parts])
    return torch.stack(labels), torch.stack(boxes)
