"""Training of soft edges: a holistically-nested edge network on the outlines of parts."""

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from evaluator.execution.experts.maps import EdgeConfig, EdgeNetwork
from evaluator.miniature.pictures.maps import outlines
from evaluator.studies.experts.data.bank import normalised
from evaluator.studies.experts.tableaux.data import draw_batch
from evaluator.training.export import write_config, write_weights

NAME = "soft-edges"
_CONFIG = EdgeConfig(widths=(16, 32, 48, 64), depths=(2, 2, 3, 3))
_EDGES = 5.0
"""Weight of a pixel of an outline relative to other pixels."""
_SIDES = 0.3


def build() -> nn.Module:
    """Four scales, the coarsest of 8x8 cells."""
    network = EdgeNetwork(_CONFIG)
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            assert layer.bias is not None
            nn.init.zeros_(layer.bias)
    nn.init.constant_(network.fuse.weight, 1 / len(_CONFIG.widths))
    return network


@dataclass(frozen=True, slots=True)
class EdgeObjective:
    """Cross-entropy of the fused map and, less, of the side outputs."""

    batch: int = 8

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        batch = draw_batch(rng=rng, size=self.batch)
        edges = torch.from_numpy(outlines(batch.owner)).float()[:, None]
        logits: Tensor = model(normalised(batch.pixels))
        losses = F.binary_cross_entropy_with_logits(
            logits, edges.expand_as(logits), pos_weight=torch.tensor(_EDGES), reduction="none"
        ).mean(dim=(0, 2, 3))
        return losses[0] + _SIDES * losses[1:].mean()


def export(model: nn.Module, folder: Path) -> None:
    """Write the network with its sizes."""
    write_config(config={"architecture": type(model).__name__, **asdict(_CONFIG)}, folder=folder)
    write_weights(model=model, folder=folder)
