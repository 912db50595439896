"""Video Classification and Video Captioning, on the shipped weights."""

import numpy as np
import pytest

from evaluator.experts.protocol import InputError
from evaluator.experts.watching import resampled
from evaluator.training.experts.quality.maps import MEASURES
from evaluator.values import Clip, Labels
from evaluator.world.seeds import Split
from evaluator.world.tableaux import Motion, draw_clip, frames_of
from tests.evaluator.experts.shipped import shipped_expert

TOOLS = {
    "video_classification": ("video-classification", "videomae", {"threshold": 0.5}),
    "video_captioning": ("video-captioning", "videomae-gpt2", {"max_new_tokens": 20}),
}

each_tool = pytest.mark.parametrize("tool", TOOLS)


@pytest.fixture(scope="module")
def experts():
    return {
        tool: shipped_expert(folder=folder, implementation=implementation, **parameters)
        for tool, (folder, implementation, parameters) in TOOLS.items()
    }


def clip(index=0):
    return Clip(frames_of(draw_clip(split=Split.VALIDATION, index=index)))


@each_tool
def test_a_single_frame_shows_no_motion(experts, tool):
    with pytest.raises(InputError, match="a single frame, which shows no motion; it needs at least 2"):
        experts[tool].run([{"video": Clip(clip().frames[:1])}])


@each_tool
def test_clips_of_other_lengths_and_sizes_go_into_one_batch(experts, tool):
    frames = clip().frames
    larger = Clip(frames.repeat(2, axis=1).repeat(2, axis=2))
    longer = Clip(frames.repeat(2, axis=0))
    assert len(experts[tool].run([{"video": larger}, {"video": longer}, {"video": Clip(frames[::3])}])) == 3


def test_a_clip_is_resampled_evenly_from_its_first_to_its_last_frame():
    frames = np.zeros((22, 4, 6, 3), dtype=np.uint8) + np.arange(22, dtype=np.uint8)[:, None, None, None]
    chosen = resampled(Clip(frames), frames=8, size=4)
    assert chosen.shape == (8, 4, 4, 3)
    assert chosen[:, 0, 0, 0].tolist() == [0, 3, 6, 9, 12, 15, 18, 21]


def test_labels_are_motions_and_the_surest_comes_first():
    expert = shipped_expert(folder="video-classification", implementation="videomae", threshold=0.0)
    labels = expert.run([{"video": clip()}])[0]["category"]
    assert isinstance(labels, Labels)
    assert {label.name for label in labels.items} == set(Motion)
    scores = [label.score for label in labels.items]
    assert scores == sorted(scores, reverse=True)
    assert sum(scores) == pytest.approx(1, abs=1e-4)


def test_at_least_one_label_is_left_however_high_the_threshold():
    expert = shipped_expert(folder="video-classification", implementation="videomae", threshold=1)
    noise = np.random.default_rng(0).integers(256, size=(8, 64, 64, 3), dtype=np.uint8)
    assert len(expert.run([{"video": Clip(noise)}])[0]["category"].items) == 1


@pytest.mark.full
@pytest.mark.parametrize(
    ("folder", "figure", "floor"),
    [
        ("video-classification", "motions that are right", 0.8),
        ("video-captioning", "captions that are exactly right", 0.3),
    ],
)
def test_held_out_quality_is_far_above_chance(experts, folder, figure, floor):
    assert MEASURES[folder](experts, 24)[figure] >= floor
