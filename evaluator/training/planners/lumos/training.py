"""Training one module or baseline: from random weights to a folder that a strategy can name as `dir:FOLDER`."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import T5Config, T5ForConditionalGeneration

from evaluator.canonical_json import JsonValue
from evaluator.training.export import export_transformers
from evaluator.training.loop import Progress, Schedule, fit
from evaluator.training.planners.checkpoints import write_record
from evaluator.training.planners.finetuning import checkpoint_of
from evaluator.training.planners.lumos.conversations import read_exchanges
from evaluator.training.planners.lumos.lessons import LumosObjective, batches_of, digest_of, lessons_of
from evaluator.training.planners.lumos.tokens import lumos_tokenizer
from evaluator.training.planners.model import calm, write_tokenizer
from evaluator.training.planners.runs import ChoiceError, begin
from evaluator.training.planners.tokens import END_ID, PAD_ID

STEPS = 2500
LEARNING_RATE = 7e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The size of a network."""

    width: int = 128
    feed_forward: int = 384
    layers: int = 2
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
    exchanges = list(read_exchanges(order.data, datasets=order.datasets, without=order.without))
    if not exchanges:
        raise ChoiceError(f"{order.data} has no conversation of {', '.join(order.datasets) or 'any data set'}")
    tokenizer = lumos_tokenizer(exchanges)
    model = new_module(vocabulary=tokenizer.get_vocab_size(), shape=order.shape, seed=order.seed)
    lessons = lessons_of(exchanges, tokenizer=tokenizer)
    reached = fit(
        model=model,
        objective=LumosObjective(batches_of(lessons, seed=order.seed)),
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


def new_module(*, vocabulary: int, shape: Shape, seed: int) -> T5ForConditionalGeneration:
    """A T5 with random weights: 1.4 million parameters in the default shape."""
    torch.manual_seed(seed)
    model = T5ForConditionalGeneration(
        T5Config(
            vocab_size=vocabulary, d_model=shape.width, d_kv=shape.width // shape.heads, d_ff=shape.feed_forward,
            num_layers=shape.layers, num_decoder_layers=shape.layers, num_heads=shape.heads, dropout_rate=0.0,
            relative_attention_num_buckets=32, relative_attention_max_distance=256, pad_token_id=PAD_ID,
            eos_token_id=END_ID, decoder_start_token_id=PAD_ID,
        )
    )  # fmt: skip
    calm(model)
    return model


def _record(order: Order) -> dict[str, JsonValue]:
    return {
        "kind": "lumos",
        "data": order.data.name,
        "data_sha256": digest_of(order.data),
        "datasets": list(order.datasets),
        "without": list(order.without),
        "steps": order.steps,
        "seed": order.seed,
        "shape": [order.shape.width, order.shape.feed_forward, order.shape.layers, order.shape.heads],
        "learning_rate": LEARNING_RATE,
        "torch": torch.__version__,
    }
