"""Every expert class of the profile `paper` with a small random checkpoint: load, batch, odd sizes, empty input."""

import json
from dataclasses import replace

import pytest
import torch
from PIL import Image

from evaluator.experts.profile import load_expert, load_profile
from evaluator.experts.protocol import ExpertError
from evaluator.experts.weights import WeightsError, weights_digest
from evaluator.tools.openagi import OPENAGI
from evaluator.values import encode
from tests.evaluator.experts.tiny import LANGUAGE, LONGEST, SAVERS, save_checkpoint

TOOLS = tuple(SAVERS)
VISUAL = tuple(tool for tool in TOOLS if tool not in LANGUAGE)
RESTORING = tuple(tool for tool in VISUAL if "image" in OPENAGI[tool].outputs)
FURTHER_OUTPUTS = {"Object Detection": ("boxes",)}
"""What is shown to people beside the tool's outputs."""
PROFILE = load_profile("paper")


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("checkpoints")
    return {tool: save_checkpoint(tool=tool, folder=root / str(number)) for number, tool in enumerate(TOOLS)}


def spec_of(tool, folders, *, precision="float32", **parameters):
    """The profile's own line, on the small checkpoint: only its lengths are smaller."""
    line = PROFILE.experts[tool]
    small = {"length": LONGEST, "max_new_tokens": 8, "max_answer_tokens": 8}
    fitted = {name: small.get(name, value) for name, value in line.parameters.items()} | parameters
    folder = folders[tool]
    return replace(
        line, path=folder, weights_digest=weights_digest(folder), precision=precision, batch_size=2, parameters=fitted
    )


@pytest.fixture(scope="module")
def experts(folders):
    return {tool: load_expert(spec=spec_of(tool, folders)) for tool in TOOLS}


def picture(size=(40, 32), *, seed=0):
    generator = torch.Generator().manual_seed(seed)
    values = torch.randint(0, 256, (size[1], size[0], 3), generator=generator, dtype=torch.uint8)
    return Image.fromarray(values.numpy())


def items_of(tool, *, count=3, text=None, size=(40, 32)):
    texts = ["A bear is <mask> the grass.", "Who won?", "Noise [MASK] here, and a [MASK] there."]
    return [
        {name: picture(size, seed=index) if name == "image" else (texts[index % 3] if text is None else text)
         for name in OPENAGI[tool].inputs}
        for index in range(count)
    ]  # fmt: skip


def artefacts(expert, items):
    """The digests of each item's outputs."""
    return [tuple(encode(value).digest for value in result.values()) for result in expert.run(items)]


@pytest.mark.parametrize("tool", TOOLS)
def test_outputs_are_those_of_the_tool_signature(experts, tool):
    (result,) = experts[tool].run(items_of(tool, count=1))
    assert set(result) == {*OPENAGI[tool].outputs, *FURTHER_OUTPUTS.get(tool, ())}


@pytest.mark.parametrize("tool", TOOLS)
def test_an_item_alone_gives_the_same_as_in_a_batch(experts, tool):
    items = items_of(tool)
    together = artefacts(experts[tool], items)
    assert [artefacts(experts[tool], [item])[0] for item in items] == together


@pytest.mark.parametrize("tool", TOOLS)
def test_an_empty_batch_is_no_work(experts, tool):
    assert experts[tool].run([]) == []


@pytest.mark.sampled(of=2)
@pytest.mark.parametrize("tool", VISUAL)
@pytest.mark.parametrize("size", [(37, 53), (1, 1), (5, 64), (1, 40)])
def test_odd_sizes(experts, tool, size):
    (result,) = experts[tool].run(items_of(tool, count=1, size=size))
    if tool in RESTORING:
        factor = 2 if tool == "Image Super Resolution" else 1
        assert result["image"].size == (size[0] * factor, size[1] * factor)
    else:
        assert isinstance(result["text"], str)


@pytest.mark.parametrize("tool", LANGUAGE)
@pytest.mark.parametrize("text", ["", " ", "word " * 500, "Ein Wörterbuch? 3,14 - 東京!"])
def test_blank_long_and_strange_texts_give_a_text(experts, tool, text):
    (result,) = experts[tool].run(items_of(tool, count=1, text=text))
    assert isinstance(result["text"], str)


@pytest.mark.sampled(of=2)
@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_low_precision_is_what_the_model_computes_in(folders, tool, precision):
    expert = load_expert(spec=spec_of(tool, folders, precision=precision))
    # T5's own code keeps one layer of each block in float32 when the rest is float16, which would overflow there.
    kept = {torch.float32} if (tool, precision) == ("Machine Translation", "float16") else set()
    assert {value.dtype for value in expert._model.parameters()} == {getattr(torch, precision)} | kept
    (result,) = expert.run(items_of(tool, count=1))
    assert set(result) == {*OPENAGI[tool].outputs, *FURTHER_OUTPUTS.get(tool, ())}


