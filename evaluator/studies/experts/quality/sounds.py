"""Held-out quality of the experts that hear, on the validation split: other voices and other sounds."""

from collections.abc import Callable, Mapping

import numpy as np

from evaluator.core.expert import Expert
from evaluator.core.sounds import Sound, Wave, sound_of
from evaluator.core.values import Labels
from evaluator.miniature.grammar.captions import caption
from evaluator.miniature.scenes import draw_scene
from evaluator.miniature.seeds import Split, generator
from evaluator.miniature.sounds.effects import SoundClass, draw_sound
from evaluator.miniature.sounds.phonemes import WORDS
from evaluator.miniature.sounds.speech import spoken, voice_of
from evaluator.scoring.metrics.sounds import word_errors

Experts = Mapping[str, Expert]
_WORDS = 6
_CLIPPING = 0.06
"""Level at which clipped speech is cut off; its root mean square is 0.08."""


def in_noise(levels: Wave, *, rng: np.random.Generator) -> Wave:
    """Speech in white noise that is as loud as it."""
    return levels + float(np.sqrt(np.mean(levels**2))) * rng.standard_normal(len(levels))


def clipped(levels: Wave, *, rng: np.random.Generator) -> Wave:
    """Speech of which most is cut off, and a little noise."""
    return np.clip(levels, -_CLIPPING, _CLIPPING) + 0.01 * rng.standard_normal(len(levels))


def _unchanged(levels: Wave, *, rng: np.random.Generator) -> Wave:  # noqa: ARG001
    return levels


def recognition_quality(experts: Experts, count: int) -> dict[str, float]:
    """Word error rates on captions and on random words in as many voices of the validation split."""
    conditions = {"clean": _unchanged, "in noise as loud": in_noise, "clipped": clipped}
    rates = {
        f"word error rate, random words, {name}": _error_rate(experts, count=count, change=change, text=_random_words)
        for name, change in conditions.items()
    }
    return {
        "word error rate, captions, clean": _error_rate(experts, count=count, change=_unchanged, text=_caption)
    } | rates


def _random_words(index: int) -> str:
    rng = generator(split=Split.VALIDATION, index=index, purpose="spoken words")
    words = list(WORDS)
    return " ".join(words[int(place)] for place in rng.integers(len(words), size=_WORDS))


def _caption(index: int) -> str:
    return caption(draw_scene(split=Split.VALIDATION, index=index)).english


def _error_rate(experts: Experts, *, count: int, change: Callable[..., Wave], text: Callable[[int], str]) -> float:
    errors = words = 0
    for index in range(count):
        rng = generator(split=Split.VALIDATION, index=index, purpose="recording")
        levels = spoken(text(index), voice=voice_of(split=Split.VALIDATION, index=index), rng=rng).levels
        (heard,) = experts["speech_to_text"].run([{"speech": sound_of(change(levels, rng=rng))}])
        missed, of = word_errors(output=str(heard["text"]), reference=text(index))
        errors, words = errors + missed, words + of
    return errors / words


def class_quality(experts: Experts, count: int) -> dict[str, float]:
    """How often the most confident label is the class, over as many sounds, classes in equal parts."""
    classes = tuple(SoundClass)
    sounds: list[Sound] = [
        draw_sound(kind=classes[index % len(classes)], split=Split.VALIDATION, index=index) for index in range(count)
    ]
    results = experts["audio_classification"].run([{"audio": sound} for sound in sounds])
    labels = [result["speech"] for result in results]
    right = [
        isinstance(found, Labels) and found.items[0].name == classes[index % len(classes)]
        for index, found in enumerate(labels)
    ]
    return {"classes that are right": float(np.mean(right))}


MEASURES: Mapping[str, Callable[[Experts, int], dict[str, float]]] = {
    "speech-recognition": recognition_quality,
    "sound-classification": class_quality,
}
"""By folder of weights: takes the experts by tool and a number of samples; returns figures by name."""
TOOLS = frozenset({"speech_to_text", "audio_classification"})
"""The tools of these experts, which not every profile has."""
