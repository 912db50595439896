"""The corpus as numbers: distinct requests, in batches of similar length."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
import torch
from torch import Tensor, nn
from transformers import T5ForConditionalGeneration

from evaluator.controlllm.strategies.trained.encoding import Encoding
from evaluator.controlllm.strategies.trained.linear import linear_tokens
from evaluator.controlllm.training.corpus import pair_of
from evaluator.controlllm.training.drafting import Pair

_IGNORED = -100
TOKENS = 1200
"""Of the requests of a batch, padded."""
HELD_OUT = 1
"""Seed of the pairs that are only for measuring."""


def distinct_pairs(*, size: int, seed: int = 0, without: frozenset[str] = frozenset()) -> Iterator[Pair]:
    """Pairs whose requests all differ in more than the names of files.

    Args:
        size: how many.
        seed: of the corpus.
        without: `wording` of requests to leave out.
    """
    seen = set(without)
    numbers = count()
    while size:
        pair = pair_of(next(numbers), seed=seed)
        said = wording(pair)
        if said not in seen:
            seen.add(said)
            size -= 1
            yield pair


def wording(pair: Pair) -> str:
    """A request as it is read, with slots in the place of files."""
    return " ".join(piece.text for piece in pair.reading.pieces)


@dataclass(frozen=True, slots=True)
class Lesson:
    """A request and its decomposition as numbers of tokens."""

    read: Sequence[int]
    written: Sequence[int]


def lessons_of(pairs: Sequence[Pair], *, encoding: Encoding) -> list[Lesson]:
    """The pairs as numbers."""
    return [
        Lesson(read=encoding.read(pair.reading), written=encoding.written(linear_tokens(pair.subtasks)))
        for pair in pairs
    ]


def batches_of(lessons: Sequence[Lesson], *, tokens: int = TOKENS) -> list[list[Lesson]]:
    """Lessons of similar length together, as many as have `tokens` when padded.

    Nothing but the length of the request decides: in batches of equal beginnings or answers, gradients point to what is
    common to a batch, and the network learns hardly anything (600 steps taught it no kind of subtask).
    """
    batches: list[list[Lesson]] = []
    for lesson in sorted(lessons, key=lambda one: len(one.read)):
        if not batches or (len(batches[-1]) + 1) * len(lesson.read) > tokens:
            batches.append([])
        batches[-1].append(lesson)
    return batches


@dataclass(frozen=True, slots=True)
class DecompositionObjective:
    """Write the decompositions of a batch: mean cross-entropy of their tokens."""

    batches: Sequence[Sequence[Lesson]]

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        """The loss on one batch, a scalar, computed in bfloat16 where that is exact enough."""
        assert isinstance(model, T5ForConditionalGeneration)
        batch = self.batches[int(rng.integers(len(self.batches)))]
        read = padded([lesson.read for lesson in batch], value=model.config.pad_token_id)
        written = padded([lesson.written for lesson in batch], value=_IGNORED)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = model(input_ids=read, attention_mask=(read != model.config.pad_token_id).long(), labels=written)
        found: Tensor = out.loss
        return found.float()


def padded(rows: Sequence[Sequence[int]], *, value: int) -> Tensor:
    """Rows of one length, [rows, longest]."""
    longest = max(len(row) for row in rows)
    return torch.tensor([[*row, *[value] * (longest - len(row))] for row in rows])
