"""Speech: a voice and noise, shaped by the formants of phonemes.

The source is a train of pulses and a stream of noise. Each frame of a few milliseconds of it is filtered by the
resonances of its phoneme, which move smoothly from one to the next, and the frames are added up.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluator.core.sounds import MOST_SAMPLES, RATE, Sound, Wave, sound_of
from evaluator.miniature.seeds import Split, generator
from evaluator.miniature.sounds.phonemes import PAUSE, PHONES, pronounced, words_in

Floats = npt.NDArray[np.float64]
_HOP = 80
"""Samples from one frame to the next: 5 ms."""
_WINDOW, _BINS = 320, 512
_FREQUENCIES = np.fft.rfftfreq(_BINS, 1 / RATE)
_BANDWIDTHS, _GAINS = (90.0, 120.0, 180.0, 260.0), (1.0, 0.55, 0.3, 0.12)
_FOURTH_FORMANT = 3500.0
_LOUDNESS = 0.08
"""Root mean square of speech."""
_SMOOTH_FORMANTS, _SMOOTH_LEVELS = 9, 3
"""Frames over which formants and levels are averaged."""
_BREATH = 0.02
_FALL = 0.15
"""By which the pitch falls from beginning to end of a sentence, as a share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """A speaker."""

    pitch: float = 120.0
    """In Hz."""
    tract: float = 1.0
    """Scale of the formants: higher for shorter vocal tracts."""
    rate: float = 1.0
    """Speed of speech."""
    breath: float = 1.0
    """Scale of the noise in the voice."""


SPEAKER = Voice(pitch=132.0, tract=1.06, rate=1.0)
"""The voice of the expert. No recogniser is trained on it."""
_TRAINED_VOICES = 200
_MOST_PHONES = MOST_SAMPLES // 800
"""Phonemes last 50 ms and more."""


def voice_of(*, split: Split, index: int, hidden_seed: str | None = None) -> Voice:
    """A voice of a split. The training split has 200 of them, which no other split has."""
    number = index % _TRAINED_VOICES if split is Split.TRAIN else index
    rng = generator(split=split, index=number, purpose="voice", hidden_seed=hidden_seed)
    tract = float(rng.uniform(0.88, 1.2))
    # Shorter tracts have higher voices, on average.
    pitch = 85 + 420 * (tract - 0.88) * float(rng.uniform(0.5, 1.3))
    return Voice(pitch=pitch, tract=tract, rate=float(rng.uniform(0.85, 1.2)), breath=float(rng.uniform(0.5, 2.5)))


@dataclass(frozen=True, slots=True)
class Utterance:
    """What was spoken."""

    levels: Wave
    phones: tuple[tuple[str, int], ...]
    """Each phoneme with the sample at which it ends, in order."""


def speech_for(text: str) -> Sound:
    """A text in the voice of the expert; texts of equal words sound equal."""
    seed = int.from_bytes(hashlib.sha256(" ".join(words_in(text)).encode()).digest()[:8], "big")
    return sound_of(spoken(text, rng=np.random.default_rng(seed)).levels)


def spoken(text: str, *, voice: Voice = SPEAKER, rng: np.random.Generator) -> Utterance:
    """A text in a voice. Longer than the longest sound, it is cut.

    Args:
        text: any text; a text without words gives a short silence.
        voice: speaks.
        rng: draws the noise, and small deviations of pitch and durations.
    """
    names = [PAUSE]
    for word in words_in(text):
        names += [*pronounced(word[:_MOST_PHONES]), PAUSE]
        if len(names) > _MOST_PHONES:
            break
    frames = [
        max(4, round(PHONES[name].milliseconds * RATE / 1000 / _HOP / voice.rate * rng.uniform(0.85, 1.15)))
        for name in names
    ]
    # What lies behind the longest sound is not made: a stranger's text may be a megabyte.
    last = int(np.searchsorted(np.cumsum(frames) * _HOP, MOST_SAMPLES)) + 1
    names, frames = names[:last], frames[:last]
    tracks = _tracks(names, frames=frames)
    levels = _filtered(tracks, voice=voice, rng=rng)
    loudness = float(np.sqrt(np.mean(levels**2)))
    levels = levels * (_LOUDNESS / loudness if loudness > 1e-6 else 1.0)
    ends = np.cumsum(frames) * _HOP
    return Utterance(levels[:MOST_SAMPLES], tuple(zip(names, map(int, ends), strict=True)))


