"""The classes behind the scorers of the profile `paper`, with small random checkpoints."""

from dataclasses import replace
from types import MappingProxyType

import pytest
import torch
from PIL import Image
from transformers import DebertaConfig, DebertaModel, ViTModel

from evaluator.experts.profile import load_profile
from evaluator.experts.weights import WeightsError, weights_digest
from evaluator.metrics.scorers import load_scorer
from tests.evaluator.experts.tiny import LONGEST, SIZES, VOCABULARY, save_tokenizer, vit_config


@pytest.fixture(scope="module")
def profile(tmp_path_factory):
    """The profile's scorers on small checkpoints that are otherwise like the released ones."""
    torch.manual_seed(0)
    folders = {name: tmp_path_factory.mktemp(name) for name in ("ViT", "BERT")}
    ViTModel(vit_config(), add_pooling_layer=False).save_pretrained(folders["ViT"])
    config = DebertaConfig(
        vocab_size=VOCABULARY, max_position_embeddings=LONGEST, relative_attention=True, pos_att_type=["c2p", "p2c"],
        position_biased_input=False, type_vocab_size=0, max_relative_positions=-1, pad_token_id=1, **SIZES,
    )  # fmt: skip
    DebertaModel(config).save_pretrained(folders["BERT"])
    save_tokenizer(folders["BERT"])
    paper = load_profile("paper")
    scorers = {
        name: replace(paper.scorers[name], path=folder, weights_digest=weights_digest(folder))
        for name, folder in folders.items()
    }
    scorers["BERT"] = replace(scorers["BERT"], parameters={"num_layers": 1})
    return replace(paper, scorers=MappingProxyType(scorers))


def test_deberta_compares_texts_of_any_length(profile):
    scorer = load_scorer(name="BERT", profile=profile)
    texts = ["A bear.", "word " * 500, ""]
    assert scorer.score(outputs=texts, references=texts) == pytest.approx([1.0, 1.0, 1.0], abs=1e-5)
    assert scorer.score(outputs=["", "A bear."], references=["A bear.", ""]) == [0.0, 0.0]
    (score,) = scorer.score(outputs=["A bear."], references=["Ein Bär."])
    assert score < 1


def test_vit_compares_images_of_any_size(profile):
    scorer = load_scorer(name="ViT", profile=profile)
    images = [Image.new("RGB", size, (200, 30, 30)) for size in ((37, 53), (1, 1))]
    assert scorer.score(outputs=images, references=images) == pytest.approx([1.0, 1.0])


def test_a_scorer_that_was_not_fetched_names_the_command(tmp_path):
    with pytest.raises(WeightsError, match="planarena profiles fetch paper"):
        load_scorer(name="BERT", profile=load_profile("paper", weights=tmp_path))
