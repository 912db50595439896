"""How alike an output and its reference are: ViT score for images, BERT score for texts.

Source: OpenAGI, section 3.4 "Evaluation Metrics". The ViT score is there "the cosine similarity of their respective
embeddings, which are generated using a Vision Transformer", the BERT score the F1 of BERTScore.

Where released code differs: it computes the ViT score as the Frobenius norm of the difference of the whole last
hidden states divided by 100, a distance (lower is better) that is averaged as if higher were better. This module
follows the paper. The embedding is the CLS token of the last hidden state, since the pooled output of an encoder
without a trained pooler is random.

Scores do not depend on what else is scored in the same call: images go through the encoder in batches of one fixed
shape, texts one by one. Embeddings of references are computed once and kept. The CLIP score has a module of its own.
"""

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch
from bert_score.utils import get_bert_embedding, greedy_cos_idf
from PIL import Image as PillowImage
from torch import Tensor
from transformers import AutoModel, AutoTokenizer, ViTModel

from evaluator.experts.pretrained import load_pretrained
from evaluator.experts.profile import Profile, ScorerSpec
from evaluator.experts.weights import verify_weights
from evaluator.metrics.clip import CLIPScore
from evaluator.metrics.embedding_cache import EmbeddingCache
from evaluator.metrics.precision import for_scoring
from evaluator.metrics.results import rule_score
from evaluator.metrics.results.pictures import is_copy
from evaluator.metrics.rule_names import VARIATION
from evaluator.values import Image, Value, encode


class Scorer(Protocol):
    """Compares outputs with references, pair by pair."""

    def score(self, *, outputs: Sequence[Value], references: Sequence[Value]) -> list[float]:
        """One score for each pair; higher is better.

        Raises:
            ValueError: there are not as many outputs as references.
            TypeError: a value is an image where a text is compared, or the reverse.
        """
        ...


_DECIMALS = 6


def rounded(scores: Sequence[float]) -> list[float]:
    """Scores as they are recorded. Their last bits depend on the number of threads, and equal plans are to tie."""
    return [round(score, _DECIMALS) for score in scores]


class ViTScore:
    """Cosine similarity of the CLS tokens of two images' last hidden states; opposite directions count as unlike.

    Images of any size are resized (bilinear) to the encoder's size: float32 of shape (batch, 3, 64, 64) in [-1, 1] for
    the profile `lilliput`; embeddings are (batch, hidden). The score lies in [0, 1] and is 1 for equal images.
    """

    def __init__(self, *, spec: ScorerSpec, device: str = "cpu") -> None:
        model = load_pretrained(ViTModel, folder=spec.path, device=device, add_pooling_layer=False)
        self._model = for_scoring(model, device=device)
        self._size = int(self._model.config.image_size)
        self._batch_size = spec.batch_size
        self._device = device
        self._kept: EmbeddingCache[Tensor] = EmbeddingCache()

    def score(self, *, outputs: Sequence[Value], references: Sequence[Value]) -> list[float]:
        """See `Scorer.score`."""
        _require_pairs(outputs=outputs, references=references)
        images = {_digest(value): _image(value) for value in [*references, *outputs]}
        wanted, right = [_digest(output) for output in outputs], [_digest(reference) for reference in references]
        embeddings = self._kept.all_of(
            digests=images, references=right, compute=lambda new: self._embed([images[digest] for digest in new])
        )
        return [
            _cosine(embeddings[output], embeddings[reference]) for output, reference in zip(wanted, right, strict=True)
        ]

    def _embed(self, images: Sequence[Image]) -> list[Tensor]:
        """Unit vectors in float64, one for each image."""
        pixels = np.stack([self._pixels(image) for image in images]) if images else np.empty((0,))
        vectors: list[Tensor] = []
        for start in range(0, len(images), self._batch_size):
            chunk = pixels[start : start + self._batch_size]
            filled = np.concatenate([chunk, np.repeat(chunk[:1], self._batch_size - len(chunk), axis=0)])
            values = torch.from_numpy(filled).to(self._device).permute(0, 3, 1, 2).to(self._model.dtype) / 127.5 - 1
            with torch.inference_mode():
                hidden = self._model(pixel_values=values).last_hidden_state
            cls = torch.nn.functional.normalize(hidden[:, 0].double().cpu(), dim=-1)
            vectors += list(cls[: len(chunk)])
        return vectors

    def _pixels(self, image: Image) -> np.ndarray:
        size = (self._size, self._size)
        fitted = image if image.size == size else image.resize(size, PillowImage.Resampling.BILINEAR)
        return np.asarray(fitted, dtype=np.uint8)


