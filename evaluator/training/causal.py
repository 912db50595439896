"""Training small causal networks on conversations: what LUMOS's modules and ARC's writer have in common.

Conversations become rows of tokens: several in a row, none of which sees another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import LlamaConfig, LlamaForCausalLM

from evaluator.scoring.metrics.statistics import DIFFERENCES, Interval, clustered_mean
from evaluator.training.export import END_ID, PAD_ID

OF_PROMPTS = 0.2
"""Weight of the tokens of prompts. They repeat names and numbers, which teaches the network to look them up."""


class DataError(ValueError):
    """A file is not training data; the message names the file, the line and what would be right."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One reply with everything before it."""

    prompt: str
    reply: str
    of_prompt: float = OF_PROMPTS
    """Weight of the tokens of its prompt."""


ROW, ROWS = 768, 2
"""Tokens of a row, and rows of a step."""
_AT_ONCE = 2000
"""Conversations."""

Row = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32], npt.NDArray[np.int64]]
"""Tokens, their weights, and their positions in their conversations; each [ROW]."""


@dataclass(frozen=True, slots=True)
class Lessons:
    """All conversations, one after the other."""

    ids: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float32]
    """Of each token as what is to be written."""
    ends: npt.NDArray[np.int64]
    """Where each conversation ends."""
    chances: npt.NDArray[np.float64]
    """Of the conversations up to each, to be drawn."""

    def row(self, rng: np.random.Generator) -> Row:
        """Conversations until the row is full. The last is cut."""
        ids, weights = np.zeros(ROW, np.int64), np.zeros(ROW, np.float32)
        positions = np.zeros(ROW, np.int64)
        filled = 0
        while filled < ROW:
            one = int(np.searchsorted(self.chances, rng.random()))
            first, last = (int(self.ends[one - 1]) if one else 0), int(self.ends[one])
            taken = min(last - first, ROW - filled)
            # Of one that is longer than a row, the end is learnt as often as the beginning.
            skipped = last - first - taken if not filled and rng.random() < 0.5 else 0
            source, target = slice(first + skipped, first + skipped + taken), slice(filled, filled + taken)
            ids[target], weights[target] = self.ids[source], self.weights[source]
            positions[target] = np.arange(skipped, skipped + taken)
            filled += taken
        return ids, weights, positions


def lessons_of(
    conversations: Sequence[Sequence[Exchange]], *, tokenizer: Tokenizer, is_short_likelier: bool = True
) -> Lessons:
    """The conversations as tokens; each reply ends with the token of the end.

    Args:
        conversations: replies with their prompts.
        tokenizer: the network's.
        is_short_likelier: a conversation's chance falls with its length, so that the long ones, which quote page after
            page, do not crowd out the others; else all have the same.
    """
    # Encodings take ten times the memory of their tokens, so few are held at once.
    chunks = [
        _encoded(conversations[start : start + _AT_ONCE], tokenizer=tokenizer)
        for start in range(0, len(conversations), _AT_ONCE)
    ]
    ids, weights, lengths = (np.concatenate(part) for part in zip(*chunks, strict=True))
    shares = 1.0 / lengths if is_short_likelier else np.ones(len(lengths))
    chances = np.cumsum(shares / shares.sum())
    chances[-1] = 1.0
    return Lessons(ids=ids, weights=weights, ends=np.cumsum(lengths), chances=chances)


def _encoded(
    conversations: Sequence[Sequence[Exchange]], *, tokenizer: Tokenizer
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Tokens and weights of conversations one after the other, and their lengths."""
    texts = [text for conversation in conversations for text, _, _ in _parts(conversation)]
    encoded = iter(tokenizer.encode_batch(texts, add_special_tokens=False))
    ids: list[int] = []
    weights: list[float] = []
    lengths = []
    for conversation in conversations:
        before = len(ids)
        for _, is_reply, weight in _parts(conversation):
            part = [*next(encoded).ids, *([END_ID] if is_reply else [])]
            ids += part
            weights += [weight] * len(part)
        lengths.append(len(ids) - before)
    return np.asarray(ids, np.int64), np.asarray(weights, np.float32), np.asarray(lengths, np.int64)


def _parts(conversation: Sequence[Exchange]) -> list[tuple[str, bool, float]]:
    """What each prompt adds to the exchange before it, and each reply, with their weights."""
    parts: list[tuple[str, bool, float]] = []
    before = ""
    for exchange in conversation:
        parts += [(exchange.prompt.removeprefix(before), False, exchange.of_prompt), (exchange.reply, True, 1.0)]
        before = exchange.prompt + exchange.reply
    return parts


@dataclass(frozen=True, slots=True)
class ConversationsObjective:
    """Write conversations: mean cross-entropy of their tokens, weighted."""

    lessons: Lessons

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        """The loss on a few rows, a scalar."""
        ids, weights, positions = (
            torch.from_numpy(np.stack(part)) for part in zip(*(self.lessons.row(rng) for _ in range(ROWS)), strict=True)
        )
        # From positions that begin again, the model tells conversations apart.
        logits = model(input_ids=ids, position_ids=positions, use_cache=False).logits[:, :-1]
        # The first token of a conversation follows from nothing.
        weights = torch.where(positions[:, 1:] == positions[:, :-1] + 1, weights[:, 1:], 0.0).flatten()
        losses = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
        return (losses * weights).sum() / weights.sum()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The size of a network."""

    width: int = 128
    feed_forward: int = 384
    layers: int = 4
    heads: int = 4


def new_network(*, vocabulary: int, shape: Shape, seed: int) -> LlamaForCausalLM:
    """A Llama with random weights: 1.1 million parameters in the default shape."""
    torch.manual_seed(seed)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=vocabulary, hidden_size=shape.width, intermediate_size=shape.feed_forward,
            num_hidden_layers=shape.layers, num_attention_heads=shape.heads, max_position_embeddings=4096,
            tie_word_embeddings=True, attention_dropout=0.0, pad_token_id=PAD_ID, bos_token_id=None,
            eos_token_id=END_ID,
        )
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A variant's scores with one seed."""

    variant: str
    seed: int
    scores: Mapping[str, float]
    """By task."""


def differences(measured: Sequence[Measured], *, pairs: Sequence[tuple[str, str]]) -> list[tuple[str, Interval]]:
    """The mean of paired differences, over the tasks and seeds that both variants have."""
    found = []
    for better, worse in pairs:
        by_task = paired(measured, first=better, second=worse)
        if by_task:
            values = [[one - other for one, other in by_task[task]] for task in sorted(by_task)]
            found.append((f"{better} - {worse}", clustered_mean(values, bounds=DIFFERENCES)))
    return found


def paired(measured: Sequence[Measured], *, first: str, second: str) -> dict[str, list[tuple[float, float]]]:
    """The scores of two variants by task, a pair for each seed that both have."""
    by_task: dict[str, list[tuple[float, float]]] = {}
    others = {one.seed: one.scores for one in measured if one.variant == second}
    for one in measured:
        if one.variant == first and one.seed in others:
            for task in set(one.scores) & set(others[one.seed]):
                by_task.setdefault(task, []).append((one.scores[task], others[one.seed][task]))
    return by_task


def in_words(one: Interval, *, signed: bool = False) -> str:
    """A mean with its interval."""
    form = "+.3f" if signed else ".3f"
    return f"{one.mean:{form}}" + ("" if one.ends is None else f" ({one.in_words(form=form)})")


def by_seed(scores: Sequence[Mapping[str, float]]) -> str:
    """The mean of each seed."""
    return ", ".join(f"{sum(one.values()) / len(one):.3f}" for one in scores)
