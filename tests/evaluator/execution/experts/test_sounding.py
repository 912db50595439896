"""Experts that make sounds by rules: speech, music, dubbed clips and films of a picture."""

from collections.abc import Mapping

import numpy as np
import pytest
from PIL import Image as PillowImage

from evaluator.core.expert import ExpertError
from evaluator.core.sounds import LONGEST_SECONDS, RATE, Sound, sound_of
from evaluator.core.values import FRAME_MILLISECONDS, MOST_FRAMES, Clip, Value
from evaluator.execution.experts.profile import NO_WEIGHTS, load_expert, load_profile
from evaluator.miniature.sounds.phonemes import PHONES, SAME, WORDS, pronounced, words_in

FRAME = FRAME_MILLISECONDS * RATE // 1000
CLIP = Clip(np.random.default_rng(1).integers(256, size=(8, 6, 4, 3), dtype=np.uint8))


def run(tool: str, **item: Value) -> Value:
    spec = load_profile("lilliput-sound").experts[tool]
    assert spec.weights_digest == NO_WEIGHTS
    (outputs,) = load_expert(spec=spec).run([item])
    (value,) = outputs.values()
    return value


def sound(samples: int) -> Sound:
    return sound_of(0.2 * np.sin(np.arange(samples) / 7))


def test_speech_depends_on_the_words_and_on_nothing_else() -> None:
    first, again, other = (run("text_to_speech", text=text) for text in ("A red star.", "a red STAR", "A red ring."))

    assert isinstance(first, Sound)
    assert first == again
    assert first != other
    assert 0.5 < first.seconds < 2.5


@pytest.mark.parametrize(
    "text", ["", "!?", "\x00\u202e😀", "xyzzy qwrt 4711", "word " * 20_000, "9" * 5_000, "a" * 100_000]
)
def test_every_text_can_be_spoken(text: str) -> None:
    spoken = run("text_to_speech", text=text)

    assert isinstance(spoken, Sound)
    assert spoken.seconds <= LONGEST_SECONDS


def test_numbers_are_spoken_as_words_and_unknown_words_by_their_letters() -> None:
    assert words_in("12 rings, 47!") == ["twelve", "rings", "four", "seven"]
    assert pronounced("shine") == ("sh", "ih", "n")


def test_words_have_known_phonemes_and_sound_different() -> None:
    sounds = [phones for word, phones in WORDS.items() if word != SAME[1]]

    assert {phone for phones in sounds for phone in phones} < set(PHONES)
    assert len(set(sounds)) == len(sounds)
    assert WORDS[SAME[0]] == WORDS[SAME[1]]


def test_music_follows_its_words() -> None:
    fast, slow, again = (run("text_to_music", text=text) for text in ("a fast tune", "a slow tune", "Music, FAST!"))

    assert isinstance(fast, Sound)
    assert isinstance(slow, Sound)
    assert fast == again
    assert fast.seconds < slow.seconds < 10


@pytest.mark.parametrize(
    ("samples", "frames"), [(10, 8), (8 * FRAME, 8), (8 * FRAME + 1, 9), (12 * FRAME, 12), (480_000, MOST_FRAMES)]
)
def test_a_dubbed_clip_lasts_as_long_as_its_sound_and_holds_the_last_frame(samples: int, frames: int) -> None:
    given = sound(samples)
    clip = run("dub_video", video=CLIP, audio=given)

    assert isinstance(clip, Clip)
    assert clip.sound is not None
    assert len(clip.frames) == frames
    assert np.array_equal(clip.frames[:8], CLIP.frames)
    assert (clip.frames[8:] == CLIP.frames[-1]).all()
    assert len(clip.sound.samples) == frames * FRAME
    kept = min(samples, frames * FRAME)
    assert np.array_equal(clip.sound.samples[:kept], given.samples[:kept])
    assert not clip.sound.samples[kept:].any()


def test_a_clip_loses_its_own_sound() -> None:
    twice = run("dub_video", video=run("dub_video", video=CLIP, audio=sound(12 * FRAME)), audio=sound(20))

    assert isinstance(twice, Clip)
    assert twice.sound is not None
    assert not twice.sound.samples[20:].any()


def test_a_film_of_a_picture_shows_it_as_long_as_the_sound_lasts() -> None:
    clip = run("image_audio_to_video", image=PillowImage.fromarray(CLIP.frames[0]), audio=sound(5 * FRAME))

    assert isinstance(clip, Clip)
    assert len(clip.frames) == 5
    assert (clip.frames == CLIP.frames[0]).all()


@pytest.mark.parametrize("item", [{"video": CLIP}, {"video": CLIP, "audio": "loud"}, {"video": "x", "audio": sound(9)}])
def test_a_wrong_input_is_named(item: Mapping[str, Value]) -> None:
    with pytest.raises(ExpertError, match=r'the input "(audio|video)" must be a'):
        run("dub_video", **item)
