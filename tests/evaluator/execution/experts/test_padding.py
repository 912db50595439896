"""Batches of texts and questions of several lengths: padding is bounded and changes neither answers nor order."""

from dataclasses import replace

import pytest

from evaluator.execution.experts.inputs import in_buckets, padded_length
from evaluator.execution.experts.profile import load_expert, load_profile
from tests.evaluator.execution.experts.test_every_expert import LANGUAGE, item_of, run

QUESTIONS = ("Image Captioning", "Visual Question Answering", "image_question_answering")
TEXTS = (
    "Who?",
    "What is the [MASK] of the big thing that lies on the left of the other one?",
    "Is it a cat?",
    "word " * 60,
    "How many people are there, and what do they do in the meadow?",
)


def test_padding_is_less_than_the_text_or_the_least_length():
    assert [padded_length(tokens, least=32, most=512) for tokens in (0, 1, 32, 33, 64, 65, 500)] == [
        32, 32, 32, 64, 64, 128, 512,
    ]  # fmt: skip
    assert padded_length(70, least=32, most=100) == 100


def test_results_are_in_the_order_of_the_rows_and_batches_are_full_and_of_one_length():
    batches = []

    def answers(rows, length):
        batches.append((rows, length))
        return [f"{row} at {length}" for row in rows]

    results = in_buckets(["a", "b", "c", "d"], lengths=[64, 32, 64, 64], size=2, run=answers)
    assert results == ["a at 64", "b at 32", "c at 64", "d at 64"]
    assert batches == [(["b", "b"], 32), (["a", "c"], 64), (["d", "d"], 64)]
    assert in_buckets([], lengths=[], size=2, run=answers) == []


@pytest.fixture(scope="module")
def paper(tmp_path_factory, one_thread):
    from tests.evaluator.execution.experts.paper.world import fetch_checkpoints, names_for, small

    folder = tmp_path_factory.mktemp("cache")
    names = names_for(load_profile("paper"), (*LANGUAGE, *QUESTIONS))
    fetch_checkpoints(folder=folder, mirror=tmp_path_factory.mktemp("mirror"), names=names)
    return small(load_profile("paper", weights=folder)).experts


def items_for(tool):
    """One item for each of `TEXTS`, with pictures that differ."""
    items = [item_of(tool, seed=number % 3) for number in range(len(TEXTS))]
    return [
        {name: text if isinstance(value, str) else value for name, value in item.items()}
        for item, text in zip(items, TEXTS, strict=True)
    ]


@pytest.mark.parametrize("tool", LANGUAGE)
def test_texts_get_the_answers_that_they_get_at_full_length(paper, tool):
    spec = replace(paper[tool], batch_size=3)
    assert spec.parameters["least_length"] < spec.parameters["length"]
    unpadded = {name: value for name, value in spec.parameters.items() if name != "least_length"}
    items = items_for(tool)
    expected = run(load_expert(spec=replace(spec, parameters=unpadded)), *items)
    expert = load_expert(spec=spec)
    lengths = set()
    original = expert.answer
    expert.answer = lambda texts, length: lengths.add(length) or original(texts, length=length)
    assert run(expert, *items) == expected
    assert [run(expert, item)[0] for item in items] == expected
    assert len(lengths) > 1
    assert min(lengths) < spec.parameters["length"]


@pytest.mark.parametrize("tool", QUESTIONS[1:])
def test_questions_get_the_answers_that_they_get_alone_and_without_padding(paper, tool, monkeypatch):
    expert = load_expert(spec=replace(paper[tool], batch_size=3))
    items = items_for(tool)
    together = run(expert, *items)
    assert run(expert, *reversed(items))[::-1] == together
    monkeypatch.setattr(
        "evaluator.execution.experts.visual_questions.padded_length", lambda tokens, *, least, most: tokens
    )
    assert [run(expert, item)[0] for item in items] == together
    assert len({str(answer) for answer in together}) > 1


@pytest.mark.parametrize("tool", QUESTIONS[1:])
def test_a_short_question_is_padded_alike_alone_and_beside_a_long_one(paper, tool):
    expert = load_expert(spec=replace(paper[tool], batch_size=3))
    lengths = []
    original = expert._answers
    expert._answers = lambda rows, length: lengths.append(length) or original(rows, length)
    short, long = items_for(tool)[0], items_for(tool)[3]
    run(expert, short)
    run(expert, long, short)
    assert lengths[0] == min(lengths[1:]) < max(lengths)


@pytest.mark.parametrize("tool", QUESTIONS)
def test_pictures_of_several_sizes_share_a_batch(paper, tool):
    expert = load_expert(spec=paper[tool])
    assert paper[tool].resizes
    items = [item_of(tool, size=size) for size in ((64, 64), (40, 70))]
    assert run(expert, *items) == [run(expert, item)[0] for item in items]
