"""Training the writer: one network that reads every view, to a folder that a strategy can name as `dir:FOLDER`."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch

from evaluator.arc.training.conversion import read_lessons
from evaluator.arc.training.lessons import WriterObjective
from evaluator.arc.training.tokens import writer_tokenizer
from evaluator.core.canonical_json import JsonValue
from evaluator.training.causal.lessons import lessons_of
from evaluator.training.causal.networks import Shape, new_network
from evaluator.training.checkpoints import checkpoint_of, write_record
from evaluator.training.export import export_transformers
from evaluator.training.loop import Progress, Schedule, fit
from evaluator.training.runs import ChoiceError, begin
from evaluator.training.special_tokens import write_tokenizer

STEPS = 8_000
LEARNING_RATE = 1.5e-3
_READ = 60_000
"""Lessons that the tokens are learnt from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to train, and where to."""

    data: Path
    """File of lessons."""
    out: Path
    steps: int = STEPS
    learning_rate: float = LEARNING_RATE
    seed: int = 0
    """Of the first weights and of what each step learns."""
    shape: Shape = field(default_factory=Shape)
    resume: bool = False
    stop_after: int | None = None


def train_writer(order: Order, *, report: Callable[[Progress], None] | None = None) -> Path | None:
    """Train a writer and return its folder, or None if it stopped before the end. The checkpoint lies beside it.

    Raises:
        DataError: the data cannot be read.
        ChoiceError: there is no lesson.
        SettingsError: the checkpoint is of another run.
    """
    begin(checkpoint=checkpoint_of(order.out), settings=_record(order), resume=order.resume)
    exchanges = read_lessons(order.data)
    if not exchanges:
        raise ChoiceError(f"{order.data} has no lesson")
    tokenizer = writer_tokenizer(exchanges[:: -(-len(exchanges) // _READ)])
    lessons = lessons_of([(one,) for one in exchanges], tokenizer=tokenizer, is_short_likelier=False)
    model = new_network(vocabulary=tokenizer.get_vocab_size(), shape=order.shape, seed=order.seed)
    reached = fit(
        model=model,
        objective=WriterObjective(lessons),
        schedule=Schedule(
            steps=order.steps, learning_rate=order.learning_rate, seed=order.seed, checkpoint_every=200
        ),
        checkpoint=checkpoint_of(order.out),
        resume=order.resume,
        stop_after=order.stop_after,
        report=report,
    )  # fmt: skip
    if reached < order.steps:
        return None
    export_transformers(model.eval(), order.out)
    write_tokenizer(tokenizer=tokenizer, folder=order.out)
    write_record(folder=order.out, record=_record(order))
    return order.out


def _record(order: Order) -> dict[str, JsonValue]:
    return {
        "kind": "arc-writer",
        "data": hashlib.sha256(order.data.read_bytes()).hexdigest() if order.data.is_file() else "",
        "steps": order.steps,
        "seed": order.seed,
        "shape": [order.shape.width, order.shape.feed_forward, order.shape.layers, order.shape.heads],
        "learning_rate": order.learning_rate,
        "torch": torch.__version__,
    }
