"""Training small causal networks on conversations, for LUMOS's modules and ARC's writer.

Conversations are packed into rows of tokens, without attention between them.
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
"""Weight of the tokens of prompts. They repeat names and numbers, which teaches the network to copy."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A reply with everything before it."""

    prompt: str
    reply: str
    of_prompt: float = OF_PROMPTS
    """Weight of the tokens of its prompt."""


ROW, ROWS = 768, 2
"""Tokens of a row, and rows of a step."""
_AT_ONCE = 2000
"""Conversations that are encoded together."""

Row = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32], npt.NDArray[np.int64]]
"""Tokens, their weights, and their positions in their conversations; each [ROW]."""


@dataclass(frozen=True, slots=True)
class Lessons:
    """All conversations, concatenated."""

    ids: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float32]
    """Weight of each token as a target."""
    ends: npt.NDArray[np.int64]
    """End of each conversation."""
    chances: npt.NDArray[np.float64]
    """Cumulative probabilities of drawing a conversation."""

    def row(self, rng: np.random.Generator) -> Row:
        """Draw conversations until the row is full, and truncate the last."""
        ids, weights = np.zeros(ROW, np.int64), np.zeros(ROW, np.float32)
        positions = np.zeros(ROW, np.int64)
        filled = 0
        while filled < ROW:
            index = int(np.searchsorted(self.chances, rng.random()))
            first, last = (int(self.ends[index - 1]) if index else 0), int(self.ends[index])
            taken = min(last - first, ROW - filled)
            # Conversations longer than a row contribute their beginning or their end with equal probability.
            skipped = last - first - taken if not filled and rng.random() < 0.5 else 0
            source, target = slice(first + skipped, first + skipped + taken), slice(filled, filled + taken)
            ids[target], weights[target] = self.ids[source], self.weights[source]
            positions[target] = np.arange(skipped, skipped + taken)
            filled += taken
        return ids, weights, positions


def lessons_of(
    conversations: Sequence[Sequence[Exchange]], *, tokenizer: Tokenizer, is_short_likelier: bool = True
) -> Lessons:
    """Encode conversations. Each reply is followed by the end token.

    Args:
        conversations: replies with their prompts.
        tokenizer: the network's tokenizer.
        is_short_likelier: whether the probability of a conversation is inversely proportional to its length, so that
            long ones, which quote many pages, do not dominate; otherwise it is uniform.
    """
    # Encodings take ten times the memory of their tokens, so they are processed in chunks.
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
    """Tokens and weights of conversations, concatenated, and their lengths."""
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
    """The part of each prompt that follows the previous exchange, and each reply, with their weights."""
    parts: list[tuple[str, bool, float]] = []
    before = ""
    for exchange in conversation:
        parts += [(exchange.prompt.removeprefix(before), False, exchange.of_prompt), (exchange.reply, True, 1.0)]
        before = exchange.prompt + exchange.reply
    return parts


@dataclass(frozen=True, slots=True)
class ConversationsObjective:
    """Weighted mean cross-entropy of the conversations' tokens."""

    lessons: Lessons

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        """The loss on a batch, a scalar."""
        ids, weights, positions = (
            torch.from_numpy(np.stack(part)) for part in zip(*(self.lessons.row(rng) for _ in range(ROWS)), strict=True)
        )
        # The model separates conversations where positions restart.
        logits = model(input_ids=ids, position_ids=positions, use_cache=False).logits[:, :-1]
        # The first token of a conversation is not a target.
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
    means = []
    for better, worse in pairs:
        by_task = paired(measured, first=better, second=worse)
        if by_task:
            values = [[first - second for first, second in by_task[task]] for task in sorted(by_task)]
            means.append((f"{better} - {worse}", clustered_mean(values, bounds=DIFFERENCES)))
    return means


def paired(measured: Sequence[Measured], *, first: str, second: str) -> dict[str, list[tuple[float, float]]]:
    """The scores of two variants by task, a pair for each common seed."""
    by_task: dict[str, list[tuple[float, float]]] = {}
    others = {result.seed: result.scores for result in measured if result.variant == second}
    for result in measured:
        if result.variant == first and result.seed in others:
            for task in set(result.scores) & set(others[result.seed]):
                by_task.setdefault(task, []).append((result.scores[task], others[result.seed][task]))
    return by_task


def in_words(interval: Interval, *, signed: bool = False) -> str:
    """A mean with its interval."""
    form = "+.3f" if signed else ".3f"
    return f"{interval.mean:{form}}" + ("" if interval.ends is None else f" ({interval.in_words(form=form)})")


def by_seed(scores: Sequence[Mapping[str, float]]) -> str:
    """The mean of each seed."""
    return ", ".join(f"{sum(tasks.values()) / len(tasks):.3f}" for tasks in scores)
