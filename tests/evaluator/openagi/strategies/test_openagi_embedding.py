"""Embedding similarity with small checkpoints in the layout of sentence-transformers, made here."""

import json

import pytest

from evaluator.core.language_model import Completion
from evaluator.core.planner import offered_tools
from evaluator.core.tools.catalogues import OPENAGI
from evaluator.execution.experts.sentence_encoder import EmbeddingError
from evaluator.openagi.strategies.embedding import EmbeddingSimilarity, checkpoint_folder
from evaluator.openagi.strategies.free_text import ZeroShot
from evaluator.openagi.strategies.similarity import right_decisions
from tests.evaluator.execution.experts.hub_server import serving
from tests.evaluator.openagi.strategies.openagi_tasks import read, request, task_like
from tests.fakes import sentence_checkpoint
from tests.fakes.constrained_model import held
from tests.fakes.sentence_checkpoint import MEAN

pytestmark = pytest.mark.full
TOOLS = offered_tools(OPENAGI)
WORDS = sorted({word for tool in TOOLS for word in tool.name.casefold().split()} | {"apply", "please", "weather"})


def save_checkpoint(folder, **layout):
    return sentence_checkpoint.save_checkpoint(folder, words=WORDS, **layout)


def cosines(similarity, line):
    return dict(zip([tool.name for tool in TOOLS], similarity.compare(lines=[line], tools=TOOLS)[0], strict=True))


@pytest.fixture(scope="module")
def bag_of_words(tmp_path_factory):
    return save_checkpoint(tmp_path_factory.mktemp("models") / "bag", layers=0)


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return save_checkpoint(tmp_path_factory.mktemp("models") / "bert")


def by_hand(folder, text, pool):
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        return pool(model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0])


@pytest.mark.parametrize(
    ("pooling", "pool"),
    [
        (MEAN, lambda states: states.mean(dim=0)),
        ({"pooling_mode": "mean"}, lambda states: states.mean(dim=0)),
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, lambda states: states[0]),
    ],
)
def test_it_is_the_cosine_of_the_pooled_states(tmp_path, pooling, pool):
    import torch

    folder = save_checkpoint(tmp_path / "bert", pooling=pooling)
    found = cosines(EmbeddingSimilarity(folder=folder, threshold=0.5), "apply denoising please")["Image Denoising"]
    line, name = (by_hand(folder, text, pool) for text in ("apply denoising please", "Image Denoising"))
    assert found == pytest.approx(float(torch.cosine_similarity(line, name, dim=0)), abs=1e-5)


def test_without_a_threshold_it_takes_the_one_that_is_best_on_our_sentences(bag_of_words):
    similarity = EmbeddingSimilarity(folder=bag_of_words)
    best = right_decisions(similarity, threshold=similarity.threshold)
    assert best >= max(right_decisions(similarity, threshold=value / 50) for value in range(-50, 51))


def test_the_model_and_its_weights_are_named_in_the_result(bag_of_words, monkeypatch):
    monkeypatch.setenv("PLANARENA_EMBEDDING_MODEL", str(bag_of_words))
    monkeypatch.setenv("PLANARENA_EMBEDDING_THRESHOLD", "0.45")
    task = task_like(text="Given noisy image, how to return the regular image")
    text = "Step 1: weather\nStep 2: apply denoising please"
    draft = held(strategy=ZeroShot(), request=request(task.key), answer=lambda calls: [Completion(text=text)])
    assert read(draft, task)[0].tools() == ("Image Denoising",)
    assert [line["mapped"] for line in draft.notes["lines"]] == [False, True]
    assert draft.notes["threshold"] == 0.45
    assert draft.notes["mapper"].startswith("embedding bag (weights ")
    assert str(bag_of_words) not in json.dumps(draft.notes)


def test_a_model_on_the_hub_is_downloaded_at_its_revision(tmp_path):
    commit = "a" * 40
    save_checkpoint(tmp_path / "hub" / "own" / "tiny")
    with serving(tmp_path / "hub", commits={"own/tiny": commit}) as address:
        folder, source = checkpoint_folder(f"own/tiny@{commit}", cache=tmp_path / "cache", endpoint=address)
    assert source == f"own/tiny@{commit}"
    assert EmbeddingSimilarity(folder=folder, source=source, threshold=0.5).name.startswith(
        f"embedding own/tiny@{commit} "
    )


@pytest.mark.parametrize("model", ["nowhere", "own/tiny", "own/tiny@", "/no/such/folder"])
def test_what_is_neither_folder_nor_pinned_repository_is_refused(model):
    with pytest.raises(EmbeddingError, match="neither a folder nor ORG/NAME@REVISION"):
        checkpoint_folder(model)


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ({"modules": ("Transformer", "Pooling", "Dense")}, "consists of Transformer, Pooling, Dense"),
        ({"modules": ("Transformer",)}, "consists of Transformer; supported"),
        ({"pooling": {"pooling_mode_max_tokens": True}}, "pools otherwise"),
        ({"pooling": {**MEAN, "pooling_mode_cls_token": True}}, "pools otherwise"),
        ({"pooling": {"pooling_mode": "lasttoken"}}, "pools otherwise"),
        ({"prompt": "query"}, "puts a prompt before texts"),
    ],
)
def test_a_checkpoint_that_would_give_other_embeddings_is_refused(tmp_path, layout, message):
    with pytest.raises(EmbeddingError, match=message):
        EmbeddingSimilarity(folder=save_checkpoint(tmp_path / "odd", layers=0, **layout))