@pytest.mark.parametrize("tool", ["Image Denoising", "Image Deblurring"])
def test_in_low_precision_the_image_keeps_its_own_bits(experts, folders, tool):
    """Only what the network adds is rounded: no pixel moves by more than a few of 255 levels."""
    (exact,) = experts[tool].run(items_of(tool, count=1))
    (rounded,) = load_expert(spec=spec_of(tool, folders, precision="bfloat16")).run(items_of(tool, count=1))
    pairs = zip(exact["image"].tobytes(), rounded["image"].tobytes(), strict=True)
    assert max(abs(one - other) for one, other in pairs) <= 4


def test_an_unknown_precision_is_refused(folders):
    with pytest.raises(WeightsError, match="no precision 'int3'"):
        load_expert(spec=spec_of("Image Denoising", folders, precision="int3"))


def test_labels_are_the_checkpoints_own_and_sentiments_in_small_letters(experts):
    assert experts["Image Classification"].run(items_of("Image Classification"))[0]["text"] in {
        "tench, Tinca tinca", "goldfish",
    }  # fmt: skip
    sentiments = {result["text"] for result in experts["Sentiment Analysis"].run(items_of("Sentiment Analysis"))}
    assert sentiments <= {"neutral", "positive", "negative"}


def test_objects_are_names_between_commas_and_the_last_class_is_no_object(folders):
    expert = load_expert(spec=spec_of("Object Detection", folders, threshold=0.0))
    (result,) = expert.run(items_of("Object Detection", count=1))
    names = result["text"].split(", ")
    assert len(names) == 5
    assert set(names) <= {"N/A", "person", "cat"}


def test_nothing_found_is_an_empty_text(folders):
    expert = load_expert(spec=spec_of("Object Detection", folders, threshold=1.1))
    assert expert.run(items_of("Object Detection", count=1)) == [{"text": "", "boxes": "[]"}]


def test_boxes_tell_where_the_named_objects_are(folders):
    expert = load_expert(spec=spec_of("Object Detection", folders, threshold=0.0))
    (result,) = expert.run(items_of("Object Detection", count=1))
    boxes = json.loads(result["boxes"])
    assert ", ".join(box["label"] for box in boxes) == result["text"]
    assert all(set(box) == {"label", "score", "box"} and len(box["box"]) == 4 for box in boxes)
    assert all(0 <= box["score"] <= 1 for box in boxes)


def test_a_t5_reads_the_prefix_before_every_text(folders, monkeypatch):
    expert = load_expert(spec=spec_of("Machine Translation", folders))
    read = []
    encode_texts = expert.encode
    monkeypatch.setattr(expert, "encode", lambda texts: read.extend(texts) or encode_texts(texts))
    expert.run([{"text": "A bear."}])
    assert set(read) == {("translate English to German: A bear.",)}
    assert expert.run([{"text": " "}]) == [{"text": ""}]


def test_masks_are_filled_and_the_rest_stays(experts):
    (result,) = experts["Fill Mask"].run([{"text": "A <mask> and a [MASK]."}])
    assert result["text"].startswith("A ")
    assert "<mask>" not in result["text"]
    assert experts["Fill Mask"].run([{"text": "No gap."}]) == [{"text": "No gap."}]


def test_an_answer_is_a_part_of_the_document(experts):
    (result,) = experts["Question Answering"].run([{"query": "Who won?", "document": "Denver won the bowl."}])
    assert result["text"] in "Denver won the bowl."


def test_beams_may_find_another_caption(folders):
    expert = load_expert(spec=spec_of("Image Captioning", folders, num_beams=3))
    assert isinstance(expert.run(items_of("Image Captioning"))[0]["text"], str)


def test_a_tokenizer_without_a_limit_needs_one_in_the_profile(folders):
    spec = spec_of("Sentiment Analysis", folders)
    with pytest.raises(ExpertError, match='give the parameter "length"'):
        load_expert(spec=replace(spec, parameters={}))


@pytest.mark.parametrize("tool", TOOLS)
def test_a_wrong_kind_of_input_is_an_error_that_says_why(experts, tool):
    wrong = {name: "a text" if name == "image" else picture() for name in OPENAGI[tool].inputs}
    with pytest.raises(ExpertError, match=r"must be an? (text|image)"):
        experts[tool].run([wrong])


def test_weights_of_another_model_are_refused(folders):
    spec = spec_of("Image Denoising", folders)
    with pytest.raises(WeightsError, match="do not fit the model"):
        load_expert(
            spec=replace(spec, path=folders["Colorization"], weights_digest=weights_digest(folders["Colorization"]))
        )
