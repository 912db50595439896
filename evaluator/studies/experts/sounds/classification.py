"""Training of the classifier of sounds."""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from evaluator.execution.experts.hearing import HearingConfig, HearingNetwork
from evaluator.miniature.seeds import Split
from evaluator.miniature.sounds.effects import SoundClass, draw_sound
from evaluator.miniature.sounds.spectra import log_mel, normalised
from evaluator.studies.experts.sounds.recognition import export

__all__ = ["SoundObjective", "build", "export"]

_SECONDS = 1.5
_SOUNDS = 2**20
_CLASSES = tuple(SoundClass)


def build() -> nn.Module:
    """A network of about 50,000 parameters."""
    return HearingNetwork(HearingConfig(outputs=tuple(map(str, _CLASSES)), pooled=True, width=48, dilations=(1, 2, 4)))


@dataclass(frozen=True, slots=True)
class SoundObjective:
    """Cross-entropy of the class of sounds of 1.5 seconds."""

    batch: int = 21

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        labels = np.arange(self.batch) % len(_CLASSES)
        features = [
            normalised(
                log_mel(
                    draw_sound(
                        kind=_CLASSES[label], split=Split.TRAIN, index=int(rng.integers(_SOUNDS)), seconds=_SECONDS
                    ).levels()
                )
            )
            for label in labels
        ]
        logits: Tensor = model(torch.from_numpy(np.stack(features)).float())
        return F.cross_entropy(logits, torch.from_numpy(labels))
