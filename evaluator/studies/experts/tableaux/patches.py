"""What each patch of a tableau shows: dense targets, which teach more per step than one for the whole picture."""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from evaluator.miniature.scenes import SIZE
from evaluator.studies.experts.tableaux.data import Batch
from evaluator.studies.experts.tableaux.detection import targets_of

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
