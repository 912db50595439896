"""Objectives of the restoration experts."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

from evaluator.execution.experts.colorizer import rgb_to_lab
from evaluator.miniature.degradations import Degradation
from evaluator.studies.experts.data.bank import Bank
from evaluator.studies.experts.data.states import RESTORING_ORDER, Pixels, Restorer, restored_before, target_of

RESTORATION_NOTE = (
    "training scenes in all the states in which a gold plan meets them: later degradations still present, earlier "
    "ones removed by the real experts"
)
_UNSPOILT = 0.08
"""Share of half-batches without the degradation in question, so that a needless call does little harm."""
_OTHER_ORDER = 0.25
"""Share of half-batches of plans in another order, in which half of the earlier restorations are still to come."""
_WAITING = 0.5


def as_tensor(pixels: Pixels) -> Tensor:
    """8-bit images of shape (batch, height, width, 3) as float32 in [0, 1], (batch, 3, height, width)."""
    return torch.from_numpy(np.array(pixels)).permute(0, 3, 1, 2).to(torch.float32) / 255


@dataclass(frozen=True, slots=True)
class RestorationData:
    """Pairs of degraded and target images for one expert, in all states a gold plan can bring about."""

    bank: Bank
    degradation: Degradation
    batch: int = 16
    restorers: Mapping[Degradation, Restorer] = field(default_factory=dict)
    """The experts that a gold plan calls before this one."""
    others: float = 0.5
    """How often each of the other degradations is present."""

    def pairs(self, *, rng: np.random.Generator) -> list[tuple[Pixels, Pixels]]:
        """Two half-batches, each in one state: inputs and targets of shape (batch / 2, height, width, 3)."""
        return [self._half(rng=rng) for _ in range(2)]

    def _half(self, *, rng: np.random.Generator) -> tuple[Pixels, Pixels]:
        indices = np.sort(rng.integers(len(self.bank), size=self.batch // 2))
        clean = np.asarray(self.bank.pixels[indices])
        present = frozenset(d for d in Degradation if rng.random() < self.others) | {self.degradation}
        seed = int(rng.integers(2**62))
        unspoilt, other_order = rng.random() < _UNSPOILT, rng.random() < _OTHER_ORDER
        waiting = frozenset(d for d in Degradation if rng.random() < _WAITING) if other_order else frozenset()
        if unspoilt and self.degradation is not Degradation.LOW_RESOLUTION:
            present -= {self.degradation}
        kept = present & waiting & frozenset(RESTORING_ORDER[: RESTORING_ORDER.index(self.degradation)])
        source, target = target_of(clean=clean, degradations=present, removed=self.degradation, seed=seed, kept=kept)
        source = restored_before(
            pixels=source, degradations=present - kept, before=self.degradation, restorers=self.restorers
        )
        return source, target


@dataclass(frozen=True, slots=True)
class PixelObjective:
    """Mean absolute error with a squared part: sharp where possible, PSNR where not."""

    data: RestorationData
    softness: float = 0.01
    """Errors smaller than this, as a share of the full range, count by their square."""

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        losses = []
        for source, target in self.data.pairs(rng=rng):
            output = model(as_tensor(source))
            output = getattr(output, "reconstruction", output)
            error = output - as_tensor(target)
            losses.append(torch.sqrt(error.square() + self.softness**2).mean())
        return torch.stack(losses).mean()


@dataclass(frozen=True, slots=True)
class ColourObjective:
    """Mean distance between predicted and true ab, in units of 110."""

    data: RestorationData

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        losses = []
        for source, target in self.data.pairs(rng=rng):
            lightness = rgb_to_lab(as_tensor(source))[:, :1]
            error = (model(lightness) - rgb_to_lab(as_tensor(target))[:, 1:]) / 110
            losses.append(torch.sqrt(error.square().sum(dim=1) + 1e-5).mean())
        return torch.stack(losses).mean()
