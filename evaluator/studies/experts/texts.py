"""Objectives of the language experts. Examples are drawn once from the grammar, batches by the step's own stream."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor, nn

from evaluator.miniature.grammar.documents import draw_document
from evaluator.miniature.grammar.reviews import draw_review
from evaluator.studies.experts.data.corpus import draw_english, draw_maskable, draw_pair, stream
from evaluator.studies.experts.data.tokenizers import BEGIN_ID, END_ID, MASK_ID, PAD_ID, encode
from evaluator.studies.experts.recipe import EXAMPLES, REVIEWS, TRANSLATIONS

_IGNORED = -100
Ids = Sequence[int]


def padded(rows: Sequence[Ids], *, value: int = PAD_ID, length: int | None = None) -> Tensor:
    """Rows of token ids filled up on the right to one length: int64 of shape (rows, length)."""
    width = length or max(len(row) for row in rows)
    return torch.tensor([[*row[:width], *[value] * (width - len(row))] for row in rows])


def draw_examples(
    *, purpose: str, make: Callable[[np.random.Generator], tuple[Ids, Ids]], count: int
) -> list[tuple[Ids, Ids]]:
    """Training examples, the same ones every time."""
    return [make(stream(index=index, purpose=purpose)) for index in range(count)]


@dataclass(frozen=True, slots=True)
class SequenceObjective:
    """Write the target after reading the source; both end with the end token."""

    examples: Sequence[tuple[Ids, Ids]]
    batch: int = 32

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        rows = [self.examples[i] for i in rng.integers(len(self.examples), size=self.batch)]
        sources = padded([source for source, _ in rows])
        targets = padded([target for _, target in rows], value=_IGNORED)
        loss: Tensor = model(input_ids=sources, attention_mask=(sources != PAD_ID).long(), labels=targets).loss
        return loss


def translation_objective(*, tokenizer: Tokenizer) -> SequenceObjective:
    """English to German."""

    def make(rng: np.random.Generator) -> tuple[Ids, Ids]:
        pair = draw_pair(rng)
        source, target = (encode(tokenizer=tokenizer, text=text) for text in (pair.english, pair.german))
        return [*source, END_ID], [*target, END_ID]

    return SequenceObjective(draw_examples(purpose="translation", make=make, count=TRANSLATIONS))


def summary_objective(*, tokenizer: Tokenizer) -> SequenceObjective:
    """A story to its summary."""

    def make(rng: np.random.Generator) -> tuple[Ids, Ids]:
        document = draw_document(rng)
        source, target = (
            encode(tokenizer=tokenizer, text=text) for text in (document.text.english, document.summary.english)
        )
        return [BEGIN_ID, *source, END_ID], [*target, END_ID]

    return SequenceObjective(draw_examples(purpose="summary", make=make, count=EXAMPLES))


@dataclass(frozen=True, slots=True)
class FillExample:
    """A text and the places of the words that follow from the rest."""

    ids: Ids
    places: Ids


@dataclass(frozen=True, slots=True)
class FillObjective:
    """Guess masked words, of which the text determines every one: never two that stand side by side."""

    examples: Sequence[FillExample]
    batch: int = 48

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        rows = [self.examples[i] for i in rng.integers(len(self.examples), size=self.batch)]
        tokens = padded([row.ids for row in rows])
        masked = torch.zeros_like(tokens, dtype=torch.bool)
        for index, row in enumerate(rows):
            for place in rng.permutation(row.places)[: 1 + len(row.places) // 2]:
                masked[index, place] = not masked[index, place - 1] and not masked[index, place + 1]
        inputs = torch.where(masked, torch.tensor(MASK_ID), tokens)
        hidden = model.roberta(input_ids=inputs, attention_mask=(tokens != PAD_ID).long()).last_hidden_state  # type: ignore[operator]
        return F.cross_entropy(model.lm_head(hidden[masked]), tokens[masked])  # type: ignore[operator]


def fill_objective(*, tokenizer: Tokenizer) -> FillObjective:
    """English texts of all kinds."""
    examples = []
    for index in range(EXAMPLES):
        source = draw_maskable(stream(index=index, purpose="fill"))
        encoded = tokenizer.encode(source.text, add_special_tokens=False)
        first = {source.text.index(word) for word in source.recoverable if word in source.text}
        places = [1 + i for i, (start, _) in enumerate(encoded.offsets) if start in first]
        examples.append(FillExample([BEGIN_ID, *encoded.ids, END_ID], places))
    return FillObjective(examples)


@dataclass(frozen=True, slots=True)
class GenerationObjective:
    """Guess every next word."""

    texts: Sequence[Ids]
    batch: int = 32

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        tokens = padded([self.texts[i] for i in rng.integers(len(self.texts), size=self.batch)])
        logits: Tensor = model(input_ids=tokens, attention_mask=(tokens != PAD_ID).long()).logits
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=PAD_ID)


def generation_objective(*, tokenizer: Tokenizer) -> GenerationObjective:
    """English texts of all kinds, each ending with the end token."""
    drawn = (draw_english(stream(index=index, purpose="generation")) for index in range(EXAMPLES))
    return GenerationObjective([[BEGIN_ID, *encode(tokenizer=tokenizer, text=text), END_ID] for text in drawn])


@dataclass(frozen=True, slots=True)
class SentimentObjective:
    """Positive or negative."""

    texts: Sequence[Ids]
    positive: Sequence[int]
    batch: int = 48

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        chosen = rng.integers(len(self.texts), size=self.batch)
        tokens = padded([self.texts[i] for i in chosen])
        logits: Tensor = model(input_ids=tokens, attention_mask=(tokens != PAD_ID).long()).logits
        return F.cross_entropy(logits, torch.tensor([self.positive[i] for i in chosen]))


def sentiment_objective(*, tokenizer: Tokenizer) -> SentimentObjective:
    """Reviews with their sentiments."""
    reviews = [draw_review(stream(index=index, purpose="sentiment")) for index in range(REVIEWS)]
    return SentimentObjective(
        texts=[[BEGIN_ID, *encode(tokenizer=tokenizer, text=r.text.english), END_ID] for r in reviews],
        positive=[int(review.positive) for review in reviews],
    )
