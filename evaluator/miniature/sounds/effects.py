"""Sounds of seven classes, drawn at random: what a classifier tells apart."""

from collections.abc import Callable, Mapping
from enum import StrEnum

import numpy as np

from evaluator.core.sounds import RATE, Sound, Wave, sound_of
from evaluator.miniature.seeds import Split, generator
from evaluator.miniature.sounds.music import melody
from evaluator.miniature.sounds.phonemes import WORDS
from evaluator.miniature.sounds.speech import spoken, voice_of

_PEAK = 0.5


class SoundClass(StrEnum):
    """What is heard."""

    SPEECH = "speech"
    MUSIC = "music"
    BEEP = "beep"
    NOISE = "noise"
    KNOCKING = "knocking"
    SIREN = "siren"
    ENGINE = "engine"


def draw_sound(
    *, kind: SoundClass, split: Split, index: int, hidden_seed: str | None = None, seconds: float | None = None
) -> Sound:
    """Sound number `index` of a split, in slight noise.

    Args:
        kind: its class.
        split: the split.
        index: its number.
        hidden_seed: the secret of the hidden split; None for the others.
        seconds: its length; None: one to three seconds.
    """
    rng = generator(split=split, index=index, purpose=f"sound {kind}", hidden_seed=hidden_seed)
    count = round((float(rng.uniform(1, 3)) if seconds is None else seconds) * RATE)
    if kind is SoundClass.SPEECH:
        words = list(WORDS)
        text = " ".join(words[int(place)] for place in rng.integers(len(words), size=7))
        voice = voice_of(split=split, index=index, hidden_seed=hidden_seed)
        levels = spoken(text, voice=voice, rng=rng).levels
    elif kind is SoundClass.MUSIC:
        levels = melody("", rng=rng)
    else:
        levels = _DRAWN[kind](count, rng)
    levels = np.resize(levels, count)
    levels = levels / max(float(np.abs(levels).max()), 1e-9) * _PEAK * float(rng.uniform(0.4, 1))
    return sound_of(levels + 10 ** float(rng.uniform(-4, -2.3)) * rng.standard_normal(count))


def _beep(count: int, rng: np.random.Generator) -> Wave:
    """Equal tones with pauses."""
    times = np.arange(count) / RATE
    period, share = float(rng.uniform(0.25, 0.8)), float(rng.uniform(0.3, 0.6))
    place = np.mod(times, period) / period
    gate = np.clip(np.minimum(place, share - place) * period / 0.005, 0, 1)
    return np.asarray(gate * np.sin(2 * np.pi * float(rng.uniform(500, 3000)) * times))


def _noise(count: int, rng: np.random.Generator) -> Wave:
    """Steady noise, louder towards low or high frequencies."""
    spectrum = np.fft.rfft(rng.standard_normal(count))
    frequencies = np.maximum(np.fft.rfftfreq(count, 1 / RATE), 40)
    return np.asarray(np.fft.irfft(spectrum * frequencies ** float(rng.uniform(-0.8, 0.4)), count))


def _knocking(count: int, rng: np.random.Generator) -> Wave:
    """Short dull strokes in groups."""
    levels = np.zeros(count)
    stroke = np.arange(round(0.12 * RATE)) / RATE
    frequency, at = float(rng.uniform(90, 320)), float(rng.uniform(0, 0.2))
    gap = float(rng.uniform(0.15, 0.4))
    while (begin := round(at * RATE)) < count:
        wave = np.exp(-stroke * 45) * (np.sin(2 * np.pi * frequency * stroke) + 0.3 * rng.standard_normal(len(stroke)))
        levels[begin : begin + len(stroke)] += (wave * float(rng.uniform(0.6, 1)))[: count - begin]
        at += gap * float(rng.uniform(0.9, 1.1)) + (0.5 if rng.random() < 0.2 else 0)
    return levels


def _siren(count: int, rng: np.random.Generator) -> Wave:
    """A tone that rises and falls."""
    times = np.arange(count) / RATE
    middle, swing = float(rng.uniform(600, 1200)), float(rng.uniform(0.25, 0.5))
    pitch = middle * (1 + swing * np.sin(2 * np.pi * float(rng.uniform(0.5, 2)) * times + float(rng.uniform(0, 6))))
    phase = 2 * np.pi * np.cumsum(pitch) / RATE
    return np.asarray(np.sin(phase) + 0.3 * np.sin(2 * phase))


def _engine(count: int, rng: np.random.Generator) -> Wave:
    """A low rough buzz."""
    times = np.arange(count) / RATE
    pitch = float(rng.uniform(35, 80)) * (1 + 0.05 * np.sin(2 * np.pi * float(rng.uniform(0.2, 1)) * times))
    phase = 2 * np.pi * np.cumsum(pitch) / RATE
    buzz = sum(np.sin(number * phase + float(rng.uniform(0, 6))) / number**0.7 for number in range(1, 12))
    return np.asarray(buzz * (1 + 0.3 * np.sin(phase / 2)) + 0.15 * rng.standard_normal(count))


_DRAWN: Mapping[SoundClass, Callable[[int, np.random.Generator], Wave]] = {
    SoundClass.BEEP: _beep, SoundClass.NOISE: _noise, SoundClass.KNOCKING: _knocking, SoundClass.SIREN: _siren,
    SoundClass.ENGINE: _engine,
}  # fmt: skip
