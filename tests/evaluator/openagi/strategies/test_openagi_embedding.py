"""Embedding similarity with small checkpoints in the layout of sentence-transformers, made here."""

import json

import pytest

from evaluator.core.language_model import Completion
from evaluator.core.planner import offered_tools
from evaluator.core.tools.catalogues import OPENAGI
from evaluator.openagi.strategies.embedding import EmbeddingError, EmbeddingSimilarity, checkpoint_folder
from evaluator.openagi.strategies.free_text import ZeroShot
from evaluator.openagi.strategies.similarity import right_decisions
from tests.evaluator.execution.experts.hub_server import serving
from tests.evaluator.openagi.strategies.openagi_tasks import read, request, task_like
from tests.fakes.constrained_model import held

pytestmark = pytest.mark.full
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
TOOLS = offered_tools(OPENAGI)
WORDS = sorted({word for tool in TOOLS for word in tool.name.casefold().split()} | {"apply", "please", "weather"})
MEAN = {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}
MODULES = ("Transformer", "Pooling", "Normalize")


def save_checkpoint(folder, *, layers=2, modules=MODULES, pooling=MEAN, settings=None, prompt=None):
    """A BERT over whole words; without layers it is a bag of words."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    vocabulary = {word: index for index, word in enumerate((*SPECIAL, *WORDS))}
    tokenizer = Tokenizer(models.WordLevel(vocab=vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=64,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
    )
    model = BertModel(config)
    torch.nn.init.normal_(model.embeddings.word_embeddings.weight)
    with torch.no_grad():
        model.embeddings.word_embeddings.weight[: len(SPECIAL)] = 0
    torch.nn.init.zeros_(model.embeddings.position_embeddings.weight)
    torch.nn.init.zeros_(model.embeddings.token_type_embeddings.weight)
    model.save_pretrained(folder)
    paths = {"Transformer": "", "Pooling": "1_Pooling"}
    rows = [
        {
            "idx": index,
            "name": str(index),
            "path": paths.get(kind, f"{index}_{kind}"),
            "type": f"sentence_transformers.models.{kind}",
        }
        for index, kind in enumerate(modules)
    ]
    write(folder / "modules.json", rows)
    write(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": 64, **pooling})
    write(folder / "sentence_bert_config.json", settings or {"max_seq_length": 16, "do_lower_case": False})
    write(folder / "config_sentence_transformers.json", {"prompts": {}, "default_prompt_name": prompt})
    return folder


def write(path, value):
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value))


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
