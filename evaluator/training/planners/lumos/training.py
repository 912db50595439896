"""Training one module or baseline: from random weights to a folder that a strategy can name as `dir:FOLDER`."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from evaluator.canonical_json import JsonValue
from evaluator.training.export import export_transformers
from evaluator.training.loop import Progress, Schedule, fit
from evaluator.training.planners.checkpoints import write_record
from evaluator.training.planners.finetuning import checkpoint_of
from evaluator.training.planners.lumos.conversations import read_conversations
from evaluator.training.planners.lumos.lessons import LumosObjective, rows_of
from evaluator.training.planners.lumos.tokens import lumos_tokenizer
from evaluator.training.planners.model import write_tokenizer
from evaluator.training.planners.runs import ChoiceError, begin
from evaluator.training.planners.tokens import END_ID, PAD_ID

STEPS = 2500
LEARNING_RATE = 2e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The size of a network."""

    width: int = 128
    feed_forward: int = 384
    layers: int = 4
    heads: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to train, and where to."""

    data: Path
    """A file of conversations."""
    out: Path
    steps: int = STEPS
    seed: int = 0
    datasets: tuple[str, ...] = ()
    """Learn only from conversations of these; none: from all."""
    without: tuple[str, ...] = ()
    """Learn from no conversation of these."""
    shape: Shape = Shape()
    resume: bool = False
    stop_after: int | None = None


def train_module(order: Order, *, report: Callable[[Progress], None] | None = None) -> Path | None:
    """Train a module and return its folder, or None if it stopped before the end. The checkpoint lies beside it.

    Raises:
        DataError: the data cannot be read.
        ChoiceError: no conversation is left to learn from.
        SettingsError: the checkpoint is of another run.
    """
    begin(checkpoint=checkpoint_of(order.out), settings=_record(order), resume=order.resume)
    conversations = list(read_conversations(order.data, datasets=order.datasets, without=order.without))
    if not conversations:
        raise ChoiceError(f"{order.data} has no conversation of {', '.join(order.datasets) or 'any data set'}")
    tokenizer = lumos_tokenizer([exchange for one in conversations for exchange in one])
    model = new_module(vocabulary=tokenizer.get_vocab_size(), shape=order.shape, seed=order.seed)
    reached = fit(
        model=model,
        objective=LumosObjective(rows_of(conversations, tokenizer=tokenizer, seed=order.seed)),
        schedule=Schedule(steps=order.steps, learning_rate=LEARNING_RATE, seed=order.seed, checkpoint_every=100),
        checkpoint=checkpoint_of(order.out),
        resume=order.resume,
        stop_after=order.stop_after,
        report=report,
    )
    if reached < order.steps:
        return None
    export_transformers(model.eval(), order.out)
    write_tokenizer(tokenizer=tokenizer, folder=order.out)
    write_record(folder=order.out, record=_record(order))
    return order.out


def new_module(*, vocabulary: int, shape: Shape, seed: int) -> LlamaForCausalLM:
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


def _record(order: Order) -> dict[str, JsonValue]:
    return {
        "kind": "lumos",
        "data": order.data.name,
        "data_sha256": hashlib.sha256(order.data.read_bytes()).hexdigest(),
        "datasets": list(order.datasets),
        "without": list(order.without),
        "steps": order.steps,
        "seed": order.seed,
        "shape": [order.shape.width, order.shape.feed_forward, order.shape.layers, order.shape.heads],
        "learning_rate": LEARNING_RATE,
        "torch": torch.__version__,
    }
