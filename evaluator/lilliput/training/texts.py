"""Objectives of the language experts. Examples are drawn once from the grammar, batches by the step's own stream."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor, nn

from evaluator.lilliput.grammar import draw_document, draw_document_question, draw_review
from evaluator.lilliput.training.corpus import draw_english, draw_pair, stream
from evaluator.lilliput.training.tokenizers import BEGIN_ID, END_ID, MASK_ID, PAD_ID, encode

EXAMPLES = 24_000
_IGNORED = -100
Ids = Sequence[int]


def padded(rows: Sequence[Ids], *, value: int = PAD_ID, length: int | None = None) -> Tensor:
    """Rows of token ids filled up on the right to one length: int64 of shape (rows, length)."""
    width = length or max(len(row) for row in rows)
    return torch.tensor([[*row[:width], *[value] * (width - len(row))] for row in rows])


def draw_examples(
    *, purpose: str, make: Callable[[np.random.Generator], tuple[Ids, Ids]], count: int = EXAMPLES
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

    return SequenceObjective(draw_examples(purpose="translation", make=make))


def summary_objective(*, tokenizer: Tokenizer) -> SequenceObjective:
    """A story to its summary."""

    def make(rng: np.random.Generator) -> tuple[Ids, Ids]:
        document = draw_document(rng)
        source, target = (
            encode(tokenizer=tokenizer, text=text) for text in (document.text.english, document.summary.english)
        )
        return [BEGIN_ID, *source, END_ID], [*target, END_ID]

    return SequenceObjective(draw_examples(purpose="summary", make=make))


@dataclass(frozen=True, slots=True)
class FillObjective:
    """Guess words that are masked; up to three words are, so that a guess leans on the right neighbours."""

    texts: Sequence[Ids]
    batch: int = 48

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        tokens = padded([self.texts[i] for i in rng.integers(len(self.texts), size=self.batch)])
        masked = _some_words(tokens=tokens, rng=rng)
        inputs = torch.where(masked, torch.tensor(MASK_ID), tokens)
        logits: Tensor = model(input_ids=inputs, attention_mask=(tokens != PAD_ID).long()).logits
        return F.cross_entropy(logits[masked], tokens[masked])


def _some_words(*, tokens: Tensor, rng: np.random.Generator) -> Tensor:
    """True for one word in fifteen, and for at least one in every row."""
    chances = torch.from_numpy(rng.random(tuple(tokens.shape))).masked_fill(tokens <= MASK_ID, 2.0)
    return ((chances < 1 / 15) | (chances == chances.amin(dim=1, keepdim=True))) & (tokens > MASK_ID)


def fill_objective(*, tokenizer: Tokenizer) -> FillObjective:
    """English texts of all kinds."""
    texts = [
        [BEGIN_ID, *encode(tokenizer=tokenizer, text=draw_english(stream(index=index, purpose="fill"))), END_ID]
        for index in range(EXAMPLES)
    ]
    return FillObjective(texts)


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
    return GenerationObjective(fill_objective(tokenizer=tokenizer).texts)


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
    reviews = [draw_review(stream(index=index, purpose="sentiment")) for index in range(EXAMPLES // 4)]
    return SentimentObjective(
        texts=[[BEGIN_ID, *encode(tokenizer=tokenizer, text=r.text.english), END_ID] for r in reviews],
        positive=[int(review.positive) for review in reviews],
    )


@dataclass(frozen=True, slots=True)
class AnswerExample:
    """A query and a document as one sequence, with the span of the answer."""

    ids: Ids
    start: int
    end: int
    """Last token of the span, inclusive."""


def answer_example(*, tokenizer: Tokenizer, query: str, document: str, answer: str) -> AnswerExample:
    """Begin, query, end, document, end, as RoBERTa and DistilBERT pair texts.

    Raises:
        ValueError: the answer is not a span of the document.
    """
    encoded = tokenizer.encode(document, add_special_tokens=False)
    place = document.index(answer)
    inside = [i for i, (start, end) in enumerate(encoded.offsets) if start >= place and end <= place + len(answer)]
    head = [BEGIN_ID, *encode(tokenizer=tokenizer, text=query), END_ID]
    return AnswerExample([*head, *encoded.ids, END_ID], len(head) + inside[0], len(head) + inside[-1])


@dataclass(frozen=True, slots=True)
class AnswerObjective:
    """Find the first and the last token of the answer."""

    examples: Sequence[AnswerExample] = field(repr=False)
    batch: int = 32

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        rows = [self.examples[i] for i in rng.integers(len(self.examples), size=self.batch)]
        tokens = padded([row.ids for row in rows])
        found = model(input_ids=tokens, attention_mask=(tokens != PAD_ID).long())
        starts, ends = (torch.tensor(values) for values in zip(*((r.start, r.end) for r in rows), strict=True))
        return F.cross_entropy(found.start_logits, starts) + F.cross_entropy(found.end_logits, ends)


def answer_objective(*, tokenizer: Tokenizer) -> AnswerObjective:
    """Stories with questions."""
    examples = []
    for index in range(EXAMPLES):
        rng = stream(index=index, purpose="answer")
        document = draw_document(rng)
        question = draw_document_question(document=document, rng=rng).question
        examples.append(
            answer_example(
                tokenizer=tokenizer,
                query=question.text,
                document=document.text.english,
                answer=question.answer.english,
            )
        )
    return AnswerObjective(examples)
