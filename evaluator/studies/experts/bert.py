"""The tiny BERT behind the BERT score: a masked language model of the bilingual grammar."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import BertConfig, BertForMaskedLM, BertTokenizer

from evaluator.studies.experts.data.corpus import draw_anything, draw_english, stream
from evaluator.training.export import write_config, write_weights

MAX_TOKENS = 128
_MASKED = 0.2
_KEPT = 0.3
"""Share of the tokens to guess that are left as they are: they keep token vectors from forgetting their own word."""
_TEXTS = 24_000
_ENGLISH_ONLY = 0.2


@cache
def texts() -> tuple[str, ...]:
    """What the model reads: single sentences mostly, as the scorer sees them, in either language."""
    return tuple(_text(stream(index=index, purpose="bert")) for index in range(_TEXTS))


def _text(rng: np.random.Generator) -> str:
    if rng.random() < _ENGLISH_ONLY:
        return draw_english(rng)
    said = draw_anything(rng)
    return said.english if rng.random() < 0.5 else said.german


@cache
def vocabulary() -> tuple[str, ...]:
    """All word pieces, in the order of their ids."""
    return word_pieces(texts())


def word_pieces(texts: Sequence[str]) -> tuple[str, ...]:
    """A WordPiece vocabulary: BERT's special tokens, the words of the texts, and letters to spell all others."""
    words = sorted({word for text in texts for word in re.findall(r"\w+", text.lower())})
    letters = [*"abcdefghijklmnopqrstuvwxyzäöüß0123456789"]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*special, *",.?!:;'-\"()", *letters, *(f"##{letter}" for letter in letters), *words]
    return tuple(dict.fromkeys(pieces))


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
    """Guess masked tokens of a text."""

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
        chosen = [texts()[i] for i in rng.integers(_TEXTS, size=self.batch)]
        encoded = tokenizer()(chosen, padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt")
        tokens: Tensor = encoded["input_ids"]
        return tokens


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
