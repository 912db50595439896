"""Values come back from their artefacts as they went in; what is no value is refused with a sentence."""

import json

import numpy as np
import pytest
from PIL import Image as PillowImage

from evaluator.core.sounds import Sound, sound_of
from evaluator.core.values import (
    MOST_FRAMES,
    Artefact,
    Box,
    Boxes,
    Clip,
    FindingError,
    Label,
    Labels,
    Mask,
    Masks,
    MediaType,
    boxes_of,
    decode,
    encode,
    findings_from_json,
    sound_of_clip,
)

RNG = np.random.default_rng(4)
NOISE = RNG.integers(256, size=(5, 6, 8, 3), dtype=np.uint8)
CROSS = np.zeros((6, 8), dtype=np.bool_)
CROSS[2, 1:7] = CROSS[1:5, 3] = True


SOUND = Sound(np.arange(-800, 800, dtype=np.int16))


def clip(*frames: int) -> Clip:
    return Clip(NOISE[list(frames)])


@pytest.mark.parametrize(
    "value",
    [
        "",
        "Ein Stern.\r\n",
        Labels(()),
        Labels((Label("red star", 0.75), Label("ring", 0.25))),
        Boxes((8, 6), (Box("red star", 1.25, 2, 7.5, 6, 0.5),)),
        Masks((8, 6), (Mask("star", CROSS, 0.5), Mask("", ~CROSS), Mask("none", CROSS & False))),
        clip(0, 1, 2),
        clip(0),
        clip(0, 0, 0),
        clip(0, 0, 1, 1, 1, 0),
        clip(1, 2, 2),
        SOUND,
        Clip(NOISE[[0, 1]], sound=SOUND),
        Clip(NOISE[[0, 0]], sound=SOUND),
    ],
)
def test_a_value_comes_back_as_it_was(value: object) -> None:
    artefact = encode(value)  # type: ignore[arg-type]
    assert decode(artefact) == value
    assert encode(decode(artefact)).data == artefact.data


def test_a_picture_comes_back_with_every_pixel() -> None:
    picture = PillowImage.fromarray(NOISE[0])
    assert np.array_equal(np.asarray(decode(encode(picture))), NOISE[0])  # type: ignore[arg-type]


def test_clips_differ_by_order_and_by_how_long_a_frame_is_shown() -> None:
    digests = {encode(one).digest for one in (clip(0, 1), clip(1, 0), clip(0, 0, 1), clip(0), clip(0, 0))}
    assert len(digests) == 5


def test_a_clip_with_a_sound_is_the_same_picture_with_a_wav_file_in_it() -> None:
    silent, sounding = encode(clip(0, 1)), encode(Clip(NOISE[[0, 1]], sound=SOUND))

    assert sounding.media_type == "image/apng; sound=wav"
    assert sound_of_clip(sounding.data) == encode(SOUND).data
    assert np.array_equal(decode(Artefact(sounding.data, MediaType.CLIP)).frames, NOISE[[0, 1]])  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="has a chunk with a wav file"):
        decode(Artefact(silent.data, MediaType.SOUNDING_CLIP))


def test_bytes_that_are_no_wav_file_are_no_sound_of_a_clip() -> None:
    data = encode(Clip(NOISE[[0, 1]], sound=SOUND)).data.replace(b"WAVEfmt", b"WAVEfmx")

    with pytest.raises((ValueError, OSError, SyntaxError)):
        decode(Artefact(data, MediaType.SOUNDING_CLIP))


def test_levels_outside_their_range_are_clipped() -> None:
    assert sound_of(np.array([2.0, -2.0, 0.0])).samples.tolist() == [32767, -32768, 0]


@pytest.mark.parametrize("shape", [(0, 6, 8, 3), (2, 6, 8), (2, 6, 8, 4)])
def test_a_clip_has_frames_in_rgb(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="clip has"):
        Clip(np.zeros(shape, dtype=np.uint8))


def test_a_clip_that_claims_to_be_endless_is_refused() -> None:
    data = encode(clip(0, 0)).data.replace(b"Frames\x002", b"Frames\x009")
    assert data != encode(clip(0, 0)).data
    with pytest.raises((ValueError, OSError, SyntaxError)):
        decode(Artefact(data, MediaType.CLIP))
    long = Clip(np.concatenate([NOISE] * 13)[: MOST_FRAMES + 1])
    with pytest.raises(ValueError, match=f"at most {MOST_FRAMES} frames"):
        decode(encode(long))


BOX = {"label": "star", "score": 0.5, "box": [0, 0, 2, 2]}
MASK = {"label": "star", "score": 0.5, "runs": [2, 2]}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([], "JSON object, not list"),
        ({"kind": "polygons", "items": []}, "labels, boxes or masks"),
        ({"kind": "boxes", "items": []}, "size"),
        ({"kind": "labels", "items": {}}, "list of at most"),
        ({"kind": "labels", "items": [{"label": 3, "score": 1}]}, "a label is a text"),
        ({"kind": "labels", "items": [{"label": "a", "score": True}]}, "a score is a number"),
        ({"kind": "labels", "items": [{"label": "a", "score": 1.5}]}, "a score is a number"),
        ({"kind": "labels", "items": [{"label": "a", "score": 1, "html": ""}]}, "nothing else"),
        ({"kind": "boxes", "size": [2, 0], "items": []}, "whole numbers from 1"),
        (
            {"kind": "boxes", "size": [2, 2], "items": [{**BOX, "box": [0, 0, 3, 2]}]},
            "does not lie in a picture of 2x2",
        ),
        ({"kind": "boxes", "size": [2, 2], "items": [{**BOX, "box": [2, 0, 0, 2]}]}, "does not lie"),
        ({"kind": "boxes", "size": [2, 2], "items": [{**BOX, "box": [0, 0, float("inf"), 2]}]}, "in pixels"),
        ({"kind": "masks", "size": [2, 2], "items": [{**MASK, "runs": [1, 2]}]}, "sum up to 4 pixels"),
        ({"kind": "masks", "size": [2, 2], "items": [{**MASK, "runs": [6, -2]}]}, "sum up to 4 pixels"),
        ({"kind": "masks", "size": [9999, 9999], "items": []}, "whole numbers from 1"),
        ({"kind": "masks", "size": [4096, 4096], "items": [{**MASK, "runs": [2**24]}] * 900}, "900 masks of 4096x4096"),
    ],
)
def test_what_are_no_findings_is_refused_with_a_sentence(value: object, said: str) -> None:
    with pytest.raises(FindingError, match=said):
        findings_from_json(value)


def test_bytes_that_are_no_findings_are_refused() -> None:
    for data in (b"[" * 100_000, b"\xff", b"{}", json.dumps({"kind": "labels", "items": [{}] * 2000}).encode()):
        with pytest.raises(ValueError):  # noqa: PT011 - several kinds
            decode(Artefact(data, MediaType.FINDINGS))


def test_the_box_of_a_mask_goes_around_its_pixels() -> None:
    found = boxes_of(Masks((8, 6), (Mask("star", CROSS, 0.5), Mask("none", CROSS & False))))
    assert found == Boxes((8, 6), (Box("star", 1, 1, 7, 5, 0.5),))
