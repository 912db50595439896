"""Training of the recogniser of speech: each frame learns its phoneme, which the synthesiser knows."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from evaluator.core.sounds import Wave
from evaluator.execution.experts.hearing import PHONE_NAMES, STRIDE, HearingConfig, HearingNetwork, config_to_json
from evaluator.miniature.seeds import Split
from evaluator.miniature.sounds.phonemes import WORDS
from evaluator.miniature.sounds.spectra import HOP, log_mel, normalised
from evaluator.miniature.sounds.speech import Utterance, spoken, voice_of
from evaluator.training.export import write_config, write_weights

_FRAMES = 256
"""Of a training excerpt, 10 ms each."""
_WORDS = 7
_VOICES = 10_000
_IGNORED = -100


def build() -> nn.Module:
    """A network of about 240,000 parameters."""
    return HearingNetwork(HearingConfig(outputs=PHONE_NAMES, pooled=False))


@dataclass(frozen=True, slots=True)
class RecognitionObjective:
    """Cross-entropy of the phoneme in each frame, for random words in random training voices."""

    batch: int = 12

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        words = list(WORDS)
        inputs, targets = [], []
        for _ in range(self.batch):
            text = " ".join(words[int(place)] for place in rng.integers(len(words), size=_WORDS))
            voice = voice_of(split=Split.TRAIN, index=int(rng.integers(_VOICES)))
            utterance = spoken(text, voice=voice, rng=rng)
            features, phones = example(utterance, levels=with_noise(utterance.levels, rng=rng))
            inputs.append(features[:_FRAMES])
            targets.append(phones[: _FRAMES // STRIDE])
        logits: Tensor = model(torch.from_numpy(np.stack(list(map(partial(_padded, fill=0.0), inputs)))).float())
        labels = torch.from_numpy(np.stack([_padded(t, fill=_IGNORED, length=_FRAMES // STRIDE) for t in targets]))
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=_IGNORED, label_smoothing=0.05)


def _padded(values: np.ndarray, *, fill: float, length: int = _FRAMES) -> np.ndarray:
    missing = length - len(values)
    return np.pad(values, [(0, missing), *[(0, 0)] * (values.ndim - 1)], constant_values=fill)


def example(utterance: Utterance, *, levels: Wave) -> tuple[np.ndarray, np.ndarray]:
    """Features and, at half their rate, the index of the phoneme in each frame."""
    features = normalised(log_mel(levels))
    ends = np.array([end for _, end in utterance.phones])
    middles = np.arange(0, len(features), STRIDE) * HOP
    places = np.searchsorted(ends, middles, side="right").clip(max=len(ends) - 1)
    order = {name: index for index, name in enumerate(PHONE_NAMES)}
    names = np.array([order[name] for name, _ in utterance.phones])
    return features, names[places]


def with_noise(levels: Wave, *, rng: np.random.Generator) -> Wave:
    """Speech in slight noise: of at most a fifth of its loudness, and often much less."""
    level = float(np.sqrt(np.mean(levels**2))) * 10 ** rng.uniform(-3.0, -0.7)
    return levels + level * rng.standard_normal(len(levels))


def export(model: nn.Module, folder: Path) -> None:
    """Write the network with its sizes."""
    assert isinstance(model, HearingNetwork)
    write_config(config=config_to_json(model.config), folder=folder)
    write_weights(model=model, folder=folder)
