"""The experts that hear, with the shipped weights, on voices and sounds that they were not trained on."""

from collections.abc import Mapping

import numpy as np
import pytest

from evaluator.core.expert import Expert, ExpertError
from evaluator.core.sounds import MOST_SAMPLES, Sound, sound_of
from evaluator.core.values import Labels
from evaluator.execution.experts.hearing import PHONE_NAMES, best_words, spelled
from evaluator.execution.experts.profile import load_expert, load_profile
from evaluator.miniature.seeds import Split
from evaluator.miniature.sounds.effects import SoundClass, draw_sound
from evaluator.miniature.sounds.phonemes import PAUSE, WORDS
from evaluator.miniature.sounds.speech import SPEAKER, spoken, voice_of
from evaluator.studies.experts.quality.sounds import class_quality, recognition_quality


@pytest.fixture(scope="module")
def experts() -> Mapping[str, Expert]:
    specs = load_profile("lilliput-sound").experts
    return {tool: load_expert(spec=specs[tool]) for tool in ("speech_to_text", "audio_classification")}


def test_new_voices_are_understood_and_worse_in_noise_and_clipped(experts: Mapping[str, Expert]) -> None:
    rates = recognition_quality(experts, 24)

    assert rates["word error rate, captions, clean"] <= 0.1
    assert rates["word error rate, random words, clean"] <= 0.1
    assert rates["word error rate, random words, in noise as loud"] > 0.3
    assert rates["word error rate, random words, clipped"] > 0.15


def test_new_sounds_have_their_class(experts: Mapping[str, Expert]) -> None:
    assert class_quality(experts, 70)["classes that are right"] >= 0.95


def test_no_voice_is_that_of_a_training_speaker() -> None:
    trained = {voice_of(split=Split.TRAIN, index=index) for index in range(400)}
    others = {voice_of(split=split, index=index) for split in (Split.VALIDATION, Split.PUBLIC) for index in range(100)}

    assert len(trained) == 200
    assert not trained & {*others, SPEAKER}


def test_a_sound_is_heard_alike_alone_and_in_company(experts: Mapping[str, Expert]) -> None:
    sounds = [draw_sound(kind=kind, split=Split.PUBLIC, index=3) for kind in SoundClass]
    for tool, name in (("speech_to_text", "speech"), ("audio_classification", "audio")):
        together = experts[tool].run([{name: sound} for sound in sounds])
        assert together == [experts[tool].run([{name: sound}])[0] for sound in sounds]


@pytest.mark.parametrize("samples", [1, 159, MOST_SAMPLES])
def test_silence_of_any_length_has_no_words_and_some_class(experts: Mapping[str, Expert], samples: int) -> None:
    silence = Sound(np.zeros(samples, dtype=np.int16))
    (heard,) = experts["speech_to_text"].run([{"speech": silence}])
    (found,) = experts["audio_classification"].run([{"audio": silence}])

    assert len(str(heard["text"]).split()) <= 1
    assert isinstance(found["speech"], Labels)
    assert len(found["speech"].items) >= 1


def test_what_is_no_sound_is_refused(experts: Mapping[str, Expert]) -> None:
    with pytest.raises(ExpertError, match='the input "speech" must be a sound, found a text'):
        experts["speech_to_text"].run([{"speech": "red"}])


def scores_of(*phones: str) -> np.ndarray:
    """Three frames for each phoneme, of which it is certain."""
    scores = np.full((3 * len(phones), len(PHONE_NAMES)), -8.0)
    for place, phone in enumerate(phones):
        scores[3 * place : 3 * place + 3, PHONE_NAMES.index(phone)] = -0.1
    return scores


def test_the_most_probable_words_fill_the_whole_sound() -> None:
    phones = [PAUSE, *WORDS["red"], PAUSE, *WORDS["star"], *WORDS["is"], PAUSE]

    assert best_words(scores_of(*phones), phones=PHONE_NAMES, penalty=6.0) == ["red", "star", "is"]
    assert best_words(scores_of(PAUSE), phones=PHONE_NAMES, penalty=6.0) == []
    slurred = scores_of(*WORDS["red"])
    slurred[-3:] = -3.0
    assert best_words(slurred, phones=PHONE_NAMES, penalty=6.0) == ["red"]


def test_of_two_words_that_sound_the_same_the_next_one_decides() -> None:
    assert spelled([]) == []
    assert spelled(["to", "the", "left", "to", "things"]) == ["to", "the", "left", "two", "things"]


def test_the_expert_understands_itself(experts: Mapping[str, Expert]) -> None:
    levels = spoken("a blue hexagon is rising to the left", rng=np.random.default_rng(0)).levels
    (heard,) = experts["speech_to_text"].run([{"speech": sound_of(levels)}])

    assert heard["text"] == "a blue hexagon is rising to the left"
