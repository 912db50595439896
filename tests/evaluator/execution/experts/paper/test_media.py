"""The experts of the profile `paper` for sounds and clips, on small random checkpoints in their released layouts."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from evaluator.core.expert import ExpertError
from evaluator.core.sounds import MOST_SAMPLES, RATE, Sound, sound_of
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.core.values import MOST_FRAMES, Clip, Labels, encode
from evaluator.execution.experts.checkpoints import read_lock
from evaluator.execution.experts.profile import load_expert, load_profile
from evaluator.execution.experts.released_sounds import sound_at
from tests.evaluator.execution.experts.paper.media import MEDIA_BUILDERS
from tests.evaluator.execution.experts.paper.world import fetch_checkpoints, small

pytestmark = [pytest.mark.full, pytest.mark.usefixtures("one_thread")]

DRAWN = ("text_to_speech", "text_to_music", "text_to_video", "image_to_video")
HEARD = ("speech_to_text", "audio_classification")
KINDS = {"text_to_speech": Sound, "text_to_music": Sound, "speech_to_text": str, "audio_classification": Labels,
         "text_to_video": Clip, "image_to_video": Clip}  # fmt: skip


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    fetch_checkpoints(folder=folder, mirror=tmp_path_factory.mktemp("mirror"), names=MEDIA_BUILDERS)
    return folder


@pytest.fixture(scope="module")
def experts(cache):
    profile = small(load_profile("paper", weights=cache))
    return {tool: load_expert(spec=profile.experts[tool]) for tool in (*DRAWN, *HEARD)}


def item_of(tool, *, seed=0):
    if tool in HEARD:
        wave = sound_of(0.4 * np.random.default_rng(seed).standard_normal(9000 + 999 * seed))
        return dict.fromkeys(CONTROLLLM[tool].inputs, wave)
    if tool == "image_to_video":
        pixels = np.random.default_rng(seed).integers(0, 256, (33, 52, 3), dtype=np.uint8)
        return {"image": Image.fromarray(pixels)}
    return dict.fromkeys(CONTROLLLM[tool].inputs, ("A red dog runs.", "Two birds sing in the park.")[seed])


def run(expert, *items, seeds=(7, 8)):
    if hasattr(expert, "run_seeded"):
        return expert.run_seeded(batch=list(items), seeds=list(seeds[: len(items)]))
    return expert.run(list(items))


@pytest.mark.parametrize("tool", [*DRAWN, *HEARD])
def test_results_have_their_types_and_depend_on_the_item_and_its_seed_alone(experts, tool):
    items = [item_of(tool), item_of(tool, seed=1)]
    first, second = run(experts[tool], *items)
    (alone,) = run(experts[tool], items[1], seeds=(8,))
    (output,) = CONTROLLLM[tool].outputs

    assert set(first) == {output}
    assert isinstance(first[output], KINDS[tool])
    assert encode(second[output]) == encode(alone[output])
    if tool in DRAWN:
        (other,) = run(experts[tool], items[1], seeds=(9,))
        assert encode(other[output]) != encode(alone[output])
        assert encode(first[output]) != encode(second[output])


def test_clips_have_the_shape_of_the_picture_and_as_many_frames_as_the_profile_says(experts):
    (drawn,) = run(experts["image_to_video"], item_of("image_to_video"))
    assert drawn["video"].frames.shape == (3, 24, 40, 3)
    (drawn,) = run(experts["text_to_video"], item_of("text_to_video"))
    assert len(drawn["video"].frames) == 3
    released = load_profile("paper").experts["text_to_video"].parameters["frames"]
    assert released == MOST_FRAMES


def test_classes_are_sorted_and_as_many_as_the_profile_says(experts):
    (found,) = run(experts["audio_classification"], item_of("audio_classification"))
    scores = [label.score for label in found["speech"].items]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 5
    assert {label.name for label in found["speech"].items} < {f"word {number}" for number in range(12)}


@pytest.mark.parametrize("tool", HEARD)
@pytest.mark.parametrize("samples", [1, MOST_SAMPLES])
def test_the_shortest_and_the_longest_sound_are_heard(experts, tool, samples):
    item = dict.fromkeys(CONTROLLLM[tool].inputs, sound_of(np.zeros(samples)))
    assert len(run(experts[tool], item)) == 1


@pytest.mark.parametrize("text", ["", "word " * 900])
@pytest.mark.parametrize("tool", ["text_to_speech", "text_to_music"])
def test_blank_and_long_texts_make_sounds(experts, tool, text):
    (made,) = run(experts[tool], {"text": text})
    (sound,) = made.values()
    assert 1 <= len(sound.samples) <= MOST_SAMPLES


@pytest.mark.parametrize("tool", [*DRAWN, *HEARD])
def test_a_wrong_input_is_named(experts, tool):
    (name,) = CONTROLLLM[tool].inputs
    with pytest.raises(ExpertError, match=f'"{name}" must be'):
        run(experts[tool], {name: Image.new("RGB", (4, 4)) if tool != "image_to_video" else "a text"})


def test_sounds_of_other_rates_keep_their_length_and_end_after_thirty_seconds():
    wave = np.sin(2 * np.pi * 440 * np.arange(24_000) / 24_000)
    assert sound_at(wave, rate=24_000).seconds == 1
    peak = np.abs(np.fft.rfft(sound_at(wave, rate=24_000).levels())).argmax()
    assert peak == 440
    assert len(sound_at(np.zeros(40 * 32_000), rate=32_000).samples) == 30 * RATE
    assert len(sound_at(np.zeros(0), rate=32_000).samples) == 1


def test_only_weights_and_settings_are_fetched(cache):
    for name, locked in read_lock(cache).items():
        wrong = [file for file in locked.files if not file.endswith((".json", ".txt", ".safetensors"))]
        assert not wrong, name
        assert not [file for file in locked.files if "fp16" in file], name


def test_a_small_number_of_tokens_is_that_of_the_profile(cache):
    spec = small(load_profile("paper", weights=cache)).experts["text_to_music"]
    short, long = (load_expert(spec=replace(spec, parameters={"max_new_tokens": count})) for count in (6, 16))
    lengths = [run(expert, item_of("text_to_music"))[0]["music"].seconds for expert in (short, long)]
    assert lengths[0] < lengths[1]
