"""Sounds of strangers: any PCM wav is heard, and every other file is refused with a reason."""

import io
import struct
import wave

import numpy as np
import pytest

from evaluator.core.sounds import (
    LONGEST_SECONDS,
    MOST_SAMPLES,
    RATE,
    Sound,
    SoundError,
    read_wav,
    sound_of,
    stored_sound,
    wav_of,
)


def tone(*, rate: int = RATE, seconds: float = 0.5, pitch: float = 440.0) -> np.ndarray:
    return 0.5 * np.sin(2 * np.pi * pitch * np.arange(round(rate * seconds)) / rate)


def file_of(levels: np.ndarray, *, rate: int = RATE, width: int = 2, channels: int = 1) -> bytes:
    whole = np.rint(levels * (2 ** (8 * width - 1) - 1)).astype(np.int64) + (128 if width == 1 else 0)
    frames = b"".join(int(level).to_bytes(width, "little", signed=width > 1) * channels for level in whole)
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setparams((channels, width, rate, 0, "NONE", ""))
        file.writeframes(frames)
    return buffer.getvalue()


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("channels", [1, 2])
def test_every_width_of_samples_and_both_channels_sound_alike(width: int, channels: int) -> None:
    heard = read_wav(file_of(tone(), width=width, channels=channels)).levels()

    assert np.abs(heard - tone()).max() < (0.02 if width == 1 else 0.001)


@pytest.mark.parametrize("rate", [8_000, 22_050, 44_100, 48_000])
def test_a_tone_of_another_rate_keeps_its_pitch_and_length(rate: int) -> None:
    heard = read_wav(file_of(tone(rate=rate), rate=rate))
    pitch = np.abs(np.fft.rfft(heard.levels())).argmax() / heard.seconds

    assert abs(heard.seconds - 0.5) < 0.001
    assert abs(pitch - 440) < 3


def test_what_only_a_higher_rate_can_hold_is_left_out_and_not_folded_down() -> None:
    heard = read_wav(file_of(tone(rate=48_000, pitch=15_000), rate=48_000)).levels()

    assert np.abs(heard).max() < 0.05


def declared(data: bytes, *, at: int, value: int, form: str = "<I") -> bytes:
    return data[:at] + struct.pack(form, value) + data[at + struct.calcsize(form) :]


WAV = file_of(tone())


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "damaged"),
        (b"RIFF", "damaged"),
        (b"\x89PNG\r\n\x1a\n" * 20, "no PCM wav"),
        (WAV[:40], "damaged"),
        (file_of(np.zeros(0)), "no samples"),
        (WAV[:1000], "it has"),
        (declared(WAV, at=40, value=2**32 - 2), "at most 30 s"),
        (declared(WAV, at=20, value=3, form="<H"), "no PCM wav"),
        (declared(WAV, at=22, value=0, form="<H"), "no PCM wav"),
        (declared(WAV, at=22, value=999, form="<H"), "999 channels"),
        (declared(WAV, at=24, value=1), "at 1 Hz"),
        (declared(WAV, at=24, value=2**31), "Hz"),
        (declared(WAV, at=34, value=0, form="<H"), "no PCM wav"),
        (declared(WAV, at=34, value=64, form="<H"), "64 bits"),
    ],
)
def test_a_hostile_file_is_refused_with_a_reason(data: bytes, words: str) -> None:
    with pytest.raises(SoundError, match=words):
        read_wav(data)


def test_a_long_sound_is_refused_by_its_length() -> None:
    data = file_of(np.zeros(8_000 * (LONGEST_SECONDS + 1)), rate=8_000, width=1)

    with pytest.raises(SoundError, match="it lasts 31 s"):
        read_wav(data)


def test_only_the_bytes_that_are_written_are_a_stored_sound() -> None:
    sound = sound_of(tone())
    data = wav_of(sound)

    assert stored_sound(data) == sound
    assert wav_of(sound) == data
    for other in (b"", data[:-1], data[:44], data + b"\x00\x00", file_of(tone(), rate=8_000), b"x" * 100):
        with pytest.raises(ValueError, match="stored sound"):
            stored_sound(other)


def test_a_sound_has_one_channel_of_sixteen_bits_and_an_end() -> None:
    for samples in (np.zeros((2, 2), np.int16), np.zeros(4, np.int32), np.zeros(0, np.int16)):
        with pytest.raises(ValueError, match="a sound"):
            Sound(samples)
    with pytest.raises(ValueError, match="at most 30 s"):
        Sound(np.zeros(MOST_SAMPLES + 1, np.int16))
