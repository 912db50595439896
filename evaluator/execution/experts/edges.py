"""Soft edges after Xie and Tu, "Holistically-Nested Edge Detection" (ICCV 2015).

Convolutions at several scales, each with a side output that is an edge map of its own; a last convolution fuses them.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from evaluator.execution.experts.padding import pad_to_multiple


@dataclass(frozen=True, slots=True)
class EdgeConfig:
    """Widths of the network; the defaults are the paper's, those of VGG16 (15 million parameters)."""

    widths: tuple[int, ...] = (64, 128, 256, 512, 512)
    """Channels of each scale; every scale has half the resolution of the one before."""
    depths: tuple[int, ...] = (2, 2, 3, 3, 3)
    """Convolutions of each scale."""


class EdgeNetwork(nn.Module):
    """Images in [-1, 1] of shape (batch, 3, height, width) in, logits of edges out.

    Logits have the shape (batch, 1 + scales, height, width): the fused map, then the side outputs from fine to coarse.
    """

    def __init__(self, config: EdgeConfig) -> None:
        super().__init__()
        before = 3
        blocks, sides = [], []
        for width, depth in zip(config.widths, config.depths, strict=True):
            layers: list[nn.Module] = []
            for _ in range(depth):
                layers += [nn.Conv2d(before, width, 3, padding=1), nn.ReLU()]
                before = width
            blocks.append(nn.Sequential(*layers))
            sides.append(nn.Conv2d(width, 1, 1))
        self.blocks = nn.ModuleList(blocks)
        self.sides = nn.ModuleList(sides)
        self.fuse = nn.Conv2d(len(sides), 1, 1)

    def forward(self, images: Tensor) -> Tensor:
        height, width = images.shape[-2:]
        values = pad_to_multiple(images, multiple=2 ** (len(self.blocks) - 1)).to(self.fuse.weight.dtype)
        size = values.shape[-2:]
        maps = []
        for index, (block, side) in enumerate(zip(self.blocks, self.sides, strict=True)):
            values = block(functional.max_pool2d(values, 2) if index else values)
            maps.append(functional.interpolate(side(values), size=size, mode="bilinear", align_corners=False))
        outputs = torch.cat(maps, dim=1)
        return torch.cat([self.fuse(outputs), outputs], dim=1)[..., :height, :width]
