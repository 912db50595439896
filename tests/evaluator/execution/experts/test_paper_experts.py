"""What is particular to expert classes of the profile `paper`, on small random checkpoints."""

import json
from dataclasses import replace

import pytest

from evaluator.core.expert import ExpertError
from evaluator.execution.experts.profile import load_expert, load_profile
from evaluator.execution.experts.weights import WeightsError
from tests.evaluator.execution.experts.test_every_expert import item_of, run

TOOLS = ("Image Denoising", "Colorization", "Image Classification", "Object Detection", "Image Captioning",
         "Machine Translation", "Fill Mask", "Question Answering", "Sentiment Analysis")  # fmt: skip


@pytest.fixture(scope="module")
def paper(tmp_path_factory, one_thread):
    from tests.evaluator.execution.experts.paper.world import fetch_checkpoints, names_for, small

    folder = tmp_path_factory.mktemp("cache")
    names = names_for(load_profile("paper"), TOOLS)
    fetch_checkpoints(folder=folder, mirror=tmp_path_factory.mktemp("mirror"), names=names)
    return small(load_profile("paper", weights=folder)).experts


def loaded(spec, *, precision="float32", **parameters):
    return load_expert(spec=replace(spec, precision=precision, parameters={**spec.parameters, **parameters}))


def answer(expert, tool, **changes):
    (result,) = run(expert, item_of(tool) | changes)
    return result


def test_in_low_precision_the_image_keeps_its_own_bits(paper):
    """Only what the network adds is rounded: no pixel moves by more than a few of 255 levels."""
    exact, rounded = (
        answer(loaded(paper["Image Denoising"], precision=name), "Image Denoising")["image"].tobytes()
        for name in ("float32", "bfloat16")
    )
    assert max(abs(one - other) for one, other in zip(exact, rounded, strict=True)) <= 4


def test_what_cannot_be_loaded_is_refused_with_the_reason(paper):
    denoising, other, words = paper["Image Denoising"], paper["Colorization"], paper["Sentiment Analysis"]
    with pytest.raises(WeightsError, match="no precision 'int3'"):
        loaded(denoising, precision="int3")
    with pytest.raises(WeightsError, match="do not fit the model"):
        load_expert(spec=replace(denoising, path=other.path, weights_digest=other.weights_digest))
    with pytest.raises(ExpertError, match='give the parameter "length"'):
        load_expert(spec=replace(words, parameters={}))


def test_labels_are_the_checkpoints_own_and_sentiments_in_small_letters(paper):
    label = answer(loaded(paper["Image Classification"]), "Image Classification")["text"]
    assert label in {"tench, Tinca tinca", "goldfish"}
    assert answer(loaded(paper["Sentiment Analysis"]), "Sentiment Analysis")["text"] in {
        "neutral", "positive", "negative"
    }  # fmt: skip


def test_objects_are_names_between_commas_and_boxes_tell_where_they_are(paper):
    result = answer(loaded(paper["Object Detection"], threshold=0.0), "Object Detection")
    names, boxes = result["text"].split(", "), json.loads(result["boxes"])
    assert len(names) == 5
    assert set(names) <= {"N/A", "person", "cat"}, "the last class is no object"
    assert [box["label"] for box in boxes] == names
    assert all(set(box) == {"label", "score", "box"} and len(box["box"]) == 4 for box in boxes)
    assert all(0 <= box["score"] <= 1 for box in boxes)
    nothing = loaded(paper["Object Detection"], threshold=1.1)
    assert answer(nothing, "Object Detection") == {"text": "", "boxes": "[]"}


def test_a_t5_reads_the_prefix_before_every_text(paper, monkeypatch):
    expert = loaded(paper["Machine Translation"])
    read = []
    encode_texts = expert.encode
    monkeypatch.setattr(expert, "encode", lambda texts, **more: read.extend(texts) or encode_texts(texts, **more))
    expert.run([{"text": "A bear."}])
    assert set(read) == {("translate English to German: A bear.",)}
    assert expert.run([{"text": " "}]) == [{"text": ""}]


def test_masks_are_filled_and_the_rest_stays(paper):
    expert = loaded(paper["Fill Mask"])
    (result,) = expert.run([{"text": "A <mask> and a [MASK]."}])
    assert result["text"].startswith("A ")
    assert "<mask>" not in result["text"]
    assert expert.run([{"text": "No gap."}]) == [{"text": "No gap."}]
