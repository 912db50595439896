"""Learning to write given answers: what pretraining and fine-tuning have in common."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from evaluator.planners.training.paraphrases import Lesson, constrained_lesson, few_shot_lesson, zero_shot_lesson
from evaluator.planners.training.tokens import LONGEST

_IGNORED = -100
_PADDING = 0
Ids = list[int]

MOST_SHOWN = 5
"""Demonstrations in one prompt of the pretraining."""
CONSTRAINED, FEW_SHOT, ZERO_SHOT = 0.65, 0.2, 0.15
"""Shares of the batches of pretraining."""


def encode_prompts(*, tokenizer: Tokenizer, texts: Sequence[str]) -> tuple[Tensor, Tensor]:
    """Prompts with the end token; of too long ones the end is kept, where the request stands.

    Returns:
        Ids filled up on the right and the mask of what is read: int64 (rows, length) both.
    """
    rows = [tokenizer.encode(text).ids[-LONGEST:] for text in texts]
    mask = padded([[1] * len(row) for row in rows], value=0)
    return padded(rows, value=_PADDING), mask


def padded(rows: Sequence[Ids], *, value: int) -> Tensor:
    """Rows filled up on the right to one length: int64 (rows, length)."""
    width = max(len(row) for row in rows)
    return torch.tensor([[*row, *[value] * (width - len(row))] for row in rows])


def loss_of(*, model: nn.Module, tokenizer: Tokenizer, lessons: Sequence[Lesson]) -> Tensor:
    """Mean cross-entropy of the answers' tokens, a scalar."""
    ids, mask = encode_prompts(tokenizer=tokenizer, texts=[lesson.prompt for lesson in lessons])
    labels = padded([tokenizer.encode(lesson.answer).ids for lesson in lessons], value=_IGNORED)
    found: Tensor = model(input_ids=ids, attention_mask=mask, labels=labels).loss
    return found


@dataclass(frozen=True, slots=True)
class PretrainingObjective:
    """Write what annotators write, in every form in which the strategies ask for it."""

    tokenizer: Tokenizer
    batch: int = 40
    """Of short prompts; batches of long ones are a fifth of it."""

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        return loss_of(model=model, tokenizer=self.tokenizer, lessons=self._lessons(rng))

    def _lessons(self, rng: np.random.Generator) -> list[Lesson]:
        kind = rng.choice(3, p=(CONSTRAINED, FEW_SHOT, ZERO_SHOT))
        if kind == 0:
            return [constrained_lesson(rng) for _ in range(self.batch)]
        if kind == 1:
            shown = int(rng.integers(1, MOST_SHOWN + 1))
            return [few_shot_lesson(rng=rng, shown=shown) for _ in range(self.batch // 5)]
        names_tools = bool(rng.random() < 0.5)
        rows = self.batch // 5 if names_tools else self.batch
        return [zero_shot_lesson(rng=rng, names_tools=names_tools) for _ in range(rows)]


@dataclass(frozen=True, slots=True)
class LessonsObjective:
    """Write the answers of a few lessons."""

    tokenizer: Tokenizer
    lessons: Sequence[Lesson]
    batch: int = 8

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        chosen = [self.lessons[int(row)] for row in rng.permutation(len(self.lessons))[: self.batch]]
        return loss_of(model=model, tokenizer=self.tokenizer, lessons=chosen)
