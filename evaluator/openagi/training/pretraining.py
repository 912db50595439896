"""Pretraining of `lilliput-planner`: from random weights to a folder."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from evaluator.core.canonical_json import JsonValue
from evaluator.openagi.training.model import new_model
from evaluator.openagi.training.supervised import PretrainingObjective
from evaluator.openagi.training.tokens import planner_tokenizer
from evaluator.planners.language_models.local.network import Network
from evaluator.training.checkpoints import checkpoint_of, write_record
from evaluator.training.export import export_transformers
from evaluator.training.loop import Progress, Schedule, fit
from evaluator.training.runs import begin
from evaluator.training.special_tokens import fast_tokenizer, write_tokenizer

STEPS = 3000
LEARNING_RATE = 2e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Pretraining:
    """How to pretrain, and where to."""

    out: Path
    steps: int = STEPS
    seed: int = 0
    resume: bool = False
    stop_after: int | None = None


def pretrain(order: Pretraining, *, report: Callable[[Progress], None] | None = None) -> Path | None:
    """Pretrain the planner and return its folder, or None if it stopped before the end.

    The checkpoint lies beside the folder.

    Raises:
        SettingsError: the checkpoint is of another run.
    """
    begin(checkpoint=checkpoint_of(order.out), settings=_record(order), resume=order.resume)
    model = new_model(seed=order.seed)
    network = Network(module=model, tokenizer=fast_tokenizer(planner_tokenizer()))
    reached = fit(
        model=model,
        objective=PretrainingObjective(network),
        schedule=Schedule(steps=order.steps, learning_rate=LEARNING_RATE, seed=order.seed, checkpoint_every=100),
        checkpoint=checkpoint_of(order.out),
        resume=order.resume,
        stop_after=order.stop_after,
        report=report,
    )
    if reached < order.steps:
        return None
    export_transformers(model.eval(), order.out)
    write_tokenizer(tokenizer=planner_tokenizer(), folder=order.out)
    write_record(folder=order.out, record=_record(order))
    return order.out


def _record(order: Pretraining) -> dict[str, JsonValue]:
    return {
        "kind": "pretrain",
        "steps": order.steps,
        "seed": order.seed,
        "learning_rate": LEARNING_RATE,
        "torch": torch.__version__,
    }
