"""Log-mel spectrograms."""

from functools import cache

import numpy as np
import numpy.typing as npt

from evaluator.core.sounds import RATE, Wave

Floats = npt.NDArray[np.float64]
BANDS = 40
HOP = 160
"""Samples from one frame to the next: 10 ms."""
_WINDOW, _POINTS = 400, 512
_LOWEST, _HIGHEST = 60.0, 7600.0
_FLOOR = 1e-4
"""Added to the magnitude of a band: what is softer is silence."""


def log_mel(levels: Wave) -> Floats:
    """The logarithm of the magnitude in each band, shape (frames, `BANDS`); a frame for every `HOP` begun."""
    frames = max(1, -(-len(levels) // HOP))
    padded = np.pad(levels, (_WINDOW // 2, frames * HOP + _WINDOW - len(levels)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[: frames * HOP : HOP]
    spectrum = np.abs(np.fft.rfft(windows * np.hanning(_WINDOW), _POINTS, axis=1))
    bands: Floats = spectrum @ _filters() / np.sqrt(_POINTS)
    return np.log(bands + _FLOOR)


def normalised(spectrogram: Floats) -> Floats:
    """The spectrogram with mean 0 in each band, and deviation 1 in all of them together.

    Loudness and the timbre of a room or a microphone do not change it.
    """
    centred: Floats = spectrogram - spectrogram.mean(axis=0)
    deviation = float(centred.std())
    return centred / deviation if deviation > 1e-6 else centred


@cache
def _filters() -> Floats:
    """Triangles on the mel scale, shape (frequencies, bands)."""
    low_mel, high_mel = (2595 * float(np.log10(1 + edge / 700)) for edge in (_LOWEST, _HIGHEST))
    mels = np.linspace(low_mel, high_mel, BANDS + 2)
    edges = 700 * (10 ** (mels / 2595) - 1)
    frequencies = np.fft.rfftfreq(_POINTS, 1 / RATE)[:, None]
    low, middle, high = edges[:-2], edges[1:-1], edges[2:]
    rising, falling = (frequencies - low) / (middle - low), (high - frequencies) / (high - middle)
    return np.asarray(np.clip(np.minimum(rising, falling), 0, None))
