"""Training of object_detection: the shipped detector of scenes is fine-tuned on tableaux.

In tableaux things overlap, names repeat, and there are figures; boxes enclose the visible pixels.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from evaluator.miniature.scenes import SIZE
from evaluator.miniature.tableaux.records import TABLEAU_LABELS
from evaluator.miniature.vocabulary import CLASS_LABELS, Colour, Shape
from evaluator.studies.experts import detection
from evaluator.studies.experts.data.bank import as_tensor
from evaluator.studies.experts.scene_encoder import PATCH, read_weights
from evaluator.studies.experts.tableaux.data import Batch, draw_batch

NAME = "tableau-detection"
BEGINS_WITH = "object-detection"
"""Folder of the shipped weights."""
_OUTLINED = 5.0
"""Weight of predicting for each pixel whether it shows a part."""
_BORDERED = 5.0
"""Weight of predicting for each pixel whether the pixel to its right or below shows another part."""


def build() -> nn.Module:
    """The detector of scenes with eight more classes."""
    wrapped = detection.build(names=TABLEAU_LABELS)
    assert isinstance(wrapped, detection.DetectionModel)
    return TableauDetector(wrapped.detector)


class TableauDetector(nn.Module):
    """The detector with an auxiliary head for outlines and borders, which is not exported."""

    def __init__(self, detector: nn.Module) -> None:
        super().__init__()
        self.detector = detector
        width = int(detector.config.d_model)  # type: ignore[union-attr, arg-type]
        self.lines = nn.Linear(width, 2 * PATCH**2)


@torch.no_grad()
def begin(model: nn.Module, folders: Mapping[str, Path]) -> None:
    """Start from the shipped detector; a figure starts as the mean of the things in its colour."""
    assert isinstance(model, TableauDetector)
    state = read_weights(folders["weights"] / BEGINS_WITH / "model.safetensors")
    for name, value in state.items():
        if "class_embed" in name or "enc_score_head" in name:
            # 64 rows of things become 72; a row after them (no object) stays the last.
            things, rest = value[: len(CLASS_LABELS)], value[len(CLASS_LABELS) :]
            figures = things.reshape(len(Colour), len(Shape), *value.shape[1:]).mean(dim=1)
            state[name] = torch.cat([things, figures, rest])
    # Tied weights are stored under one name only.
    unexpected = model.detector.load_state_dict(state, strict=False).unexpected_keys
    assert not unexpected, unexpected


def export(model: nn.Module, folder: Path) -> None:
    """Write the detector."""
    assert isinstance(model, TableauDetector)
    detection.export(detection.DetectionModel(model.detector), folder)


@dataclass(frozen=True, slots=True)
class Targets:
    """The parts to detect in a tableau."""

    classes: Tensor
    """Indices of names, shape (parts,)."""
    boxes: Tensor
    """Centre, width and height as shares of the picture, shape (parts, 4)."""
    centroids: Tensor
    """Of the visible pixels as shares of the picture, x and y, shape (parts, 2)."""


def targets_of(*, batch: Batch) -> list[Targets]:
    """The targets of each tableau of a batch, the farthest part first."""
    targets = []
    for tableau, owner in zip(batch.tableaux, batch.owner, strict=True):
        boxes, centroids = [], []
        for index in range(len(tableau.parts)):
            rows, columns = np.nonzero(owner == index)
            left, top, right, bottom = columns.min(), rows.min(), columns.max() + 1, rows.max() + 1
            boxes.append(((left + right) / 2, (top + bottom) / 2, right - left, bottom - top))
            centroids.append((columns.mean() + 0.5, rows.mean() + 0.5))
        targets.append(
            Targets(
                classes=torch.tensor([TABLEAU_LABELS.index(part.name) for part in tableau.parts]),
                boxes=torch.tensor(boxes, dtype=torch.float32).reshape(-1, 4) / SIZE,
                centroids=torch.tensor(centroids, dtype=torch.float32).reshape(-1, 2) / SIZE,
            )
        )
    return targets


@dataclass(frozen=True, slots=True)
class TableauDetectionObjective:
    """RT-DETR's own loss with denoising queries, a dense loss on the anchors, and one of outlines and borders."""

    batch: int = 32

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        assert isinstance(model, TableauDetector)
        # Denoising draws from torch's global generator; a step must depend on its own numbers only.
        torch.manual_seed(int(rng.integers(2**62)))
        batch = draw_batch(rng=rng, size=self.batch)
        targets = targets_of(batch=batch)
        labels = [{"class_labels": target.classes, "boxes": target.boxes} for target in targets]
        output = model.detector(pixel_values=as_tensor(batch.pixels), labels=labels)
        features = output.encoder_last_hidden_state[0].flatten(2).transpose(1, 2)
        drawn = model.lines(features).unflatten(-1, (2, PATCH**2))
        inside, border = (
            in_patches(planes=plane, patch=PATCH) for plane in (batch.owner >= 0, borders_of(batch.owner))
        )
        lines = _OUTLINED * F.binary_cross_entropy_with_logits(drawn[:, :, 0], inside)
        lines = lines + _BORDERED * F.binary_cross_entropy_with_logits(drawn[:, :, 1], border)
        own: Tensor = output.loss
        dense = detection.dense_loss(
            output=output, targets=[(t.classes, t.boxes, t.centroids) for t in targets], name_loss=name_loss
        )
        return own + dense + lines


