"""Experts that hear: recognition of speech, and classification of sounds.

Both read normalised log-mel spectrograms with dilated convolutions over time. The recogniser scores each frame for each
phoneme; the most probable sequence of known words is found by one-pass dynamic programming (Ney, "The use of a
one-stage dynamic programming algorithm for connected word recognition", 1984).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from evaluator.core.expert import ExpertSpec
from evaluator.core.sounds import Sound, Wave
from evaluator.core.values import Label, Labels, Value
from evaluator.execution.experts.inputs import number, value_of
from evaluator.execution.experts.pretrained import load_state
from evaluator.miniature.sounds.phonemes import PAUSE, PHONES, SAME, WORDS
from evaluator.miniature.sounds.spectra import BANDS, log_mel, normalised

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
STRIDE = 2
"""Frames of a spectrogram for each frame of scores, which is 20 ms."""


@dataclass(frozen=True, slots=True)
class HearingConfig:
    """Sizes of a network, and the names of its outputs."""

    outputs: tuple[str, ...]
    """Phonemes, or classes of sounds."""
    pooled: bool
    """Whether the whole sound is scored; otherwise each frame."""
    width: int = 96
    dilations: tuple[int, ...] = (1, 2, 4, 1)


class HearingNetwork(nn.Module):
    """From spectrograms of shape (batch, frames, bands) to logits of shape (batch, frames / 2, outputs).

    With `pooled`, one for the whole sound: (batch, outputs).
    """

    def __init__(self, config: HearingConfig) -> None:
        super().__init__()
        self.config = config
        self.first = nn.Conv1d(BANDS, config.width, 5, stride=STRIDE, padding=2)
        self.blocks = nn.ModuleList(
            nn.Conv1d(config.width, config.width, 5, padding=2 * dilation, dilation=dilation)
            for dilation in config.dilations
        )
        self.norms = nn.ModuleList(nn.LayerNorm(config.width) for _ in config.dilations)
        self.last = nn.Linear(config.width * (2 if config.pooled else 1), len(config.outputs))

    def forward(self, spectrograms: Tensor) -> Tensor:
        values = functional.gelu(self.first(spectrograms.transpose(1, 2)))
        for block, norm in zip(self.blocks, self.norms, strict=True):
            values = values + functional.gelu(block(norm(values.transpose(1, 2)).transpose(1, 2)))
        if self.config.pooled:
            values = torch.cat([values.mean(dim=2), values.amax(dim=2)], dim=1)
        logits: Tensor = self.last(values if self.config.pooled else values.transpose(1, 2))
        return logits


def config_of(folder: Path) -> HearingConfig:
    """The configuration in a folder of weights."""
    facts = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return HearingConfig(
        outputs=tuple(facts["outputs"]), pooled=facts["pooled"], width=facts["width"],
        dilations=tuple(facts["dilations"]),
    )  # fmt: skip


def config_to_json(config: HearingConfig) -> dict[str, object]:
    """The configuration as `config_of` reads it."""
    return {"architecture": HearingNetwork.__name__, **asdict(config)}


class HearingExpert:
    """An expert from a sound to a value; subclasses say what the logits mean. Hears sounds one by one."""

    input, output = "audio", "value"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        self._device = device
        config = config_of(spec.path)
        self.outputs = config.outputs
        """Names of the logits."""
        self._network = HearingNetwork(config)
        load_state(self._network, folder=spec.path, device=device, precision=spec.precision)

    def heard(self, logits: Floats) -> Value:
        """The value for the logits of a sound."""
        raise NotImplementedError

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        sounds = [value_of(item, name=self.input, kind=Sound) for item in batch]
        return [{self.output: self.heard(self._logits(sound.levels()))} for sound in sounds]

    def _logits(self, levels: Wave) -> Floats:
        spectrogram = torch.from_numpy(normalised(log_mel(levels))).to(device=self._device, dtype=torch.float32)
        with torch.inference_mode():
            logits: Floats = self._network(spectrogram[None])[0].double().cpu().numpy()
        return logits


class SpeechRecognitionExpert(HearingExpert):
    """From speech to the words of the miniature world that it most resembles, in lower case; empty for silence."""

    input, output = "speech", "text"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._penalty = number(spec=spec, name="word_penalty", default=6.0)

    def heard(self, logits: Floats) -> Value:
        scores = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
        return " ".join(spelled(best_words(scores, phones=self.outputs, penalty=self._penalty)))


class SoundClassificationExpert(HearingExpert):
    """From a sound to its class: those of at least the probability `least`, and always the most probable one."""

    output = "speech"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._least = number(spec=spec, name="least", default=0.5)

    def heard(self, logits: Floats) -> Value:
        shares = np.exp(logits - np.logaddexp.reduce(logits))
        ranked = sorted(range(len(shares)), key=lambda index: -shares[index])
        likely = [index for index in ranked if shares[index] >= self._least] or ranked[:1]
        return Labels(tuple(Label(self.outputs[index], float(shares[index])) for index in likely))


@dataclass(frozen=True, slots=True)
class _Lexicon:
    """The words, and the pause as a word."""

    words: tuple[str, ...]
    states: Integers
    """Phoneme of each state of each word, shape (words, states); padded with the last one."""
    last: Integers
    """Index of the last state of each word."""


@cache
def _lexicon(phones: tuple[str, ...]) -> _Lexicon:
    place = {name: index for index, name in enumerate(phones)}
    sounds = {PAUSE: (PAUSE,), **{word: phones for word, phones in WORDS.items() if word != SAME[1]}}
    longest = max(map(len, sounds.values()))
    states = np.array([[place[s[min(k, len(s) - 1)]] for k in range(longest)] for s in sounds.values()])
    return _Lexicon(tuple(sounds), states, np.array([len(s) - 1 for s in sounds.values()]))


def best_words(scores: Floats, *, phones: tuple[str, ...], penalty: float) -> list[str]:
    """The most probable sequence of words.

    Args:
        scores: logarithm of the probability of each phoneme in each frame, shape (frames, phonemes).
        phones: names of the phonemes.
        penalty: subtracted for each word, so that few long words are preferred to many short ones.
    """
    lexicon = _lexicon(phones)
    rows = np.arange(len(lexicon.words))
    prices = np.where(rows == 0, 0.0, penalty)
    best = np.full(lexicon.states.shape, -np.inf)
    """Score of the best path to each state."""
    begins = np.zeros(lexicon.states.shape, dtype=np.int64)
    """Frame in which the word of that path began."""
    ended = 0.0
    """Score of the best path that ended a word with the last frame."""
    exits: list[tuple[int, int]] = []
    for frame, row in enumerate(scores):
        moved = np.concatenate([(ended - prices)[:, None], best[:, :-1]], axis=1)
        moved_begins = np.concatenate([np.full((len(rows), 1), frame), begins[:, :-1]], axis=1)
        begins = np.where(moved > best, moved_begins, begins)
        best = np.maximum(moved, best) + row[lexicon.states]
        finals = best[rows, lexicon.last]
        word = int(finals.argmax())
        ended = float(finals[word])
        exits.append((word, int(begins[word, lexicon.last[word]])))
    words: list[str] = []
    frame = len(exits) - 1
    while frame >= 0:
        word, began = exits[frame]
        if word:
            words.append(lexicon.words[word])
        frame = began - 1
    return words[::-1]


def spelled(words: Sequence[str]) -> list[str]:
    """Words with the right one of two that sound the same."""
    first, second = SAME
    pairs = zip(words, [*words[1:], ""], strict=False)
    return [second if word == first and after != "the" else word for word, after in pairs]


PHONE_NAMES = tuple(PHONES)
"""Outputs of a recogniser, in order."""
