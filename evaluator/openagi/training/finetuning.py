"""Fine-tuning on the gold plans of the training tasks (OpenAGI, section 6.2): from a folder to a folder."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from evaluator.core.canonical_json import JsonValue
from evaluator.core.suites.base import Suite
from evaluator.execution.experts.weights import weights_digest
from evaluator.openagi.training.lessons import gold_lessons
from evaluator.openagi.training.lora import LoraSettings, adapt
from evaluator.openagi.training.supervised import LessonsObjective
from evaluator.training.checkpoints import checkpoint_of, load_planner, write_planner
from evaluator.training.loop import Progress, Schedule, fit
from evaluator.training.runs import begin

WEIGHT_DECAY = 0.01
FINE_TUNING_STEPS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class FineTuning:
    """What to fine-tune and how."""

    model: Path
    out: Path
    suite: Suite
    tasks: tuple[str, ...]
    """Keys of the training tasks."""
    seed: int = 0
    steps: int = FINE_TUNING_STEPS
    learning_rate: float = 1e-3
    batch: int = 8
    """Lessons in a step. A task of one input is one lesson, one of two inputs is four."""
    lora: LoraSettings | None = None
    device: str = "cpu"
    resume: bool = False
    stop_after: int | None = None


def fine_tune(order: FineTuning, *, report: Callable[[Progress], None] | None = None) -> Path | None:
    """Fine-tune a model and return its folder, or None if it stopped before the end.

    The checkpoint lies beside the folder, as `OUT.checkpoint.safetensors`.

    Raises:
        ModelError: the folder holds no model.
        NoLessonsError: a training task has no gold plan to learn from.
        LoraError: low-rank adaptation was asked for and cannot be had.
        SettingsError: the checkpoint is of another run.
    """
    lessons = gold_lessons(suite=order.suite, tasks=order.tasks)
    torch.manual_seed(order.seed)
    model = load_planner(order.model, device=order.device)
    settings = {**_record(order), "from": weights_digest(order.model)}
    begin(checkpoint=checkpoint_of(order.out), settings=settings, resume=order.resume)
    module, merged = model.network.module, None
    if order.lora is not None:
        module, merged = adapt(module, settings=order.lora)
    reached = fit(
        model=module,
        objective=LessonsObjective(network=model.network, lessons=lessons, batch=order.batch),
        schedule=Schedule(
            steps=order.steps, learning_rate=order.learning_rate, seed=order.seed, weight_decay=WEIGHT_DECAY
        ),
        checkpoint=checkpoint_of(order.out),
        resume=order.resume,
        stop_after=order.stop_after,
        report=report,
    )
    if reached < order.steps:
        return None
    module = module if merged is None else merged()
    write_planner(module=module.eval(), source=order.model, folder=order.out, record=_record(order))
    return order.out


def _record(order: FineTuning) -> dict[str, JsonValue]:
    return {
        "kind": "finetune",
        "from": order.model.name,
        "suite": {"slug": order.suite.slug, "digest": order.suite.digest},
        "tasks": list(order.tasks),
        "seed": order.seed,
        "steps": order.steps,
        "learning_rate": order.learning_rate,
        "batch": order.batch,
        "lora": None if order.lora is None else asdict(order.lora),
        "torch": torch.__version__,
    }
