"""Objective of the extractive question answerer."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import DistilBertForQuestionAnswering

from evaluator.miniature.grammar.documents import Document, DocumentQuestion, draw_document, draw_document_question
from evaluator.studies.experts.data.corpus import stream
from evaluator.studies.experts.data.tokenizers import BEGIN_ID, END_ID, PAD_ID, encode
from evaluator.studies.experts.recipe import EXAMPLES
from evaluator.studies.experts.texts import Ids, padded

_HELP = 1.0
"""Weight of the two helping losses."""


class AnswerModel(nn.Module):
    """The question answerer with the heads it is trained with; only the answerer is kept.

    After the first layer a head tells which words of the document are in the query, after the second which of them
    tell of the event that is asked about. Left to itself a short training finds neither and guesses between events.
    """

    def __init__(self, answerer: DistilBertForQuestionAnswering) -> None:
        super().__init__()
        self.answerer = answerer
        self.shared = nn.Linear(answerer.config.dim, 1)
        self.asked = nn.Linear(answerer.config.dim, 1)


@dataclass(frozen=True, slots=True)
class AnswerExample:
    """A query and a document as one sequence, with the span of the answer."""

    ids: Ids
    start: int
    end: int
    """Last token of the span, inclusive."""
    shared: Ids
    """1 for tokens of the document that are in the query too."""
    asked: Ids
    """1 for tokens that tell of the event that is asked about."""


def answer_example(*, tokenizer: Tokenizer, document: Document, asked: DocumentQuestion) -> AnswerExample:
    """Begin, query, end, document, end, as RoBERTa and DistilBERT pair texts."""
    text, question = document.text.english, asked.question
    encoded = tokenizer.encode(text, add_special_tokens=False)
    query = encode(tokenizer=tokenizer, text=question.text)
    place = text.index(question.answer.english)
    span = _within(encoded.offsets, place, place + len(question.answer.english))
    mentioned = [s.english for s in (asked.event.sentence, asked.event.price_sentence) if s.english in text]
    ranges = [range(text.index(s), text.index(s) + len(s)) for s in mentioned]
    head = [BEGIN_ID, *query, END_ID]
    zeros = [0] * len(head)
    return AnswerExample(
        ids=[*head, *encoded.ids, END_ID],
        start=len(head) + span[0],
        end=len(head) + span[-1],
        shared=[*zeros, *(int(token in query) for token in encoded.ids), 0],
        asked=[*zeros, *(int(any(start in r for r in ranges)) for start, _ in encoded.offsets), 0],
    )


def _within(offsets: Sequence[tuple[int, int]], first: int, last: int) -> list[int]:
    return [i for i, (start, end) in enumerate(offsets) if start >= first and end <= last]


@dataclass(frozen=True, slots=True)
class AnswerObjective:
    """Find the first and the last token of the answer."""

    examples: Sequence[AnswerExample] = field(repr=False)
    batch: int = 32

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        assert isinstance(model, AnswerModel)
        rows = [self.examples[i] for i in rng.integers(len(self.examples), size=self.batch)]
        tokens = padded([row.ids for row in rows])
        read = tokens != PAD_ID
        found = model.answerer(input_ids=tokens, attention_mask=read.long(), output_hidden_states=True)
        starts, ends = (torch.tensor(values) for values in zip(*((r.start, r.end) for r in rows), strict=True))
        loss = F.cross_entropy(found.start_logits, starts) + F.cross_entropy(found.end_logits, ends)
        for head, layer, marks in (
            (model.shared, 1, [row.shared for row in rows]),
            (model.asked, 2, [row.asked for row in rows]),
        ):
            guesses = head(found.hidden_states[layer])[..., 0]
            loss = loss + _HELP * F.binary_cross_entropy_with_logits(guesses[read], padded(marks)[read].float())
        return loss


def answer_objective(*, tokenizer: Tokenizer) -> AnswerObjective:
    """Stories with questions."""
    examples = []
    for index in range(EXAMPLES):
        rng = stream(index=index, purpose="answer")
        document = draw_document(rng)
        asked = draw_document_question(document=document, rng=rng)
        examples.append(answer_example(tokenizer=tokenizer, document=document, asked=asked))
    return AnswerObjective(examples)
