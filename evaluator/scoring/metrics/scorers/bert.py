"""Similarity of texts: BERT score.

Source: OpenAGI, section 3.4 "Evaluation Metrics": the F1 of BERTScore (Zhang et al., ICLR 2020).

Texts are encoded one by one, or in batches of fixed shapes that follow from each text's length, so that a score depends
only on its pair. Embeddings of references are cached.
"""

import hashlib
from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import AutoModel, AutoTokenizer

from evaluator.core.process import import_without_package
from evaluator.core.values import Value
from evaluator.execution.experts.inputs import in_buckets
from evaluator.execution.experts.pretrained import load_pretrained
from evaluator.execution.experts.profile import ScorerSpec
from evaluator.scoring.metrics.scorers.base import require_pairs
from evaluator.scoring.metrics.scorers.encoders import EmbeddingCache, for_scoring

# The package itself imports pandas and matplotlib, for plots that are not used here.
_package = import_without_package("bert_score.utils")


class BERTScore:
    """F1 of BERTScore (Zhang et al., ICLR 2020), through the `bert-score` package, without IDF weights or rescaling.

    With the profile's `batch_size` 1, texts are encoded one by one. With a larger one, that many texts of 32 tokens,
    more shorter or fewer longer ones share a batch, and are padded to the next multiple of 8 tokens.

    Token embeddings are (1, tokens, hidden) of the layer `num_layers`; the score is in [-1, 1] (in practice above 0)
    and 1 for equal texts, including empty or blank ones, such as the list of objects in an empty picture. An empty text
    and a non-empty one score 0 by definition.
    """

    def __init__(self, *, spec: ScorerSpec, device: str = "cpu") -> None:
        layers = spec.parameters.get("num_layers")
        if not isinstance(layers, int):
            raise TypeError(f'scorer "{spec.name}" needs the parameter num_layers, a number')
        # bert-score's `get_model` treats any path with "t5" in it as a T5.
        self._model = for_scoring(load_pretrained(AutoModel, folder=spec.path, device=device), device=device)
        self._model.encoder.layer = self._model.encoder.layer[:layers]
        self._tokenizer = AutoTokenizer.from_pretrained(spec.path, local_files_only=True, trust_remote_code=False)
        # Some released tokenizers have no limit, which `bert-score` needs.
        longest = int(self._model.config.max_position_embeddings)
        self._tokenizer.model_max_length = min(self._tokenizer.model_max_length, longest)
        self._device = device
        self._batch_size = spec.batch_size
        self._cache: EmbeddingCache[tuple[Tensor, Tensor, Tensor]] = EmbeddingCache()

    def score(self, *, outputs: Sequence[Value], references: Sequence[Value]) -> list[float]:
        """See `Scorer.score`."""
        require_pairs(outputs=outputs, references=references)
        pairs = [(_text(output), _text(reference)) for output, reference in zip(outputs, references, strict=True)]
        texts = {_digest(text): text for pair in pairs for text in pair if text}
        by_digest = self._cache.all_of(
            digests=texts,
            references=[_digest(reference) for _, reference in pairs if reference],
            compute=lambda new: self._embed([texts[digest] for digest in new]),
        )
        embeddings = {text: by_digest[digest] for digest, text in texts.items()}
        scores = {
            (output, reference): _f1(candidate=embeddings[output], reference=embeddings[reference])
            for output, reference in dict.fromkeys(pairs)
            if output and reference
        }
        return [scores.get(pair, float(pair[0] == pair[1])) for pair in pairs]

    def _embed(self, texts: Sequence[str]) -> list[tuple[Tensor, Tensor, Tensor]]:
        """Token embeddings, attention mask and weights of each text, as `bert-score` compares them."""
        rows: list[list[int]] = [_package.sent_encode(self._tokenizer, text) for text in texts]
        if self._batch_size == 1:
            return [embedding for row in rows for embedding in self._encoded([row], len(row))]
        lengths = [min(-(-len(row) // _STEP) * _STEP, self._tokenizer.model_max_length) for row in rows]
        return in_buckets(
            rows,
            lengths=lengths,
            size=lambda length: max(1, self._batch_size * _USUAL // length),
            run=self._encoded,
        )

    def _encoded(self, rows: Sequence[list[int]], length: int) -> list[tuple[Tensor, Tensor, Tensor]]:
        """The embeddings of a batch, padded to `length` tokens."""
        padding, without_weight = (
            self._tokenizer.pad_token_id,
            (self._tokenizer.cls_token_id, self._tokenizer.sep_token_id),
        )
        ids = torch.tensor([row + [padding] * (length - len(row)) for row in rows])
        mask = torch.tensor([[1] * len(row) + [0] * (length - len(row)) for row in rows])
        hidden = _package.bert_encode(self._model, ids.to(self._device), mask.to(self._device)).cpu()
        return [
            (
                hidden[number : number + 1, : len(row)].clone(),
                torch.ones((1, len(row)), dtype=torch.long),
                torch.tensor([[0.0 if token in without_weight else 1.0 for token in row]]),
            )
            for number, row in enumerate(rows)
        ]


_STEP = 8
_USUAL = 32
"""Tokens of a text of which `batch_size` are encoded at once."""


def _text(value: Value) -> str:
    if not isinstance(value, str):
        raise TypeError(f"the BERT score compares texts, not {type(value).__name__}")
    return value.strip()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _f1(*, candidate: tuple[Tensor, Tensor, Tensor], reference: tuple[Tensor, Tensor, Tensor]) -> float:
    # `greedy_cos_idf` normalises its arguments in place.
    own, other = ([part.clone() for part in text] for text in (candidate, reference))
    _, _, f1 = _package.greedy_cos_idf(*other, *own)
    return float(f1[0].clamp(-1, 1))
