"""Learning to write given answers: what pretraining and fine-tuning have in common."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch.nn.functional as F
from torch import Tensor, nn

from evaluator.openagi.training.corpus.paraphrases import Lesson, constrained_lesson, few_shot_lesson, zero_shot_lesson
from evaluator.planners.language_models.local.network import Network
from evaluator.planners.language_models.local.scoring import completion_logits

_IGNORED = -100
MOST_SHOWN = 5
"""Demonstrations in one prompt of the pretraining."""
CONSTRAINED, FEW_SHOT, ZERO_SHOT = 0.65, 0.2, 0.15
"""Shares of the batches of pretraining."""


def lesson_loss(*, network: Network, lessons: Sequence[Lesson]) -> Tensor:
    """Mean cross-entropy of the answers' tokens, their ends included: a scalar.

    Raises:
        PromptError: the model's template refuses a prompt.
    """
    prompts = [network.prompt(lesson.messages) for lesson in lessons]
    answers = [
        (*network.continuation(lesson.answer, prompt=prompt), network.ends[0])
        for lesson, prompt in zip(lessons, prompts, strict=True)
    ]
    logits = completion_logits(network=network, prompts=[prompt.ids for prompt in prompts], completions=answers)
    ids, mask = network.padded(answers, left=False)
    targets = ids.masked_fill(mask == 0, _IGNORED).flatten()
    return F.cross_entropy(logits[:, : ids.shape[1]].flatten(0, 1), targets, ignore_index=_IGNORED)


@dataclass(frozen=True, slots=True)
class PretrainingObjective:
    """Write what annotators write, in every form in which the strategies ask for it."""

    network: Network
    batch: int = 40
    """Of short prompts; batches of long ones are a fifth of it."""

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:  # noqa: ARG002 - it is the network's
        return lesson_loss(network=self.network, lessons=self._lessons(rng))

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

    network: Network
    lessons: Sequence[Lesson]
    batch: int = 8

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:  # noqa: ARG002 - it is the network's
        chosen = [self.lessons[int(row)] for row in rng.permutation(len(self.lessons))[: self.batch]]
        return lesson_loss(network=self.network, lessons=chosen)
