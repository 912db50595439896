"""Experts that make sounds by rules: speech from phonemes, music from a grammar, and sounds of clips."""

from collections.abc import Mapping, Sequence

from evaluator.core.expert import ExpertSpec
from evaluator.core.sounds import Sound
from evaluator.core.values import Clip, Value
from evaluator.execution.experts.inputs import pixels_of, value_of
from evaluator.miniature.sounds.dubbing import dubbed
from evaluator.miniature.sounds.music import music_for
from evaluator.miniature.sounds.speech import speech_for


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
    """From a text to speech in the expert's voice, 30 s at most. Texts of equal words sound equal."""

    output = "speech"

    def made(self, item: Mapping[str, Value]) -> Value:
        return speech_for(value_of(item, name="text", kind=str))


class MusicComposition(SoundingExpert):
    """From a text to four bars of music in a style that its words choose. Texts that ask for one style sound equal."""

    output = "music"

    def made(self, item: Mapping[str, Value]) -> Value:
        return music_for(value_of(item, name="text", kind=str))


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
