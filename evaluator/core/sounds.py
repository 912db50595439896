"""Sounds: mono PCM of 16 bits at 16 kHz, as wav. Bytes of equal sounds are equal.

`read_wav` hears what strangers send. It is meant for a limited process: a header may claim anything.
"""

import io
import wave
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

RATE = 16_000
"""Samples per second."""
LONGEST_SECONDS = 30
MOST_SAMPLES = LONGEST_SECONDS * RATE
_HEADER_BYTES = 44
_LEVELS = 2**15
_RATES = range(4_000, 192_001)
"""Sampling rates that are read, in Hz."""
_MOST_CHANNELS, _MOST_BYTES = 8, 4

Samples = npt.NDArray[np.int16]
Wave = npt.NDArray[np.float64]
"""Levels in [-1, 1], shape (samples,)."""


@dataclass(frozen=True, slots=True, eq=False)
class Sound:
    """A sound."""

    samples: Samples
    """Shape (samples,), 1 to `MOST_SAMPLES` of them, `RATE` per second. Shared: do not change it."""

    def __post_init__(self) -> None:
        """Raises ValueError for another shape or type, no samples, or too many."""
        if self.samples.ndim != 1 or self.samples.dtype != np.int16:
            raise ValueError(f"a sound has one channel of 16 bits, not {self.samples.dtype} of {self.samples.shape}")
        if not 1 <= len(self.samples) <= MOST_SAMPLES:
            raise ValueError(f"a sound lasts at most {LONGEST_SECONDS} s and is not empty: {len(self.samples)} samples")

    @property
    def seconds(self) -> float:
        """Its length."""
        return len(self.samples) / RATE

    def levels(self) -> Wave:
        """The samples in [-1, 1]."""
        return self.samples.astype(np.float64) / _LEVELS

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sound) and np.array_equal(self.samples, other.samples)

    def __hash__(self) -> int:
        return hash(self.samples.tobytes())


def sound_of(levels: Wave) -> Sound:
    """The sound with these levels; those outside [-1, 1] are clipped. Raises ValueError as `Sound` does."""
    return Sound(np.clip(np.rint(levels * _LEVELS), -_LEVELS, _LEVELS - 1).astype(np.int16))


def wav_of(sound: Sound) -> bytes:
    """The sound as a wav file."""
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(sound.samples.astype("<i2").tobytes())
    return buffer.getvalue()


def stored_sound(data: bytes) -> Sound:
    """The inverse of `wav_of`. Raises ValueError for all other bytes, also for other wav files."""
    if not 0 < len(data) - _HEADER_BYTES <= 2 * MOST_SAMPLES or len(data) % 2:
        raise ValueError(f"a stored sound has 1 to {MOST_SAMPLES} samples after a header, not {len(data)} bytes")
    sound = Sound(np.frombuffer(data[_HEADER_BYTES:], dtype="<i2").astype(np.int16))
    if wav_of(sound) != data:
        raise ValueError(f"a stored sound is a wav file of one channel of 16 bits at {RATE} Hz")
    return sound


class SoundError(ValueError):
    """A file cannot be heard; the message is the reason, without the file name."""


def read_wav(data: bytes) -> Sound:
    """The sound of any PCM wav file: channels are averaged, other rates resampled.

    Raises:
        SoundError: it is damaged, empty, too long, or no PCM of 8 to 32 bits.
    """
    try:
        with wave.open(io.BytesIO(data)) as file:
            channels, width, rate, count = file.getparams()[:4]
            if not 1 <= channels <= _MOST_CHANNELS or rate not in _RATES or width > _MOST_BYTES:
                raise SoundError(f"it has {channels} channels of {8 * width} bits at {rate} Hz")
            if count > LONGEST_SECONDS * rate:
                raise SoundError(f"it lasts {count / rate:.0f} s by its header; at most {LONGEST_SECONDS} s are heard")
            frames = file.readframes(count)
    except (wave.Error, EOFError) as error:
        raise SoundError(f"it is damaged, or no PCM wav ({error or 'it ends too early'})") from None
    if not frames or len(frames) != count * channels * width:
        found = len(frames) // (channels * width)
        raise SoundError(f"its header declares {count} samples, but it has {found}" if count else "it has no samples")
    levels = _levels(frames, width=width).reshape(count, channels).mean(axis=1)
    return sound_of(resampled(levels, rate=rate))


def resampled(levels: Wave, *, rate: int) -> Wave:
    """A wave of another rate at `RATE`, by its spectrum; at least one sample.

    Args:
        levels: shape (samples,), any number.
        rate: its samples per second.
    """
    if rate == RATE:
        return levels
    count = max(1, round(len(levels) * RATE / rate))
    spectrum = np.fft.rfft(levels)
    kept = np.zeros(count // 2 + 1, dtype=np.complex128)
    common = min(len(kept), len(spectrum))
    kept[:common] = spectrum[:common]
    found: Wave = np.fft.irfft(kept, count) * (count / len(levels))
    return found


def _levels(frames: bytes, *, width: int) -> Wave:
    """Interleaved PCM in [-1, 1]. Samples of one byte are unsigned, wider ones signed."""
    if width == 1:
        return (np.frombuffer(frames, dtype=np.uint8).astype(np.float64) - 128) / 128
    if width == 2:
        return np.frombuffer(frames, dtype="<i2").astype(np.float64) / _LEVELS
    # The two highest bytes of a sample: more is lost in 16 bits anyway.
    bytes_of = np.frombuffer(frames, dtype=np.uint8).reshape(-1, width)[:, -2:]
    return np.ascontiguousarray(bytes_of).view("<i2")[:, 0].astype(np.float64) / _LEVELS