def borders_of(owner: npt.NDArray[np.int8]) -> npt.NDArray[np.bool_]:
    """Which pixels show another part than their right or lower neighbour, shapes (batch, 64, 64)."""
    borders = np.zeros(owner.shape, dtype=np.bool_)
    borders[:, :, :-1] |= owner[:, :, :-1] != owner[:, :, 1:]
    borders[:, :-1] |= owner[:, :-1] != owner[:, 1:]
    return borders


def in_patches(*, planes: npt.NDArray[np.bool_], patch: int) -> Tensor:
    """Planes of shape (batch, 64, 64) as numbers of shape (batch, patches, pixels of a patch)."""
    side = SIZE // patch
    rows = torch.from_numpy(planes).float().reshape(-1, side, patch, side, patch)
    return rows.permute(0, 1, 3, 2, 4).reshape(-1, side**2, patch**2)


@cache
def _colours_and_shapes() -> Tensor:
    """Index of the colour and of the shape of each label; figures count as another shape. Shape (72, 2)."""
    colours = [*Colour]
    pairs = [label.split() for label in TABLEAU_LABELS]
    shapes = [*(str(shape) for shape in Shape), "figure"]
    return torch.tensor([(colours.index(Colour(colour)), shapes.index(shape)) for colour, shape in pairs])


def name_loss(*, logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy of colour and of shape, shapes (parts, 72) and (parts,)."""
    joint = logits.log_softmax(dim=-1)
    things = joint[:, : len(CLASS_LABELS)].reshape(-1, len(Colour), len(Shape))
    table = torch.cat([things, joint[:, len(CLASS_LABELS) :, None]], dim=2)
    pairs = _colours_and_shapes()[labels]
    return F.nll_loss(table.logsumexp(dim=2), pairs[:, 0]) + F.nll_loss(table.logsumexp(dim=1), pairs[:, 1])


_COVERED = 0.15
"""Share of a patch that a part must cover for the patch to belong to it."""


def parts_of_patches(*, batch: Batch, patch: int) -> npt.NDArray[np.int64]:
    """Index of the part that covers most of a patch, -1 if none covers enough; shape (batch, patches)."""
    side = SIZE // patch
    rows = batch.owner.reshape(-1, side, patch, side, patch).transpose(0, 1, 3, 2, 4)
    patches = rows.reshape(-1, side**2, patch**2)
    counts = np.stack([(patches == part).sum(axis=2) for part in range(max(1, int(batch.owner.max()) + 1))], axis=2)
    return np.where(counts.max(axis=2) >= _COVERED * patch**2, counts.argmax(axis=2), -1)


def patch_targets(*, batch: Batch, patch: int) -> tuple[Tensor, Tensor]:
    """Label (-1 for none) and box of the part that each patch shows, shapes (batch, patches) and (batch, patches, 4).

    Boxes are centre, width and height as shares of the picture.
    """
    labels, boxes = [], []
    for target, parts in zip(targets_of(batch=batch), parts_of_patches(batch=batch, patch=patch), strict=True):
        labels.append(torch.cat([target.classes, torch.tensor([-1])])[parts])
        boxes.append(torch.cat([target.boxes, torch.zeros(1, 4)])[parts])
    return torch.stack(labels), torch.stack(boxes)
