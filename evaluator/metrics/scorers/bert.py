"""How alike two texts are: BERT score.

Source: OpenAGI, section 3.4 "Evaluation Metrics": the F1 of BERTScore (Zhang et al., ICLR 2020).

Scores do not depend on what else is scored in the same call: texts go through the encoder one by one. Embeddings of
references are computed once and kept.

The same operations in the same order as the package `bert-score` 0.3.13 without IDF weights, so that scores are equal
to the bit, which a test checks; but for its special case for tokenizers of GPT-2 and RoBERTa, which no profile has.
Importing the package costs a second, for its plots.
"""

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers import AutoModel, AutoTokenizer

from evaluator.experts.pretrained import load_pretrained
from evaluator.experts.profile import ScorerSpec
from evaluator.metrics.scorers.base import require_pairs
from evaluator.metrics.scorers.embedding_cache import EmbeddingCache
from evaluator.metrics.scorers.precision import for_scoring
from evaluator.values import Value


class Embedded(NamedTuple):
    """A text as the encoder sees it."""

    tokens: Tensor
    """Unit vectors (1, tokens, hidden)."""
    weights: Tensor
    """float32 (1, tokens), 1 in sum: 0 at the first and last token of a sequence, which stand for no word."""


class BERTScore:
    """F1 of BERTScore (Zhang et al., ICLR 2020), without IDF weights or rescaling.

    Token embeddings are (1, tokens, hidden) of the layer `num_layers`; the score lies in [-1, 1] (in practice above 0)
    and is 1 for equal texts, empty (or blank) ones too: of a picture without objects, the right list is empty. An empty
    text and another one score 0 by definition.
    """

    def __init__(self, *, spec: ScorerSpec, device: str = "cpu") -> None:
        layers = spec.parameters.get("num_layers")
        if not isinstance(layers, int):
            raise TypeError(f'scorer "{spec.name}" needs the parameter num_layers, a number')
        # Not bert-score's own `get_model`: it takes any path with "t5" in it for a T5.
        self._model = for_scoring(load_pretrained(AutoModel, folder=spec.path, device=device), device=device)
        self._model.encoder.layer = self._model.encoder.layer[:layers]
        self._tokenizer = _limited(spec=spec, longest=int(self._model.config.max_position_embeddings))
        self._device = device
        self._kept: EmbeddingCache[Embedded] = EmbeddingCache()

    def score(self, *, outputs: Sequence[Value], references: Sequence[Value]) -> list[float]:
        """See `Scorer.score`."""
        require_pairs(outputs=outputs, references=references)
        pairs = [(_text(output), _text(reference)) for output, reference in zip(outputs, references, strict=True)]
        texts = {_digest(text): text for pair in pairs for text in pair if text}
        kept = self._kept.all_of(
            digests=texts,
            references=[_digest(reference) for _, reference in pairs if reference],
            compute=lambda new: [self._embed(texts[digest]) for digest in new],
        )
        embeddings = {text: kept[digest] for digest, text in texts.items()}
        scores = {
            (output, reference): _f1(candidate=embeddings[output], reference=embeddings[reference])
            for output, reference in dict.fromkeys(pairs)
            if output and reference
        }
        return [scores.get(pair, float(pair[0] == pair[1])) for pair in pairs]

    def _embed(self, text: str) -> Embedded:
        ids = self._tokenizer.encode(
            text, add_special_tokens=True, max_length=self._tokenizer.model_max_length, truncation=True
        )
        tokens = torch.tensor([ids], device=self._device)
        with torch.inference_mode():
            hidden = self._model(tokens, attention_mask=torch.ones_like(tokens))[0].cpu()
            ends = (self._tokenizer.cls_token_id, self._tokenizer.sep_token_id)
            weights = torch.tensor([[0.0 if token in ends else 1.0 for token in ids]])
            return Embedded(
                tokens=hidden / torch.norm(hidden, dim=-1).unsqueeze(-1),
                weights=weights / weights.sum(dim=1, keepdim=True),
            )


def _limited(*, spec: ScorerSpec, longest: int) -> Any:
    """The tokenizer beside the weights. Some released ones know no limit, and `bert-score` asks them for it."""
    tokenizer = AutoTokenizer.from_pretrained(spec.path, local_files_only=True, trust_remote_code=False)
    tokenizer.model_max_length = min(tokenizer.model_max_length, longest)
    return tokenizer


def _text(value: Value) -> str:
    if not isinstance(value, str):
        raise TypeError(f"the BERT score compares texts, not {type(value).__name__}")
    return value.strip()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _f1(*, candidate: Embedded, reference: Embedded) -> float:
    likeness = torch.bmm(candidate.tokens, reference.tokens.transpose(1, 2))
    precision = (likeness.max(dim=2)[0] * candidate.weights).sum(dim=1)
    recall = (likeness.max(dim=1)[0] * reference.weights).sum(dim=1)
    f1 = 2 * precision * recall / (precision + recall)
    return float(f1.masked_fill(torch.isnan(f1), 0.0)[0].clamp(-1, 1))
