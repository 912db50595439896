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
from evaluator.training.export import export_transformers

MAX_TOKENS = 128
_MASKED = 0.2
_UNCHANGED = 0.3
"""Share of the tokens to predict that are not masked, so that token vectors still encode their own word."""
_TEXTS = 24_000
_ENGLISH_ONLY = 0.2


@cache
def texts() -> tuple[str, ...]:
    """The training texts: mostly single sentences in either language, as the scorer sees them."""

    def text(rng: np.random.Generator) -> str:
        if rng.random() < _ENGLISH_ONLY:
            return draw_english(rng)
        bilingual = draw_anything(rng)
        return bilingual.english if rng.random() < 0.5 else bilingual.german

    return tuple(text(stream(index=index, purpose="bert")) for index in range(_TEXTS))


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
    """Predict masked tokens of a text."""

    batch: int = 48

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        batch = [texts()[i] for i in rng.integers(_TEXTS, size=self.batch)]
        tokens: Tensor = tokenizer()(batch, padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt")[
            "input_ids"
        ]
        special = tokens < 5
        masked = torch.from_numpy(rng.random(tuple(tokens.shape)) < _MASKED) & ~special
        unchanged = torch.from_numpy(rng.random(tuple(tokens.shape)) < _UNCHANGED)
        inputs = torch.where(masked & ~unchanged, torch.tensor(4), tokens)
        logits: Tensor = model(input_ids=inputs, attention_mask=(tokens != 0).long()).logits
        return F.cross_entropy(logits[masked], tokens[masked])


def export(model: nn.Module, folder: Path) -> None:
    """Write the encoder with its vocabulary."""
    assert isinstance(model, BertForMaskedLM)
    export_transformers(model.bert, folder)
    (folder / "vocab.txt").write_text("\n".join(vocabulary()) + "\n", encoding="utf-8")
    settings = {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": True,
        "strip_accents": False,
        "model_max_length": MAX_TOKENS,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=1, sort_keys=True) + "\n")
