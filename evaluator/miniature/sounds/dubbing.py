"""Clips with sound."""

import math

import numpy as np

from evaluator.core.sounds import RATE, Sound
from evaluator.core.values import FRAME_MILLISECONDS, MOST_FRAMES, Clip

_FRAME_SAMPLES = FRAME_MILLISECONDS * RATE // 1000


def dubbed(clip: Clip, *, sound: Sound) -> Clip:
    """A clip with a sound from its first frame on. The last frame is held while the sound lasts, up to `MOST_FRAMES`
    frames in all; then the sound is cut. Silence follows a shorter sound."""
    frames = min(max(len(clip.frames), math.ceil(len(sound.samples) / _FRAME_SAMPLES)), MOST_FRAMES)
    held = np.repeat(clip.frames[-1:], frames - len(clip.frames), axis=0)
    samples = sound.samples[: frames * _FRAME_SAMPLES]
    silence = np.zeros(frames * _FRAME_SAMPLES - len(samples), dtype=np.int16)
    return Clip(np.concatenate([clip.frames, held]), sound=Sound(np.concatenate([samples, silence])))
