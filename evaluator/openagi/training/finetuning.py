"""Fine-tuning on the gold plans of the training tasks (OpenAGI, section 6.2)."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from evaluator.core.canonical_json import JsonValue
from evaluator.core.suites.base import Suite
from evaluator.execution.experts.weights import weights_digest
from evaluator.openagi.training.lessons import gold_lessons
from evaluator.planners.language_models.local.network import Network
from evaluator.planners.language_models.local.scoring import completion_logits
from evaluator.training.export import checkpoint_of, load_planner, write_planner
from evaluator.training.lessons import Lesson
from evaluator.training.loop import Progress, Schedule, fit
from evaluator.training.lora import LoraSettings, adapt
from evaluator.training.runs import begin

_IGNORED = -100


def lesson_loss(*, network: Network, lessons: Sequence[Lesson]) -> Tensor:
    """Mean cross-entropy of the answers' tokens, including their ends: a scalar.

    Raises:
        PromptError: the model's template rejects a prompt.
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
class LessonsObjective:
    """The loss of a random batch of lessons."""

    network: Network
    lessons: Sequence[Lesson]
    batch: int = 8

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:  # noqa: ARG002 - it is the network's
        chosen = [self.lessons[int(row)] for row in rng.permutation(len(self.lessons))[: self.batch]]
        return lesson_loss(network=self.network, lessons=chosen)


WEIGHT_DECAY = 0.01
FINE_TUNING_STEPS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class FineTuning:
    """Settings of a fine-tuning run."""

    model: Path
    out: Path
    suite: Suite
    tasks: tuple[str, ...]
    """Keys of the training tasks."""
    seed: int = 0
    steps: int = FINE_TUNING_STEPS
    learning_rate: float = 1e-3
    batch: int = 8
    """Lessons per step. A task with one input is one lesson, a task with two inputs is four."""
    lora: LoraSettings | None = None
    device: str = "cpu"
    resume: bool = False
    stop_after: int | None = None


def fine_tune(order: FineTuning, *, report: Callable[[Progress], None] | None = None) -> Path | None:
    """Fine-tune a model and return its folder, or None if it stopped before the end.

    The checkpoint is beside the folder, as `OUT.checkpoint.safetensors`.

    Raises:
        ModelError: the folder has no model.
        NoLessonsError: a training task has no usable gold plan.
        LoraError: low-rank adaptation is not available.
        SettingsError: the checkpoint belongs to another run.
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
