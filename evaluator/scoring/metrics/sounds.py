"""Scores of speech, of sounds, and of clips with sound."""

import re
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from evaluator.core.sounds import RATE, Sound
from evaluator.core.values import FRAME_MILLISECONDS, Clip
from evaluator.miniature.sounds.spectra import log_mel
from evaluator.scoring.metrics import rule_names
from evaluator.scoring.metrics.results.rules import RuleScore

_WORDS = re.compile(r"[a-z0-9']+")
_MOST_WORDS = 1000
_SEGMENTS = 32
"""Of a sound, for its embedding."""
_SLACK_SECONDS = FRAME_MILLISECONDS / 1000
"""By which a dubbed sound may begin or end late without being out of sync."""
_SILENCE = 0.01
_RANGE = 5.0
"""Logarithm of a ratio of magnitudes: 43 dB."""


def word_errors(*, output: str, reference: str) -> tuple[int, int]:
    """Substituted, missing and additional words of a transcript, and the number of words of its reference.

    Case and punctuation do not count. Of the output, the first 1,000 words are read.
    """
    heard, said = (_WORDS.findall(text.lower()) for text in (output, reference))
    row = np.arange(len(said) + 1)
    for number, word in enumerate(heard[:_MOST_WORDS], start=1):
        before, row = row, np.full_like(row, number)
        for place, other in enumerate(said, start=1):
            row[place] = min(before[place] + 1, row[place - 1] + 1, before[place - 1] + (word != other))
    return int(row[-1]), len(said)


def transcript_score(output: str, reference: str) -> float:
    """1 - word error rate, at least 0; two texts without words are equal."""
    errors, words = word_errors(output=output, reference=reference)
    return max(0.0, 1 - errors / words) if words else float(errors == 0)


def embedding(sound: Sound) -> npt.NDArray[np.float64]:
    """Log-mel bands in 32 segments of equal length, centred, as one vector of length 1; zeros for silence.

    The order of events matters, the overall loudness does not. Whatever is more than `_RANGE` softer than the loudest
    part counts as silence.
    """
    spectrogram = log_mel(sound.levels())
    spectrogram = np.maximum(spectrogram, spectrogram.max() - _RANGE)
    places = np.linspace(0, len(spectrogram), _SEGMENTS + 1)
    sums = np.concatenate([np.zeros((1, spectrogram.shape[1])), np.cumsum(spectrogram, axis=0)])
    whole = np.floor(places).astype(np.int64).clip(max=len(spectrogram) - 1)
    until = sums[whole] + (places - whole)[:, None] * spectrogram[whole]
    segments = np.diff(until, axis=0)
    centred = (segments - segments.mean()).ravel()
    norm = float(np.linalg.norm(centred))
    return centred / norm if norm > 1e-9 else np.zeros_like(centred)


def sound_score(output: Sound, reference: Sound) -> float:
    """Square of the cosine of the embeddings, times the share that the shorter one is of the longer one.

    It is the share of the variance of one embedding that the other explains; 0 for a negative cosine.
    """
    if output == reference:
        return 1.0
    cosine = float(embedding(output) @ embedding(reference))
    shorter, longer = sorted((output.seconds, reference.seconds))
    return min(1.0, max(0.0, cosine) ** 2 * shorter / longer)


def dub_score(output: Clip, reference: Clip) -> float:
    """How well a clip is dubbed: the product of the scores of its picture, its sound, and its sync. 0 without sound.

    The picture is right if each frame of the reference, or the last frame of a shorter output, is nearly equal. The
    sound is compared from beginning to end of what can be heard. Sync is 1 if it begins and ends where the reference
    does, within a frame, and falls by the share of the clip by which it does not.
    """
    if output.sound is None or reference.sound is None:
        return float(output == reference)
    heard, wanted = _audible(output.sound), _audible(reference.sound)
    if heard is None or wanted is None:
        return 0.0 if heard is not wanted else _picture_score(output, reference)
    sound = sound_score(_between(output.sound, heard), _between(reference.sound, wanted))
    late = max(abs(one - other) for one, other in zip(heard, wanted, strict=True))
    sync = 1 - max(0.0, late - _SLACK_SECONDS) / reference.sound.seconds
    return _picture_score(output, reference) * sound * max(0.0, sync)


def _audible(sound: Sound) -> tuple[float, float] | None:
    """Where a sound can first and last be heard, in seconds; None for silence."""
    places = np.flatnonzero(np.abs(sound.levels()) > _SILENCE)
    return (float(places[0]) / RATE, float(places[-1] + 1) / RATE) if len(places) else None


def _between(sound: Sound, seconds: tuple[float, float]) -> Sound:
    first, last = (round(place * RATE) for place in seconds)
    return Sound(sound.samples[first:last])


def _picture_score(output: Clip, reference: Clip) -> float:
    if output.size != reference.size:
        return 0.0
    count = max(len(output.frames), len(reference.frames))
    places = np.arange(count)
    one, other = (clip.frames[places.clip(max=len(clip.frames) - 1)] for clip in (output, reference))
    return 1 - min(1.0, 10 * float(np.abs(one.astype(np.int16) - other).mean()) / 255)


SOUND_SCORES: Mapping[str, RuleScore] = MappingProxyType(
    {
        rule.name: rule
        for rule in (
            RuleScore(rule_names.TRANSCRIPT, str, str, transcript_score),
            RuleScore(rule_names.SOUND, Sound, Sound, sound_score),
            RuleScore(rule_names.DUB, Clip, Clip, dub_score),
        )
    }
)
"""By name. Beside the other scores by rules, whose folder is in the digests of suites without sound."""
