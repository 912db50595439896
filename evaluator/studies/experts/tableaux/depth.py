"""Training of depth estimation: DPT, initialised from the encoder of the image classifier."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import DPTConfig, DPTForDepthEstimation

from evaluator.miniature.scenes import SIZE
from evaluator.studies.experts.data.bank import normalised
from evaluator.studies.experts.recognition import classifier_encoder
from evaluator.studies.experts.tableaux.data import draw_batch

NAME = "depth"


def build() -> nn.Module:
    """A ViT of four layers, three of which are reassembled at grids of 16, 8 and 4 and fused."""
    model: nn.Module = DPTForDepthEstimation(
        DPTConfig(
            hidden_size=96,
            num_hidden_layers=4,
            num_attention_heads=4,
            intermediate_size=256,
            image_size=SIZE,
            patch_size=8,
            backbone_out_indices=[0, 1, 3],
            readout_type="ignore",
            reassemble_factors=[2, 1, 0.5],
            neck_hidden_sizes=[48, 48, 48],
            fusion_hidden_size=32,
            use_auxiliary_head=False,
        )
    )
    # The head ends in a ReLU, which must not start dead.
    torch.nn.init.constant_(model.get_parameter("head.head.4.bias"), 0.3)
    return model


def begin(model: nn.Module, folders: Mapping[str, Path]) -> None:
    """Start from the encoder of the image classifier."""
    model.get_submodule("dpt").load_state_dict(classifier_encoder(folders, mlp=True))


@dataclass(frozen=True, slots=True)
class DepthObjective:
    """Smooth L1 of nearness; background and parts have equal weight."""

    batch: int = 16

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        batch = draw_batch(rng=rng, size=self.batch)
        parts = torch.from_numpy(batch.owner >= 0).float()
        depth = model(pixel_values=normalised(batch.pixels)).predicted_depth
        error = F.smooth_l1_loss(depth, torch.from_numpy(batch.nearness), reduction="none", beta=0.02)
        return (error * parts).sum() / parts.sum() + (error * (1 - parts)).sum() / (1 - parts).sum()
