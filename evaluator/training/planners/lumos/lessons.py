"""Conversations as rows of tokens: whole conversations one after the other, so that a step teaches every kind."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor, nn

from evaluator.training.planners.lumos.conversations import Exchange
from evaluator.training.planners.tokens import END_ID

ROW, ROWS = 768, 4
"""Tokens of a row, and rows of a step."""
OF_PROMPTS = 0.2
"""Weight of the tokens of prompts. They repeat names and numbers, which teaches the network to look them up."""


@dataclass(frozen=True, slots=True)
class Rows:
    """All conversations as rows of equal length, both [rows, ROW]."""

    ids: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float32]
    """Of each token as what is to be written."""


def rows_of(conversations: Sequence[Sequence[Exchange]], *, tokenizer: Tokenizer, seed: int) -> Rows:
    """The conversations in an order drawn from the seed; what is longer than a row goes on in the next."""
    ids: list[int] = []
    weights: list[float] = []
    order = np.random.default_rng([7, seed]).permutation(len(conversations))
    encoded = _encoded(conversations, tokenizer=tokenizer)
    for place in order.tolist():
        for part, is_reply in encoded[place]:
            ids += part
            weights += [1.0 if is_reply else OF_PROMPTS] * len(part)
    count = len(ids) // ROW
    shape = (count, ROW)
    return Rows(
        ids=np.asarray(ids[: count * ROW], dtype=np.int64).reshape(shape),
        weights=np.asarray(weights[: count * ROW], dtype=np.float32).reshape(shape),
    )


def _encoded(
    conversations: Sequence[Sequence[Exchange]], *, tokenizer: Tokenizer
) -> list[list[tuple[list[int], bool]]]:
    """The parts of each conversation in turn, and whether they are replies, which end with the token of the end."""
    texts = [text for conversation in conversations for text, _ in _parts(conversation)]
    numbers = iter(tokenizer.encode_batch(texts, add_special_tokens=False))
    return [
        [([*next(numbers).ids, *([END_ID] if is_reply else [])], is_reply) for _, is_reply in _parts(conversation)]
        for conversation in conversations
    ]


def _parts(conversation: Sequence[Exchange]) -> list[tuple[str, bool]]:
    """What each prompt adds to the exchange before it, and each reply."""
    parts: list[tuple[str, bool]] = []
    before = ""
    for exchange in conversation:
        parts += [(exchange.prompt.removeprefix(before), False), (exchange.reply, True)]
        before = exchange.prompt + exchange.reply
    return parts


@dataclass(frozen=True, slots=True)
class LumosObjective:
    """Write conversations: mean cross-entropy of their tokens, weighted."""

    rows: Rows

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        """The loss on a few rows, a scalar, computed in bfloat16 where that is exact enough."""
        chosen = rng.integers(len(self.rows.ids), size=ROWS)
        ids = torch.from_numpy(self.rows.ids[chosen])
        weights = torch.from_numpy(self.rows.weights[chosen])[:, 1:].flatten()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(input_ids=ids).logits[:, :-1]
        losses = F.cross_entropy(logits.float().flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
        return (losses * weights).sum() / weights.sum()
