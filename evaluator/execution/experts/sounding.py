"""Experts that make sounds by rules: speech from phonemes, music from a grammar, and sounds of clips."""

import hashlib
import math
from collections.abc import Mapping, Sequence

import numpy as np

from evaluator.core.expert import ExpertSpec
from evaluator.core.sounds import RATE, Sound, sound_of
from evaluator.core.values import FRAME_MILLISECONDS, MOST_FRAMES, Clip, Value
from evaluator.execution.experts.inputs import pixels_of, value_of
from evaluator.miniature.sounds.music import music_for
from evaluator.miniature.sounds.speech import spoken

_FRAME_SAMPLES = FRAME_MILLISECONDS * RATE // 1000


class SoundingExpert:
    """An expert without weights, item by item; subclasses make the sound or clip of an item."""

    output = "value"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        """Has no weights and needs no device."""

    def made(self, item: Mapping[str, Value]) -> Value:
        """The value for an item."""
        raise NotImplementedError

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        return [{self.output: self.made(item)} for item in batch]


class SpeechSynthesis(SoundingExpert):
    """From a text to speech in the expert's voice, 30 s at most. Equal texts sound equal."""

    output = "speech"

    def made(self, item: Mapping[str, Value]) -> Value:
        return speech_of(value_of(item, name="text", kind=str))


def speech_of(text: str) -> Sound:
    """The speech of the expert for a text."""
    seed = int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:8], "big")
    return sound_of(spoken(text, rng=np.random.default_rng(seed)).levels)


class MusicComposition(SoundingExpert):
    """From a text to four bars of music in a style that its words choose. Equal texts sound equal."""

    output = "music"

    def made(self, item: Mapping[str, Value]) -> Value:
        return sound_of(music_for(value_of(item, name="text", kind=str)))


class Dubbing(SoundingExpert):
    """From a clip and a sound to the clip with this sound instead of its own (`dubbed`)."""

    output = "video"

    def made(self, item: Mapping[str, Value]) -> Value:
        return dubbed(value_of(item, name="video", kind=Clip), sound=value_of(item, name="audio", kind=Sound))


class StillFilm(SoundingExpert):
    """From an image and a sound to a clip that shows the image as long as the sound lasts."""

    output = "video"

    def made(self, item: Mapping[str, Value]) -> Value:
        return dubbed(Clip(pixels_of(item)[None]), sound=value_of(item, name="audio", kind=Sound))


def dubbed(clip: Clip, *, sound: Sound) -> Clip:
    """A clip with a sound from its first frame on. The last frame is held while the sound lasts, up to `MOST_FRAMES`
    frames in all; then the sound is cut. Silence follows a shorter sound."""
    frames = min(max(len(clip.frames), math.ceil(len(sound.samples) / _FRAME_SAMPLES)), MOST_FRAMES)
    held = np.repeat(clip.frames[-1:], frames - len(clip.frames), axis=0)
    samples = sound.samples[: frames * _FRAME_SAMPLES]
    silence = np.zeros(frames * _FRAME_SAMPLES - len(samples), dtype=np.int16)
    return Clip(np.concatenate([clip.frames, held]), sound=Sound(np.concatenate([samples, silence])))
