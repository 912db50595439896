"""Prompts and replies as numbers, in batches of similar length."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import T5ForConditionalGeneration

from evaluator.training.planners.decomposition.lessons import padded
from evaluator.training.planners.lumos.conversations import Exchange

LONGEST = 640
"""Tokens of a prompt; longer ones are left out of the training."""
TOKENS = 3000
"""Of the prompts of a batch, padded."""
MOST = 48
"""Lessons of a batch."""
_IGNORED = -100


@dataclass(frozen=True, slots=True)
class Lesson:
    """A prompt and its reply as numbers of tokens, ends included."""

    read: Sequence[int]
    written: Sequence[int]


def lessons_of(exchanges: Sequence[Exchange], *, tokenizer: Tokenizer) -> list[Lesson]:
    """The exchanges as numbers, without those whose prompt is too long."""
    prompts = tokenizer.encode_batch([one.prompt for one in exchanges])
    replies = tokenizer.encode_batch([one.reply for one in exchanges])
    lessons = [Lesson(prompt.ids, reply.ids) for prompt, reply in zip(prompts, replies, strict=True)]
    return [lesson for lesson in lessons if len(lesson.read) <= LONGEST]


def batches_of(lessons: Sequence[Lesson], *, seed: int) -> list[list[Lesson]]:
    """Lessons of similar length together; which of equal length is drawn from the seed."""
    order = np.random.default_rng([7, seed]).permutation(len(lessons))
    batches: list[list[Lesson]] = []
    for place in sorted(order.tolist(), key=lambda one: len(lessons[one].read) // 8):
        lesson = lessons[place]
        longest = max((len(one.read) for one in batches[-1]), default=0) if batches else 0
        size = len(batches[-1]) + 1 if batches else 1
        if not batches or size > MOST or size * max(longest, len(lesson.read)) > TOKENS:
            batches.append([])
        batches[-1].append(lesson)
    return batches


@dataclass(frozen=True, slots=True)
class LumosObjective:
    """Write the replies of a batch: mean cross-entropy of their tokens."""

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


def digest_of(path: Path) -> str:
    """SHA-256 of a file."""
    import hashlib

    return hashlib.sha256(path.read_bytes()).hexdigest()
