"""Files of a request from the disk, and those of its results."""

import json

import numpy as np
import pytest
from PIL import Image as PillowImage

from evaluator.controlllm.chain.requests import FileError, read_file, write_results
from evaluator.controlllm.chain.state import Entry
from evaluator.core.tools.types import ResourceType
from evaluator.core.values import Box, Boxes, Clip, Label, Labels, decode, encode
from evaluator.execution.engine.run import Engine
from evaluator.execution.engine.store import MemoryStore
from tests.fakes.experts import FakePool

PICTURE = PillowImage.new("RGB", (8, 6), (1, 2, 3))


@pytest.fixture
def files(tmp_path):
    PICTURE.save(tmp_path / "a.png")
    PICTURE.save(tmp_path / "b.jpg")
    frames = np.zeros((3, 6, 8, 3), dtype=np.uint8)
    frames[1] = 200
    (tmp_path / "c.apng").write_bytes(encode(Clip(frames)).data)
    first, *others = (PillowImage.fromarray(frame) for frame in frames)
    first.save(tmp_path / "d.gif", save_all=True, append_images=others, duration=150)
    (tmp_path / "e.txt").write_text("words", encoding="utf-8")
    boxes = Boxes((8, 6), (Box("star", 1, 1, 3, 3),))
    (tmp_path / "f.json").write_text(json.dumps(boxes.to_json()), encoding="utf-8")
    (tmp_path / "g.png").write_text("no picture", encoding="utf-8")
    (tmp_path / "h.mp4").write_bytes(b"x")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("{}/a.png", "a.png", "image"),
        ("photo={}/b.jpg", "photo", "image"),
        ("a_depth.png:depth={}/a.png", "a_depth.png", "depth"),
        (":line={}/a.png", "a.png", "line"),
        ("{}/c.apng", "c.apng", "video"),
        ("clip.mp4={}/d.gif", "clip.mp4", "video"),
        ("{}/e.txt", "e.txt", "text"),
        ("{}/f.json", "f.json", "bbox"),
    ],
)
def test_name_and_type_are_given_or_follow(files, text, name, kind):
    given = read_file(text.format(files))
    assert (given.name, str(given.type)) == (name, kind)


def test_the_frames_of_a_clip_are_read(files):
    for name in ("c.apng", "d.gif"):
        clip = read_file(str(files / name)).value
        assert isinstance(clip, Clip)
        assert clip.frames.shape == (3, 6, 8, 3)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{}/nothing.png", "there is no file"),
        ("x:photo={}/a.png", "there is no resource type 'photo'; there are:"),
        ("x:mask={}/a.png", "it holds image, not mask"),
        ("{}/g.png", "g.png cannot be read: cannot identify image"),
        ("{}/h.mp4", "files end with one of .png"),
        ("x:mask={}/f.json", "it holds bbox, not mask"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(files, text, sentence):
    with pytest.raises(FileError) as error:
        read_file(text.format(files))
    assert sentence in str(error.value)


def test_results_are_written_as_they_are(tmp_path):
    engine = Engine(pool=FakePool({}), store=MemoryStore())
    labels = Labels((Label("star", 0.5),))
    results = {
        "result-1-image.png": Entry(reference="r", type=ResourceType.IMAGE, artefact=engine.keep(PICTURE)),
        "result-2-category.json": Entry(reference="s", type=ResourceType.CATEGORY, artefact=engine.keep(labels)),
    }
    paths = write_results(results=results, engine=engine, folder=tmp_path / "new" / "folder")
    assert [path.name for path in paths] == [*results]
    assert np.array_equal(np.asarray(PillowImage.open(paths[0])), np.asarray(PICTURE))
    assert json.loads(paths[1].read_text(encoding="utf-8")) == labels.to_json()
    assert decode(encode(labels)) == labels
