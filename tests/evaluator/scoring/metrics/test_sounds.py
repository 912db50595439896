"""Scores of sounds: 1 for the right one, and less the more it is damaged."""

from itertools import pairwise

import numpy as np
import pytest

from evaluator.core.sounds import RATE, Sound, sound_of
from evaluator.core.values import FRAME_MILLISECONDS, Clip
from evaluator.miniature.sounds.music import music_for
from evaluator.miniature.sounds.speech import Voice, spoken
from evaluator.scoring.metrics.sounds import dub_score, sound_score, transcript_score, word_errors

SENTENCE = "A red star is on a green background."
FRAME = FRAME_MILLISECONDS * RATE // 1000


def speech(text: str, *, seed: int = 1, voice: Voice | None = None) -> Sound:
    return sound_of(spoken(text, voice=voice or Voice(), rng=np.random.default_rng(seed)).levels)


@pytest.mark.parametrize(
    ("output", "errors"),
    [
        ("a red star is on a green background", 0),
        ("A RED STAR, is on a green background!", 0),
        ("a red ring is on a green background", 1),
        ("a red star on green background", 2),
        ("so a red star is on a a green background", 2),
        ("", 8),
        ("background green a on is star red a", 8),
    ],
)
def test_word_errors_are_substitutions_omissions_and_insertions(output: str, errors: int) -> None:
    assert word_errors(output=output, reference=SENTENCE) == (errors, 8)
    assert transcript_score(output, SENTENCE) == pytest.approx(1 - errors / 8)


def test_more_errors_than_words_score_nothing_and_long_outputs_end() -> None:
    assert transcript_score("word " * 100_000, SENTENCE) == 0
    assert transcript_score("", "...") == 1
    assert transcript_score("word", "...") == 0


def test_another_voice_and_loudness_sound_more_alike_than_another_sentence_and_this_than_noise() -> None:
    reference = speech(SENTENCE)
    quieter = sound_of(reference.levels() / 2)
    again = speech(SENTENCE, seed=2, voice=Voice(pitch=150, tract=1.05))
    other = speech("Yes, a kitchen shows three shirts in the park.")
    noise = sound_of(0.1 * np.random.default_rng(0).standard_normal(len(reference.samples)))
    scores = [sound_score(one, reference) for one in (reference, quieter, again, other, noise)]

    assert scores[0] == 1
    assert all(better > worse for better, worse in pairwise(scores))


@pytest.mark.parametrize("reference", [speech(SENTENCE), music_for("a happy tune")])
def test_a_damaged_sound_scores_less_the_more_it_is_damaged(reference: Sound) -> None:
    levels, rng = reference.levels(), np.random.default_rng(3)
    noise = rng.standard_normal(len(levels))
    noisy = [sound_score(sound_of(levels + share * noise), reference) for share in (0, 0.003, 0.03, 0.3)]
    cut = [sound_score(Sound(reference.samples[: round(share * len(levels))]), reference) for share in (1, 0.9, 0.5)]
    late = [sound_score(Sound(np.roll(reference.samples, shift)), reference) for shift in (0, 3_000, 12_000)]

    assert noisy[0] == cut[0] == late[0] == 1
    assert all(better > worse for scores in (noisy, cut) for better, worse in pairwise(scores))
    assert max(late[1:]) < 0.9


def test_music_in_another_style_is_not_what_was_wanted() -> None:
    wanted = music_for("a fast happy flute tune")

    assert sound_score(music_for("Happy flute music, fast"), wanted) == 1
    assert sound_score(music_for("a slow sad bell tune"), wanted) < 0.5


def test_silence_sounds_like_nothing_else() -> None:
    silence = Sound(np.zeros(RATE, dtype=np.int16))

    assert sound_score(silence, speech(SENTENCE)) == 0
    assert sound_score(silence, silence) == 1


FRAMES = np.random.default_rng(2).integers(256, size=(12, 6, 4, 3), dtype=np.uint8)
WORD = speech("red")


def dubbed(*, sound: Sound = WORD, begins: int = 0, frames: np.ndarray = FRAMES) -> Clip:
    track = np.zeros(12 * FRAME, dtype=np.int16)
    track[begins : begins + len(sound.samples)] = sound.samples
    return Clip(frames, sound=Sound(track))


def test_a_dubbed_clip_needs_its_picture_its_sound_and_its_sync() -> None:
    reference = dubbed()
    noise = np.random.default_rng(5).integers(256, size=FRAMES.shape, dtype=np.uint8)
    right, later, late, wrong = (
        dubbed(), dubbed(begins=FRAME + 4_000), dubbed(begins=12_000), dubbed(sound=speech("yellow"))
    )  # fmt: skip

    assert dub_score(right, reference) == 1
    assert dub_score(dubbed(begins=FRAME // 2), reference) > 0.98, "within a frame it is in sync"
    assert 1 > dub_score(later, reference) > dub_score(late, reference) > 0
    assert dub_score(wrong, reference) < 0.8
    assert dub_score(dubbed(frames=FRAMES[::-1]), reference) < 0.1
    assert dub_score(dubbed(frames=noise), reference) < 0.1
    assert dub_score(Clip(FRAMES), reference) == 0
    assert dub_score(dubbed(frames=FRAMES[:, :3]), reference) == 0


def test_silent_tracks_are_equal_and_a_heard_one_is_none() -> None:
    silence = dubbed(sound=Sound(np.zeros(1, dtype=np.int16)))

    assert dub_score(silence, silence) == 1
    assert dub_score(dubbed(), silence) == 0
    assert dub_score(silence, dubbed()) == 0