class VariationScore:
    """The ViT score of a picture and the one that it is to be a variation of; 0 for a copy, which is none."""

    def __init__(self, likeness: Scorer) -> None:
        self._likeness = likeness

    def score(self, *, outputs: Sequence[Value], references: Sequence[Value]) -> list[float]:
        """See `Scorer.score`."""
        likeness = self._likeness.score(outputs=outputs, references=references)
        return [
            0.0 if is_copy(_image(output), _image(reference)) else score
            for score, output, reference in zip(likeness, outputs, references, strict=True)
        ]


class BERTScore:
    """F1 of BERTScore (Zhang et al., ICLR 2020), through the `bert-score` package, without IDF weights or rescaling.

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
        self._kept: EmbeddingCache[tuple[Tensor, Tensor, Tensor]] = EmbeddingCache()

    def score(self, *, outputs: Sequence[Value], references: Sequence[Value]) -> list[float]:
        """See `Scorer.score`."""
        _require_pairs(outputs=outputs, references=references)
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

    def _embed(self, text: str) -> tuple[Tensor, Tensor, Tensor]:
        """Token embeddings, attention mask and weights of one text, as `bert-score` computes them."""
        weights: defaultdict[int, float] = defaultdict(lambda: 1.0)
        weights[self._tokenizer.cls_token_id] = weights[self._tokenizer.sep_token_id] = 0.0
        embedding, mask, idf = get_bert_embedding([text], self._model, self._tokenizer, weights, device=self._device)
        return embedding.cpu(), mask.cpu(), idf


_SCORERS: dict[str, Any] = {"ViT": ViTScore, "BERT": BERTScore, "CLIP": CLIPScore}


def load_scorer(*, name: str, profile: Profile, device: str = "cpu") -> Scorer:
    """The scorer `ViT`, `BERT` or `CLIP` with the profile's model, or one by rules.

    Raises:
        LookupError: the profile has no such scorer.
        WeightsError: its weights are not those that the profile names.
    """
    by_rules = rule_score(name)
    if by_rules is not None:
        return by_rules
    if name == VARIATION:
        return VariationScore(load_scorer(name="ViT", profile=profile, device=device))
    if name not in profile.scorers:
        raise LookupError(f"profile {profile.name} has no scorer {name!r}; it has: {', '.join(profile.scorers)}")
    spec = profile.scorers[name]
    verify_weights(folder=spec.path, expected=spec.weights_digest)
    scorer: Scorer = _SCORERS[name](spec=spec, device=device)
    return scorer


def _limited(*, spec: ScorerSpec, longest: int) -> Any:
    """The tokenizer beside the weights. Some released ones know no limit, and `bert-score` asks them for it."""
    tokenizer = AutoTokenizer.from_pretrained(spec.path, local_files_only=True, trust_remote_code=False)
    tokenizer.model_max_length = min(tokenizer.model_max_length, longest)
    return tokenizer


def _require_pairs(*, outputs: Sequence[Value], references: Sequence[Value]) -> None:
    if len(outputs) != len(references):
        raise ValueError(f"{len(outputs)} outputs cannot be compared with {len(references)} references")


def _image(value: Value) -> Image:
    if not isinstance(value, PillowImage.Image):
        raise TypeError(f"the ViT score compares images, not {type(value).__name__}")
    return value.convert("RGB")


def _text(value: Value) -> str:
    if not isinstance(value, str):
        raise TypeError(f"the BERT score compares texts, not {type(value).__name__}")
    return value.strip()


def _digest(value: Value) -> str:
    if isinstance(value, str):
        return hashlib.sha256(value.encode()).hexdigest()
    if isinstance(value, PillowImage.Image):
        return hashlib.sha256(f"{value.mode} {value.size}".encode() + value.tobytes()).hexdigest()
    return encode(value).digest


def _cosine(first: Tensor, second: Tensor) -> float:
    return float((first * second).sum().clamp(0, 1))


def _f1(*, candidate: tuple[Tensor, Tensor, Tensor], reference: tuple[Tensor, Tensor, Tensor]) -> float:
    # `greedy_cos_idf` normalises its arguments in place.
    own, other = ([part.clone() for part in text] for text in (candidate, reference))
    _, _, f1 = greedy_cos_idf(*other, *own)
    return float(f1[0].clamp(-1, 1))
