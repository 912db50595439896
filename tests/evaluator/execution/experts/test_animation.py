"""The experts that make clips: what a text asks for, the thing that moves, and the motion that is seen."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from PIL import Image as PillowImage

from evaluator.core.expert import Expert, ExpertError
from evaluator.core.values import Clip, Value
from evaluator.execution.experts.animation import ImageToVideo, motion_of
from evaluator.execution.experts.profile import load_expert, load_profile
from evaluator.miniature.lilliput_samples import clean_image
from evaluator.miniature.seeds import Split
from evaluator.miniature.tableaux.captions import clip_caption
from evaluator.miniature.tableaux.clips import FRAMES, Motion, draw_clip, frames_of
from evaluator.miniature.tableaux.moving import motion_in, moved_frames, picture_for, things_in
from evaluator.studies.experts.quality.animation import quality


@pytest.fixture(scope="module")
def experts() -> Mapping[str, Expert]:
    specs = load_profile("lilliput-film").experts
    # A smaller size costs less here: batches are padded to it.
    return {
        tool: load_expert(spec=replace(specs[tool], uses=tuple(replace(one, batch_size=4) for one in specs[tool].uses)))
        for tool in ("text_to_video", "image_to_video", "video_classification")
    }


def test_things_of_new_clips_move_as_asked(experts: Mapping[str, Expert]) -> None:
    figures = quality(experts, 12)

    assert figures["motions as the text asks"] >= 0.8
    assert figures["motions of pictures"] >= 0.8


def test_every_motion_is_read_from_captions_of_clips() -> None:
    clips = [draw_clip(split=Split.VALIDATION, index=index) for index in range(200)]

    assert {clip.motion for clip in clips} == set(Motion)
    for clip in clips:
        assert motion_in(clip_caption(clip)) is clip.motion
        assert things_in(clip_caption(clip)) == (clip.mover.name,)


@pytest.mark.parametrize(
    ("text", "motion"),
    [
        ("Make the blue heart jump.", Motion.HOPPING),
        ("A red circle flies to the right", Motion.RIGHT),
        ("a yellow star which climbs up to the right", Motion.UP_RIGHT),
        ("The green cross orbits counterclockwise.", Motion.ANTICLOCKWISE),
        ("A pink ring that rotates", Motion.SPINNING_CLOCKWISE),
        ("A red circle", None),
        ("A red star to the left of a blue ring", None),
        ("", None),
    ],
)
def test_motions_are_read_from_other_words(text: str, motion: Motion | None) -> None:
    assert motion_in(text) is motion


@pytest.mark.parametrize(
    ("text", "caption"),
    [
        ("A red star is hopping on a dark blue background.", "A red star is on a dark blue background."),
        ("Film an orange heart that spins.", "An orange heart is on a grey background."),
        (
            "A red star to the left of a blue ring falls, on a sandy background",
            "A red star is to the left of a blue ring on a sandy background.",
        ),
        ("a basketball game", "a basketball game"),
    ],
)
def test_the_picture_of_a_clip_is_described_as_in_captions_of_scenes(text: str, caption: str) -> None:
    assert picture_for(text) == caption


def test_only_the_thing_moves_and_its_place_is_filled() -> None:
    clip = draw_clip(split=Split.VALIDATION, index=3)
    picture, background = np.full((64, 64, 3), 10, np.uint8), np.full((64, 64, 3), 90, np.uint8)
    mask = np.zeros((64, 64), np.bool_)
    mask[28:36, 28:36] = True
    frames = moved_frames(picture=picture, background=background, mask=mask, motion=Motion.RIGHT)
    dark = [np.nonzero((frame[..., 0] < 50).any(axis=0))[0].mean() for frame in frames]

    assert frames.shape == frames_of(clip).shape
    assert dark == sorted(dark)
    assert dark[-1] - dark[0] == pytest.approx(26, abs=1)
    assert (frames[0][:, 50:] == 90).all()


def test_a_clip_depends_on_text_and_seed_and_on_no_other_item(experts: Mapping[str, Any]) -> None:
    expert = experts["text_to_video"]
    texts = [{"prompt": "A red star is hopping."}, {"prompt": "A blue ring grows on a green background."}]
    (both, other), (alone,), (again,) = (
        expert.run_seeded(batch=batch, seeds=seeds)
        for batch, seeds in ((texts, [1, 2]), (texts[:1], [1]), (texts[:1], [5]))
    )

    assert both["video"] == alone["video"]
    assert both["video"] != again["video"]
    assert both["video"] != other["video"]
    assert len(both["video"].frames) == FRAMES


@pytest.mark.parametrize("size", [(64, 64), (1, 1), (600, 8)])
def test_pictures_of_any_size_give_clips_and_empty_ones_stand_still(
    experts: Mapping[str, Any], size: tuple[int, int]
) -> None:
    given = PillowImage.new("RGB", size, (90, 90, 90))
    pictures = (given, clean_image(split=Split.VALIDATION, index=1).resize(size))
    row, scene = experts["image_to_video"].run_seeded(batch=[{"image": image} for image in pictures], seeds=[3, 3])

    assert isinstance(row["video"], Clip)
    assert row["video"].size == scene["video"].size
    assert max(row["video"].size) == min(max(size), 256)
    if size == (64, 64):
        assert (row["video"].frames == row["video"].frames[0]).all()
        assert not (scene["video"].frames == scene["video"].frames[0]).all()


def test_round_things_do_not_spin() -> None:
    chosen = {name: {motion_of(seed, name=name) for seed in range(64)} for name in ("red ring", "red star")}

    assert chosen["red star"] == set(Motion)
    assert chosen["red star"] - chosen["red ring"] == {Motion.SPINNING_CLOCKWISE, Motion.SPINNING_ANTICLOCKWISE}


@pytest.mark.parametrize("item", [{}, {"prompt": PillowImage.new("RGB", (4, 4))}])
def test_a_wrong_input_is_named(experts: Mapping[str, Expert], item: Mapping[str, Value]) -> None:
    with pytest.raises(ExpertError, match='the input "prompt" must be a text'):
        experts["text_to_video"].run_seeded(batch=[item], seeds=[1])  # type: ignore[attr-defined]


def test_a_profile_that_names_other_tools_is_refused() -> None:
    spec = load_profile("lilliput-film").experts["text_to_video"]
    with pytest.raises(ExpertError, match="needs uses = "):
        ImageToVideo(spec=spec, device="cpu")