@dataclass(frozen=True, slots=True)
class _Tracks:
    """How the source is shaped, for each frame."""

    formants: Floats
    """Shape (frames, 3), in Hz."""
    voice: Floats
    hiss: Floats
    centre: Floats
    width: Floats


def _tracks(names: Sequence[str], *, frames: Sequence[int]) -> _Tracks:
    formants, rows = [], []
    for name, count in zip(names, frames, strict=True):
        phone = PHONES[name]
        share = np.linspace(0, 1, count)[:, None]
        formants.append((1 - share) * np.array(phone.start) + share * np.array(phone.end))
        closed = round(count * phone.closure)
        level, centre, width = (phone.hiss.level, phone.hiss.centre, phone.hiss.width) if phone.hiss else (0, 3000, 1)
        for frame in range(count):
            rows.append((phone.voice, level if frame >= closed else 0.0, centre, width))
    voice, hiss, centre, width = np.array(rows, dtype=np.float64).T
    return _Tracks(
        formants=_smooth(np.concatenate(formants), over=_SMOOTH_FORMANTS),
        voice=_smooth(voice[:, None], over=_SMOOTH_LEVELS)[:, 0],
        hiss=_smooth(hiss[:, None], over=_SMOOTH_LEVELS)[:, 0], centre=centre, width=width,
    )  # fmt: skip


def _smooth(track: Floats, *, over: int) -> Floats:
    """The moving average along the first axis."""
    padded = np.pad(track, ((over // 2, over // 2), (0, 0)), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, over, axis=0)
    return np.asarray(windows.mean(axis=-1))


def _filtered(tracks: _Tracks, *, voice: Voice, rng: np.random.Generator) -> Wave:
    count = len(tracks.voice)
    length = count * _HOP + _WINDOW
    fall = 1 + _FALL * (0.5 - np.linspace(0, 1, length))
    drift = np.interp(np.arange(length), np.linspace(0, length, 12), rng.normal(0, 0.02, 12))
    turns = np.cumsum(voice.pitch * fall * (1 + drift) / RATE)
    pulses = np.zeros(length)
    pulses[1:][np.floor(turns[1:]) > np.floor(turns[:-1])] = np.sqrt(RATE / voice.pitch)
    noise = rng.standard_normal(length)
    places = np.arange(count)[:, None] * _HOP + np.arange(_WINDOW)
    window = np.hanning(_WINDOW)
    voiced, hissed = (np.fft.rfft(source[places] * window, _BINS, axis=1) for source in (pulses, noise))
    resonances = _resonances(tracks.formants * voice.tract, fourth=_FOURTH_FORMANT * voice.tract)
    offset = (_FREQUENCIES - tracks.centre[:, None] * voice.tract) / tracks.width[:, None]
    shape = tracks.hiss[:, None] * np.exp(-0.5 * offset**2)
    breath = _BREATH * voice.breath * tracks.voice[:, None] * resonances
    spectrum = voiced * tracks.voice[:, None] * resonances + hissed * (0.25 * shape + breath)
    frames = np.fft.irfft(spectrum, _BINS, axis=1)
    levels = np.zeros(length + _BINS)
    for part in range(0, _BINS, _HOP):  # parts of one hop, each a row of the result
        rows = np.zeros((count, _HOP))
        piece = frames[:, part : part + _HOP]
        rows[:, : piece.shape[1]] = piece
        levels[part : part + count * _HOP] += rows.ravel()
    return levels[: count * _HOP]


def _resonances(formants: Floats, *, fourth: float) -> Floats:
    """Gain of each frequency, shape (frames, frequencies)."""
    gains = np.zeros((len(formants), len(_FREQUENCIES)))
    places = np.concatenate([formants, np.full((len(formants), 1), fourth)], axis=1)
    for place, width, gain in zip(places.T, _BANDWIDTHS, _GAINS, strict=True):
        gains += gain / (1 + ((_FREQUENCIES - place[:, None]) / width) ** 2)
    return gains
