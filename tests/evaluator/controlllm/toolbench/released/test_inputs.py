"""The operator's folder: how files are found and read, and what is said of those that cannot be used."""

import io
import struct
import zlib
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from evaluator.controlllm.toolbench.released.inputs import ReleasedInputs, released_inputs
from evaluator.controlllm.toolbench.released.media import MediaError, read_media
from evaluator.core import canonical_json
from evaluator.core.tools.types import ResourceType
from evaluator.core.values import Clip, Mask, Masks
from evaluator.execution.engine.run import MAX_PIXELS
from tests.evaluator.controlllm.toolbench.released.files import SIZE, mask, picture, write_index


def task(**files):
    """A request with files and their types; a dot in a name is written as __."""
    given = {name.replace("__", "."): ResourceType(kind) for name, kind in files.items()}
    return SimpleNamespace(
        key="a/0", gold=object(), resources=given, types_given={name: frozenset({kind}) for name, kind in given.items()}
    )


def source(folder, *tasks):
    return ReleasedInputs(folder, tasks=tasks)


SIZES = [
    (640, 480),
    (513, 512),
    (4096, 70),
    *(pytest.param(one, marks=pytest.mark.full) for one in [(480, 640), (4000, 3000)]),
]


class TestFinding:
    def test_a_file_by_its_path_or_by_its_last_part(self, tmp_path):
        (tmp_path / "resources").mkdir()
        picture(seed=1).save(tmp_path / "resources" / "a_image.png")
        picture(seed=2).save(tmp_path / "b_image.png")
        one = SimpleNamespace(
            gold=object(), key="0",
            types_given=dict.fromkeys([f"resources/{k}_image.png" for k in "ab"], frozenset({ResourceType.IMAGE})),
        )  # fmt: skip
        found = source(tmp_path, one).inputs(task=one, index=0)
        assert [value.tobytes() for value in found.values()] == [picture(seed=k).tobytes() for k in (1, 2)]

    def test_with_another_ending(self, tmp_path):
        picture(seed=1).save(tmp_path / "image_1.webp", lossless=True)
        one = task(image_1__png="image")
        assert source(tmp_path, one).inputs(task=one, index=0)["image_1.png"].size == SIZE

    def test_by_the_index_also_by_a_number_of_coco(self, tmp_path):
        (tmp_path / "val2017").mkdir()
        picture(seed=1).save(tmp_path / "val2017" / "000000000139.jpg")
        picture(seed=2).save(tmp_path / "mine.png")
        write_index(tmp_path, {"image_1.png": 139, "image_2.png": "mine.png"})
        one = task(image_1__png="image", image_2__png="image")
        found = source(tmp_path, one)
        assert not found.gaps
        assert set(found.inputs(task=one, index=0)) == {"image_1.png", "image_2.png"}

    @pytest.mark.parametrize("entry", ["../secret.png", "/etc/passwd", "", "a/../../b.png"])
    def test_nothing_outside_the_folder_is_read(self, tmp_path, entry):
        picture(seed=1).save(tmp_path / "secret.png")
        folder = tmp_path / "files"
        folder.mkdir()
        picture(seed=2).save(folder / "there.png")
        write_index(folder, {"image_1.png": entry})
        one, other = task(image_1__png="image"), task(there__png="image")
        found = source(folder, one, other)
        assert "is not there" in found.missing(task=one)
        assert found.missing(task=other) is None

    @pytest.mark.parametrize("content", [[], {"a": 1.5}, {"a": True}, {"a": None}])
    def test_a_strange_index_is_an_error_that_says_why(self, tmp_path, content):
        write_index(tmp_path, content)
        with pytest.raises(LookupError, match=r"index\.json cannot be used"):
            source(tmp_path, task(image_1__png="image"))

    def test_a_folder_without_any_file_is_refused_before_anything_runs(self, tmp_path):
        with pytest.raises(LookupError, match=r"has none of the 2 files of the requests: image_1\.png, video_1\.mp4"):
            source(tmp_path, task(image_1__png="image", video_1__mp4="video"))

    def test_the_environment_names_the_folder(self, tmp_path, monkeypatch):
        picture(seed=1).save(tmp_path / "image_1.png")
        monkeypatch.setenv("PLANARENA_TOOL_INPUTS", str(tmp_path))
        one = task(image_1__png="image")
        found = released_inputs(folder=None, tasks=[one], slug="tool100-executed", profile="paper")
        assert found.missing(task=one) is None


