"""OpenAGI's data for the profile `paper`: the released folders, and data built from saved data sets."""

import shutil

import numpy as np
import pytest
from PIL import Image

from evaluator.core.tools.types import ResourceType
from evaluator.core.values import encode
from evaluator.openagi.building import ORIGINS, DataError, build
from evaluator.openagi.data import BuiltSamples, sample_source
from evaluator.openagi.photos import MASK, SIDE, degraded, fitted, masked
from evaluator.openagi.released import ReleasedFolderSamples
from evaluator.openagi.suite import openagi_suite

SUITE = openagi_suite()
COUNT = 12


def task_with(**wanted):
    return next(
        task for task in SUITE.tasks if all(tuple_or(getattr(task, name)) == value for name, value in wanted.items())
    )


def tuple_or(value):
    return set(value) if isinstance(value, tuple) else value


def photograph(number, *, size=(40, 30)):
    rng = np.random.default_rng(number)
    small = rng.integers(0, 256, (4, 4, 3), dtype=np.uint8)
    return Image.fromarray(small).resize(size, Image.Resampling.BICUBIC)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def release_task(folder, task):
    """One folder as the release has it."""
    root = folder / task.key
    for name, kind in task.resources.items():
        if kind is ResourceType.IMAGE:
            for k in range(COUNT):
                path = root / "inputs" / "images" / f"{k}.jpg"
                path.parent.mkdir(parents=True, exist_ok=True)
                photograph(k).save(path)
            continue
        file = {"query": "questions.txt", "document": "context.txt"}.get(name, "text.txt")
        file = "captions.txt" if task.base == "text_to_image" else file
        hidden = MASK if name in task.clozed else "bear"
        write(root / "inputs" / file, "".join(f"{name} {k} a {hidden} here\n" for k in range(COUNT)))
    if task.base == "restoration":
        for k in range(COUNT):
            path = root / "outputs" / "images" / f"{k}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            photograph(k + 100).save(path)
    elif task.base != "text_to_image":
        file = "answers.txt" if task.base in {"vqa", "qa"} else "labels.txt"
        write(root / "outputs" / file, "".join(f"answer {k}\n" if k != 3 else "\n" for k in range(COUNT)))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Folders of seven requests, as they are released."""
    folder = tmp_path_factory.mktemp("released")
    for key in ("0", "20", "105", "106", "107", "120", "180"):
        release_task(folder, SUITE.task(key))
    return folder


@pytest.fixture
def released(whole, tmp_path):
    """The same, to be changed."""
    return shutil.copytree(whole, tmp_path / "released")


class TestReleasedFolders:
    @pytest.mark.parametrize("key", ["0", "20", "105", "107", "120", "180"])
    def test_every_kind_of_request_has_inputs_and_a_reference(self, whole, key):
        samples, task = ReleasedFolderSamples(whole), SUITE.task(key)
        assert samples.missing(task=task) is None
        assert samples.count(task=task) == COUNT
        inputs = samples.inputs(task=task, index=COUNT - 1)
        assert list(inputs) == list(task.resources)
        for name, kind in task.resources.items():
            assert isinstance(inputs[name], str) is (kind is ResourceType.TEXT)
        assert isinstance(samples.reference(task=task, index=0), str) is (task.base != "restoration")

    def test_samples_go_by_their_number_and_not_by_the_order_of_names(self, released):
        samples, task = ReleasedFolderSamples(released), SUITE.task("107")
        assert samples.inputs(task=task, index=10)["text"] == f"text 10 a {MASK} here"
        assert samples.reference(task=task, index=10) == "answer 10"
        expected = encode(fitted(Image.open(released / "0" / "inputs" / "images" / "10.jpg")))
        assert encode(samples.inputs(task=SUITE.task("0"), index=10)["image"]) == expected

    def test_a_picture_is_compared_with_the_caption_before_a_word_was_masked(self, released):
        samples, task = ReleasedFolderSamples(released), SUITE.task("105")
        assert MASK in samples.inputs(task=task, index=2)["text"]
        assert samples.reference(task=task, index=2) == "text 2 a bear here"

    def test_captions_that_do_not_belong_together_are_said(self, released):
        path = released / "106" / "inputs" / "captions.txt"
        path.write_text(path.read_text().replace("text 2 a", "text 2 the"))
        assert "caption 2" in ReleasedFolderSamples(released).missing(task=SUITE.task("105"))

    def test_a_missing_folder_and_uneven_files_are_said(self, released):
        samples = ReleasedFolderSamples(released)
        assert "there is no folder" in samples.missing(task=SUITE.task("1"))
        write(released / "107" / "outputs" / "labels.txt", "only one\n")
        assert f"{COUNT} of text, 1 of reference" in ReleasedFolderSamples(released).missing(task=SUITE.task("107"))

    def test_a_gap_in_the_numbers_is_said(self, released):
        (released / "0" / "inputs" / "images" / "5.jpg").unlink()
        assert "but not number 5" in ReleasedFolderSamples(released).missing(task=SUITE.task("0"))

    def test_something_that_is_no_image_is_named(self, released):
        (released / "0" / "inputs" / "images" / "0.jpg").write_bytes(b"no image")
        with pytest.raises(LookupError, match=r"0\.jpg cannot be read as an image"):
            ReleasedFolderSamples(released).inputs(task=SUITE.task("0"), index=0)

    def test_the_digest_follows_the_files(self, released):
        before = ReleasedFolderSamples(released).digest
        assert ReleasedFolderSamples(released).digest == before
        write(released / "107" / "inputs" / "text.txt", "changed\n")
        assert ReleasedFolderSamples(released).digest != before

    def test_another_folder_is_refused(self, tmp_path):
        with pytest.raises(LookupError, match="has no folders 0 to 184"):
            ReleasedFolderSamples(tmp_path / "nowhere")


@pytest.fixture(scope="module")
def copies(tmp_path_factory):
    """Saved data sets with the columns of the public ones."""
    import datasets  # here, for it takes seconds

    root = tmp_path_factory.mktemp("copies")
    images = [photograph(number) for number in range(4)]
    label = datasets.ClassLabel(names=["negative", "positive"])
    things = datasets.Features({"category": [datasets.ClassLabel(names=["person", "cat"])]})
    said = [f"A  big bear number {number}\nis here" for number in range(4)]
    tables = {
        "imagenet": ({"image": images, "label": [0, 1, 0, 1]},
                     {"image": datasets.Image(), "label": datasets.ClassLabel(names=["tench, Tinca tinca", "hen"])}),
        "coco-captions": ({"image": images, "answer": [[text, "another"] for text in said]},
                          {"image": datasets.Image(), "answer": [datasets.Value("string")]}),
        "coco-objects": ({"image": images, "objects": [{"category": item} for item in ([0, 1, 0], [], [1], [0])]},
                         {"image": datasets.Image(), "objects": dict(things)}),
        "textvqa": ({"image": images, "question": said, "answers": [["22", "23"]] * 4},
                    {"image": datasets.Image(), "question": datasets.Value("string"),
                     "answers": [datasets.Value("string")]}),
        "cnn-dailymail": ({"article": said, "highlights": said}, None),
        "sst2": ({"sentence": said, "label": [0, 1, 0, 1]}, {"sentence": datasets.Value("string"), "label": label}),
        "squad": ({"context": said, "question": said, "answers": [{"text": ["bear"], "answer_start": [0]}] * 4}, None),
    }  # fmt: skip
    for key, (columns, features) in tables.items():
        chosen = None if features is None else datasets.Features(features)
        datasets.Dataset.from_dict(columns, features=chosen).save_to_disk(str(root / key))
    return root


def in_german(texts):
    return [f"de: {text}" for text in texts]


@pytest.fixture(scope="module")
def built(copies, tmp_path_factory):
    folder = tmp_path_factory.mktemp("built") / "openagi"
    build(target=folder, samples=3, copies=copies, translate=in_german, report=lambda line: None)
    return folder


@pytest.mark.full
class TestBuiltData:
    """Building needs the library `datasets`, which takes seconds to import."""

    def test_all_185_requests_have_data(self, built):
        samples = BuiltSamples(built)
        assert [samples.missing(task=task) for task in SUITE.tasks] == [None] * 185
        for task in SUITE.tasks:
            inputs, reference = samples.inputs(task=task, index=2), samples.reference(task=task, index=2)
            assert list(inputs) == list(task.resources)
            assert all((MASK in inputs[name]) is (name in task.clozed) for name in task.resources if name != "image")
            assert isinstance(reference, str) is (task.base != "restoration")

    def test_references_are_in_the_language_of_the_request(self, built):
        samples = BuiltSamples(built)
        english, german = (task_with(base="image_classification", language=code) for code in ("en", "de"))
        assert samples.reference(task=english, index=0) == "tench, Tinca tinca"
        assert samples.reference(task=german, index=0) == "de: tench, Tinca tinca"

    def test_object_names_are_repeated_and_may_be_none(self, built):
        samples, task = BuiltSamples(built), task_with(base="object_detection", language="en")
        assert samples.reference(task=task, index=0) == "person, cat, person"
        assert samples.reference(task=task, index=1) == ""

    def test_degradations_belong_to_the_sample_and_not_to_the_task(self, built):
        samples = BuiltSamples(built)
        alike = [task for task in SUITE.tasks
                 if "image" in task.resources and set(task.degradations) == {"noise", "blur"}
                 and task.base in {"restoration", "image_classification"}]  # fmt: skip
        assert len(alike) == 3
        assert len({encode(samples.inputs(task=task, index=1)["image"]).digest for task in alike}) == 1
        assert len({encode(samples.inputs(task=alike[0], index=k)["image"]).digest for k in range(3)}) == 3

    def test_tasks_with_equal_keys_have_equal_data(self, built):
        samples, inputs, references = BuiltSamples(built), {}, {}
        for task in SUITE.tasks:
            given = {name: encode(value).digest for name, value in samples.inputs(task=task, index=0).items()}
            right = encode(samples.reference(task=task, index=0)).digest
            assert inputs.setdefault(samples.inputs_key(task=task), given) == given
            assert references.setdefault(samples.reference_key(task=task), right) == right
        assert len(inputs) < len(SUITE.tasks)

    def test_building_again_gives_the_same_data(self, built, copies, tmp_path):
        build(target=tmp_path / "again", samples=3, copies=copies, translate=in_german, report=lambda line: None)
        assert BuiltSamples(tmp_path / "again").digest == BuiltSamples(built).digest

    def test_without_a_translator_german_requests_have_no_data(self, copies, tmp_path):
        build(target=tmp_path / "data", samples=1, copies=copies, report=lambda line: None)
        samples = BuiltSamples(tmp_path / "data")
        german = {task.key for task in SUITE.tasks if task.language == "de"}
        assert {task.key for task in SUITE.tasks if samples.missing(task=task) is not None} == german

    def test_changed_files_are_refused(self, built, tmp_path):
        shutil.copytree(built, tmp_path / "data")
        (tmp_path / "data" / "imagenet" / "0.png").write_bytes(b"other")
        samples = BuiltSamples(tmp_path / "data")
        with pytest.raises(LookupError, match=r"0\.png was changed"):
            samples.inputs(task=SUITE.task("0"), index=0)

    def test_too_few_rows_change_nothing(self, copies, tmp_path):
        with pytest.raises(DataError, match="has only 4 samples, not 5"):
            build(target=tmp_path / "data", samples=5, copies=copies, report=lambda line: None)
        assert list(tmp_path.iterdir()) == []

    def test_a_row_without_its_columns_is_named(self, copies, tmp_path):
        shutil.copytree(copies / "squad", tmp_path / "sst2")
        sst2 = [origin for origin in ORIGINS if origin.key == "sst2"]
        with pytest.raises(DataError, match="no column label"):
            build(target=tmp_path / "data", samples=1, copies=tmp_path, origins=sst2, report=lambda line: None)


def test_low_resolution_has_fewer_pixels_and_grayscale_equal_channels():
    image = degraded(fitted(photograph(0)), degradations=["low_resolution", "grayscale"], key="imagenet", index=0)
    assert image.size == (SIDE // 2, SIDE // 2)
    red, green, _ = image.split()
    assert red.tobytes() == green.tobytes()


def test_noise_has_the_released_variance():
    gray = Image.new("RGB", (SIDE, SIDE), (128, 128, 128))
    values = np.asarray(degraded(gray, degradations=["noise"], key="imagenet", index=0), dtype=float) / 255
    assert values.var() == pytest.approx(0.005, rel=0.05)


def test_one_word_is_masked_and_blank_texts_stay():
    text = "A big burly  grizzly bear"
    assert masked(text, key="x", index=0).split().count(MASK) == 1
    assert masked(text, key="x", index=0) == masked(text, key="x", index=0)
    assert masked(" ", key="x", index=0) == " "


class TestChoosingTheSource:
    @pytest.mark.full
    def test_folder_and_hub(self, released, built):
        folder = sample_source(profile="paper", split="public", data=f"folder:{released}")
        assert folder.missing(task=SUITE.task("107")) is None
        hub = sample_source(profile="paper", split="public", data=f"hub:{built}")
        assert hub.digest == BuiltSamples(built).digest

    def test_the_environment_says_it_where_nobody_else_does(self, released, monkeypatch):
        monkeypatch.setenv("PLANARENA_OPENAGI_DATA", f"folder:{released}")
        assert sample_source(profile="paper", split="public").missing(task=SUITE.task("0")) is None

    def test_data_that_were_not_built_name_the_command(self, tmp_path, monkeypatch):
        monkeypatch.setenv("PLANARENA_DATA", str(tmp_path))
        with pytest.raises(LookupError, match="planarena profiles build-data"):
            sample_source(profile="paper", split="public", data="hub")

    @pytest.mark.parametrize(
        ("settings", "error", "says"),
        [
            ({"profile": "paper", "split": "public"}, LookupError, "--data folder:PATH"),
            ({"profile": "paper", "split": "hidden", "data": "hub"}, LookupError, "no hidden split"),
            ({"profile": "paper", "split": "public", "data": "drive"}, ValueError, "not 'drive'"),
            ({"profile": "lilliput", "split": "public", "data": "hub"}, ValueError, "brings its own data"),
        ],
    )
    def test_what_cannot_be_is_explained(self, monkeypatch, settings, error, says):
        monkeypatch.delenv("PLANARENA_OPENAGI_DATA", raising=False)
        with pytest.raises(error, match=says):
            sample_source(**settings)
