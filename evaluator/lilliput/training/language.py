"""The tiny BERT behind the BERT score: a masked language model of the bilingual grammar."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import BertConfig, BertForMaskedLM, BertTokenizer

from evaluator.lilliput.scenes import draw_scene
from evaluator.lilliput.seeds import Split
from evaluator.lilliput.sentences import say_something, word_pieces
from evaluator.lilliput.training.export import write_config, write_weights

MAX_TOKENS = 128
_LENGTH = 48
_MASKED = 0.2
_KEPT = 0.3
"""Share of the tokens to guess that are left as they are: they keep token vectors from forgetting their own word."""
_SCENES = 40_000


@cache
def vocabulary() -> tuple[str, ...]:
    """All word pieces, in the order of their ids."""
    texts = []
    for index in range(4000):
        scene = draw_scene(split=Split.TRAIN, index=index)
        texts += [say_something(scene=scene, rng=np.random.default_rng([index, k])) for k in range(4)]
    return word_pieces(texts)


@cache
def tokenizer() -> BertTokenizer:
    """Lower case, umlauts kept."""
    ids = {piece: index for index, piece in enumerate(vocabulary())}
    return BertTokenizer(vocab=ids, do_lower_case=True, strip_accents=False, model_max_length=MAX_TOKENS)


def build() -> nn.Module:
    """A BERT of three narrow layers."""
    model: nn.Module = BertForMaskedLM(
        BertConfig(
            vocab_size=len(vocabulary()),
            hidden_size=96,
            num_hidden_layers=3,
            num_attention_heads=4,
            intermediate_size=192,
            max_position_embeddings=MAX_TOKENS,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            pad_token_id=0,
        )
    )
    return model


@dataclass(frozen=True, slots=True)
class MaskedLanguageObjective:
    """Guess masked tokens of one to four sentences."""

    batch: int = 48

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        tokens = self._tokens(rng=rng)
        special = tokens < 5
        masked = torch.from_numpy(rng.random(tuple(tokens.shape)) < _MASKED) & ~special
        kept = torch.from_numpy(rng.random(tuple(tokens.shape)) < _KEPT)
        inputs = torch.where(masked & ~kept, torch.tensor(4), tokens)
        logits: Tensor = model(input_ids=inputs, attention_mask=(tokens != 0).long()).logits
        return F.cross_entropy(logits[masked], tokens[masked])

    def _tokens(self, *, rng: np.random.Generator) -> Tensor:
        texts = [_text(rng=rng) for _ in range(self.batch)]
        encoded = tokenizer()(texts, padding="max_length", truncation=True, max_length=_LENGTH, return_tensors="pt")
        tokens: Tensor = encoded["input_ids"]
        return tokens


def _text(*, rng: np.random.Generator) -> str:
    """Often a single sentence, as the scorer sees it; now and then several."""
    count = 1 if rng.random() < 0.6 else int(rng.integers(2, 5))
    scenes = (draw_scene(split=Split.TRAIN, index=int(rng.integers(_SCENES))) for _ in range(count))
    return " . ".join(say_something(scene=scene, rng=rng) for scene in scenes)


def export(model: nn.Module, folder: Path) -> None:
    """Write the encoder with its vocabulary."""
    assert isinstance(model, BertForMaskedLM)
    config = {k: v for k, v in model.config.to_dict().items() if k != "transformers_version"}
    write_config(config={**config, "dtype": "float32", "architectures": ["BertModel"]}, folder=folder)
    write_weights(model=model.bert, folder=folder)
    _write_tokenizer(pieces=vocabulary(), folder=folder)


def _write_tokenizer(*, pieces: Sequence[str], folder: Path) -> None:
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    settings = {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": True,
        "strip_accents": False,
        "model_max_length": MAX_TOKENS,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=1, sort_keys=True) + "\n")