class TestSaying:
    def test_what_is_missing_and_how_many(self, tmp_path):
        picture(seed=1).save(tmp_path / "image_1.png")
        (tmp_path / "image_2.png").write_bytes(b"no picture")
        one = task(image_1__png="image", image_2__png="image", image_3__png="image")
        found = source(tmp_path, one)
        assert found.gaps.startswith("2 of the 3 files of the requests cannot be used in ")
        assert found.gaps.endswith("image_2.png, image_3.png")
        said = found.missing(task=one)
        assert said.startswith("2 of the 3 files of this request cannot be used: image_2.png cannot be read")
        assert "image_3.png is not there" in said

    def test_a_video_that_is_not_read_says_how_to_give_it(self, tmp_path):
        picture(seed=1).save(tmp_path / "there.png")
        (tmp_path / "video_1.wmv").write_bytes(b"\x30\x26\xb2\x75")
        one = task(video_1__wmv="video", there__png="image")
        assert "is there as .wmv, which is not supported: give its frames as a folder video_1" in source(
            tmp_path, one
        ).missing(task=one)

    def test_sound_is_not_heard(self, tmp_path):
        picture(seed=1).save(tmp_path / "there.png")
        one = task(song__wav="audio", there__png="image")
        assert "is sound" in source(tmp_path, one).missing(task=one)

    def test_the_digest_is_of_what_is_there(self, tmp_path):
        picture(seed=1).save(tmp_path / "image_1.png")
        one = task(image_1__png="image")
        before = source(tmp_path, one).digest
        (tmp_path / "unused.png").write_bytes(b"")
        assert source(tmp_path, one).digest == before
        picture(seed=2).save(tmp_path / "image_1.png")
        assert source(tmp_path, one).digest != before


