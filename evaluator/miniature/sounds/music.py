"""Music by a small grammar: a melody of motifs over a scale, with a bass, played by a synthesiser.

No model composes: words of a text choose mode, tempo and timbre, and the rest is drawn at random.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluator.core.sounds import RATE, Sound, Wave, sound_of

_MAJOR, _MINOR = (0, 2, 4, 5, 7, 9, 11), (0, 2, 3, 5, 7, 8, 10)
_CHEERFUL = ("happy", "merry", "cheerful", "bright", "joyful", "festive")
_SAD = ("sad", "gloomy", "dark", "mournful", "melancholy")
_FAST, _SLOW = ("fast", "quick", "lively", "rapid"), ("slow", "calm", "quiet", "gentle", "peaceful")
_TIMBRES: Mapping[str, tuple[float, ...]] = {
    "flute": (1.0, 0.25, 0.08), "organ": (1.0, 0.7, 0.5, 0.4, 0.3), "bell": (1.0, 0.0, 0.5, 0.0, 0.35, 0.0, 0.2),
}  # fmt: skip
"""Levels of the harmonics of each instrument."""
STYLE_WORDS = frozenset({*_CHEERFUL, *_SAD, *_FAST, *_SLOW, *_TIMBRES})
"""The words that a style depends on."""
_BARS, _BEATS = 4, 4
_MELODY, _BASS = 0.16, 0.1
_DECAY = 2.5
"""Of a note, in 1/s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """What the words of a text choose."""

    scale: Sequence[int]
    """Semitones above the keynote."""
    beat: float
    """In seconds."""
    timbre: str


def _words_of(text: str) -> frozenset[str]:
    return frozenset(re.findall("[a-z]+", text.lower()))


def style_of(text: str, *, rng: np.random.Generator) -> Style:
    """The style that a text asks for; drawn where it does not say."""
    words = _words_of(text)
    is_minor = bool(words & set(_SAD)) or (not words & set(_CHEERFUL) and rng.random() < 0.5)
    beat = 0.22 if words & set(_FAST) else 0.5 if words & set(_SLOW) else float(rng.uniform(0.28, 0.42))
    drawn = sorted(_TIMBRES)[int(rng.integers(len(_TIMBRES)))]
    named = [timbre for timbre in _TIMBRES if timbre in words]
    return Style(scale=_MINOR if is_minor else _MAJOR, beat=beat, timbre=(named or [drawn])[0])


def music_for(text: str) -> Sound:
    """The music for a text, of four bars. Texts that ask for one style have the same."""
    wanted = " ".join(sorted(_words_of(text) & STYLE_WORDS))
    seed = int.from_bytes(hashlib.sha256(wanted.encode()).digest()[:8], "big")
    return sound_of(melody(wanted, rng=np.random.default_rng(seed)))


def melody(text: str, *, rng: np.random.Generator) -> Wave:
    """Music in the style of a text, drawn with `rng`."""
    style = style_of(text, rng=rng)
    keynote = float(220 * 2 ** (rng.integers(-3, 6) / 12))
    levels = np.zeros(round((_BARS * _BEATS + 1) * style.beat * RATE))
    # Rule of the form: a motif, its repetition a step higher, a new motif, and the first one down to the keynote.
    first, other = (_motif(rng) for _ in range(2))
    bars = [first, [(step + 1, beats) for step, beats in first], other, [*first[:-1], (0, first[-1][1])]]
    for number, bar in enumerate(bars):
        at = number * _BEATS * style.beat
        _play(levels, at=at, seconds=_BEATS * style.beat, frequency=keynote / 2, level=_BASS, harmonics=(1.0, 0.3))
        for step, beats in bar:
            octave, place = divmod(step, len(style.scale))
            frequency = keynote * 2 ** (octave + style.scale[place] / 12)
            harmonics = _TIMBRES[style.timbre]
            _play(levels, at=at, seconds=beats * style.beat, frequency=frequency, level=_MELODY, harmonics=harmonics)
            at += beats * style.beat
    return levels


def _motif(rng: np.random.Generator) -> list[tuple[int, float]]:
    """Steps of the scale with their beats, which fill a bar."""
    step, left = int(rng.choice([0, 2, 4])), float(_BEATS)
    notes = []
    while left > 0:
        beats = min(left, float(rng.choice([0.5, 1.0, 1.0, 2.0])))
        notes.append((step, beats))
        step = int(np.clip(step + rng.integers(-2, 3), -3, 9))
        left -= beats
    return notes


def _play(
    levels: Wave, *, at: float, seconds: float, frequency: float, level: float, harmonics: Sequence[float]
) -> None:
    """Add a note to the levels."""
    begin, count = round(at * RATE), round(seconds * RATE)
    times = np.arange(min(count, len(levels) - begin)) / RATE
    envelope = np.minimum(1, times / 0.01) * np.exp(-_DECAY * times) * np.minimum(1, (seconds - times) / 0.02)
    tone = np.zeros(len(times))
    for number, share in enumerate(harmonics, start=1):
        tone += share * np.sin(2 * np.pi * number * frequency * times)
    levels[begin : begin + len(times)] += level * envelope * tone / sum(harmonics)
