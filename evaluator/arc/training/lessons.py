"""What a step of the writer's training learns: a few exchanges of nearly one length, each in a row of its own.

Such rows need no mask, and no exchange is cut, which together is twice as fast as long rows of several.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from evaluator.training.causal.lessons import Lessons

TOKENS = 1536
"""Of a step, about."""
LONGEST = 768
"""Tokens of a row. Of a longer exchange the beginning is left out."""
_NEAR = 0.02
"""Share of all exchanges, by their length, that the rows of a step are drawn from."""


@dataclass(frozen=True)
class WriterObjective:
    """Write programs: mean cross-entropy of the exchanges' tokens, weighted."""

    lessons: Lessons

    @cached_property
    def _by_length(self) -> npt.NDArray[np.int64]:
        return np.argsort(np.diff(self.lessons.ends, prepend=0), kind="stable")

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        """The loss on a few rows, a scalar."""
        rows = [self._exchange(one) for one in self._drawn(rng)]
        width = max(len(ids) for ids, _ in rows)
        ids = torch.from_numpy(np.stack([np.pad(ids, (0, width - len(ids))) for ids, _ in rows]))
        weights = torch.from_numpy(np.stack([np.pad(own, (0, width - len(own))) for _, own in rows]))[:, 1:].flatten()
        # What is behind a row's end has no weight, and no token looks ahead.
        logits = model(input_ids=ids, use_cache=False).logits[:, :-1]
        losses = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
        return (losses * weights).sum() / weights.sum()

    def _drawn(self, rng: np.random.Generator) -> list[int]:
        """Exchanges of nearly one length, as many as the step has tokens for."""
        count = len(self._by_length)
        place = int(rng.integers(count))
        length = min(LONGEST, len(self._exchange(int(self._by_length[place]))[0]))
        reach = int(count * _NEAR)
        low, high = max(0, place - reach), min(count, place + reach + 1)
        others = rng.integers(low, high, size=max(0, TOKENS // length - 1))
        return [int(self._by_length[one]) for one in (place, *others)]

    def _exchange(self, number: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        first, last = (int(self.lessons.ends[number - 1]) if number else 0), int(self.lessons.ends[number])
        own = slice(max(first, last - LONGEST), last)
        return self.lessons.ids[own], self.lessons.weights[own]