class TestReading:
    def test_a_mask_is_what_is_bright(self, tmp_path):
        mask().save(tmp_path / "a_mask.png")
        found = read_media(tmp_path / "a_mask.png", kind=ResourceType.MASK)
        (only,) = found.items
        assert (found.size, only.label, int(only.pixels.sum())) == (SIZE, "", 22 * 18)

    @pytest.mark.parametrize("size", SIZES)
    def test_pictures_and_masks_are_reduced_alike_to_what_the_engine_works_on(self, tmp_path, size):
        picture(seed=1, size=size).save(tmp_path / "a_image.png")
        Image.new("L", size, 255).save(tmp_path / "a_mask.png")
        named = Masks(size, (Mask("dog", np.ones(size[::-1], dtype=np.bool_)),))
        (tmp_path / "b_mask.json").write_text(canonical_json.dumps(named.to_json()))
        image = read_media(tmp_path / "a_image.png", kind=ResourceType.IMAGE)
        masks = [read_media(tmp_path / name, kind=ResourceType.MASK) for name in ("a_mask.png", "b_mask.json")]
        assert [one.size for one in masks] == [image.size] * 2
        assert all(one.items[0].pixels.all() and one.items[0].pixels.shape == image.size[::-1] for one in masks)
        assert image.width * image.height <= MAX_PIXELS
        assert image.width / image.height == pytest.approx(size[0] / size[1], rel=0.03)

    def test_masks_with_names(self, tmp_path):
        masks = Masks(SIZE, (Mask("dog", np.eye(SIZE[1], SIZE[0], dtype=np.bool_), 0.5),))
        (tmp_path / "a_mask.json").write_text(canonical_json.dumps(masks.to_json()))
        assert read_media(tmp_path / "a_mask.json", kind=ResourceType.MASK) == masks

    @pytest.mark.parametrize("content", ["{", "[]", '{"kind": "labels", "items": []}', "[" * 100_000])
    def test_other_json_is_no_mask(self, tmp_path, content):
        (tmp_path / "a_mask.json").write_text(content)
        with pytest.raises(MediaError):
            read_media(tmp_path / "a_mask.json", kind=ResourceType.MASK)

    def test_a_mask_of_terabytes_is_refused(self, tmp_path):
        claim = {"kind": "masks", "size": [4096, 4096], "items": [{"label": "", "score": 1, "runs": [2**24]}] * 9}
        (tmp_path / "a_mask.json").write_text(canonical_json.dumps(claim))
        with pytest.raises(MediaError, match="too many"):
            read_media(tmp_path / "a_mask.json", kind=ResourceType.MASK)

    @pytest.mark.parametrize("frames", [1, 2, 5, 200])
    def test_a_video_as_a_folder_of_frames(self, tmp_path, frames):
        for number in range(frames):
            Image.new("RGB", SIZE, (number, 0, 0)).save(tmp_path / f"{number:04d}.png")
        found = read_media(tmp_path, kind=ResourceType.VIDEO)
        assert isinstance(found, Clip)
        shades = found.frames[:, 0, 0, 0].tolist()
        assert len(shades) == min(frames, 64)
        assert (shades[0], shades[-1]) == (0, frames - 1)
        assert shades == sorted(shades)

    @pytest.mark.parametrize("ending", ["apng", "gif", "webp"])
    def test_a_video_as_an_animated_picture(self, tmp_path, ending):
        first, *others = (Image.new("RGB", SIZE, (0, 0, 60 * k)) for k in range(4))
        path = tmp_path / f"video_1.{ending}"
        form = {"apng": "PNG"}.get(ending, ending)
        first.save(path, format=form, save_all=True, append_images=others, duration=100)
        assert len(read_media(path, kind=ResourceType.VIDEO).frames) == 4

    def test_frames_of_different_sizes_are_refused(self, tmp_path):
        for number in (1, 2):
            Image.new("RGB", (10 * number, 10)).save(tmp_path / f"{number}.png")
        with pytest.raises(MediaError, match="10x10 and 20x10"):
            read_media(tmp_path, kind=ResourceType.VIDEO)

    @pytest.mark.parametrize("kind", [ResourceType.IMAGE, ResourceType.MASK, ResourceType.VIDEO])
    @pytest.mark.parametrize(("side", "words"), [(60_000, "too large"), (5_000, "has 5000x5000 pixels")])
    def test_a_picture_that_claims_to_be_huge_is_refused_unread(self, tmp_path, kind, side, words):
        (tmp_path / "bomb.png").write_bytes(claiming(width=side, height=side))
        with pytest.raises(MediaError, match=words):
            read_media(tmp_path / "bomb.png", kind=kind)

    def test_a_video_that_claims_many_frames_is_refused_unread(self, tmp_path):
        (tmp_path / "bomb.png").write_bytes(claiming(width=8, height=8, frames=2**30))
        with pytest.raises(MediaError):
            read_media(tmp_path / "bomb.png", kind=ResourceType.VIDEO)

    def test_a_truncated_picture_is_found_out(self, tmp_path):
        buffer = io.BytesIO()
        picture(seed=1).save(buffer, format="PNG")
        (tmp_path / "a.png").write_bytes(buffer.getvalue()[:-400])
        with pytest.raises(MediaError, match="cannot be read"):
            read_media(tmp_path / "a.png", kind=ResourceType.IMAGE)

    def test_large_frames_are_reduced(self, tmp_path):
        for number in range(2):
            Image.new("RGB", (1920, 1080)).save(tmp_path / f"{number}.png")
        assert read_media(tmp_path, kind=ResourceType.VIDEO).size == (480, 270)


def claiming(*, width, height, frames=None):
    """A PNG with a header that promises much, and hardly any pixels."""

    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    control = b"" if frames is None else chunk(b"acTL", struct.pack(">II", frames, 0))
    return b"\x89PNG\r\n\x1a\n" + header + control + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")
