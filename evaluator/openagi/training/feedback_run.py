"""A run of task feedback: from a folder of a fine-tuned planner to one of the planner that it becomes."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import PlannerRequest, request_for
from evaluator.episodes.execution import ExecutionEvaluator
from evaluator.execution.experts.weights import weights_digest
from evaluator.openagi.strategies.nonlinear import Nonlinear
from evaluator.openagi.training.curves import curve_csv, curve_svg
from evaluator.openagi.training.lora import LoraSettings, adapt
from evaluator.openagi.training.rltf import PENALTY, Point, Schedule, train_by_feedback
from evaluator.rewards import ExecutedRewards
from evaluator.training.checkpoints import checkpoint_of, load_planner, write_planner
from evaluator.training.runs import begin


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackRun:
    """What to train and how."""

    model: Path
    out: Path
    evaluator: ExecutionEvaluator
    """Executes the plans: suite, profile, split, samples."""
    tasks: tuple[str, ...]
    """Keys of the training tasks."""
    data: dict[str, JsonValue]
    """Profile, split and samples, for the record."""
    schedule: Schedule = field(default_factory=Schedule)
    lora: LoraSettings | None = None
    device: str = "cpu"
    resume: bool = False
    stop_after: int | None = None


def train_with_feedback(order: FeedbackRun, *, report: Callable[[Point], None] | None = None) -> Path | None:
    """Train a model by task feedback and return its folder, or None if it stopped before the end.

    The folder gets the curve as `curve.csv` and `curve.svg`. The checkpoint lies beside the folder.

    Raises:
        ModelError: the folder holds no model.
        LoraError: low-rank adaptation was asked for and cannot be had.
        SettingsError: the checkpoint is of another run.
    """
    torch.manual_seed(order.schedule.seed)
    model = load_planner(order.model, device=order.device)
    begin(checkpoint=checkpoint_of(order.out), settings=_settings(order), resume=order.resume)
    module, merged = model.network.module, None
    if order.lora is not None:
        module, merged = adapt(module, settings=order.lora)
        model.network.module = module
    rewards = ExecutedRewards(order.evaluator, fault=PENALTY)
    curve = train_by_feedback(
        model=model,
        strategy=Nonlinear(),
        requests=requests_of(evaluator=order.evaluator, tasks=order.tasks),
        rewards=rewards,
        schedule=order.schedule,
        checkpoint=checkpoint_of(order.out),
        resume=order.resume,
        stop_after=order.stop_after,
        report=report,
    )
    if len(curve) < order.schedule.steps:
        return None
    module = module if merged is None else merged()
    record = _record(order=order, curve=curve, executed=rewards.executed)
    write_planner(module=module.eval(), source=order.model, folder=order.out, record=record)
    write_curve(curve=curve, folder=order.out, title=f"Task feedback, seed {order.schedule.seed}")
    return order.out


def requests_of(*, evaluator: ExecutionEvaluator, tasks: Sequence[str]) -> list[PlannerRequest]:
    """What a planner is asked about tasks."""
    suite, offered = evaluator.suite, frozenset(evaluator.profile.experts)
    found = [suite.task(key) for key in tasks]
    return [request_for(suite=suite, task=task, context=suite.context(task=task, offered=offered)) for task in found]


def write_curve(*, curve: Sequence[Point], folder: Path, title: str) -> None:
    """Write `curve.csv` and `curve.svg`."""
    (folder / "curve.csv").write_text(curve_csv(curve), encoding="utf-8")
    (folder / "curve.svg").write_text(curve_svg(curve, title=title), encoding="utf-8")


def _settings(order: FeedbackRun) -> dict[str, JsonValue]:
    """All that the weights depend on besides the code."""
    settings = {**_common(order), "from": weights_digest(order.model), "profile": order.evaluator.profile.digest}
    schedule = asdict(order.schedule)
    # How often a checkpoint is written changes nothing.
    schedule.pop("checkpoint_every")
    return {**settings, "schedule": schedule}


def _common(order: FeedbackRun) -> dict[str, JsonValue]:
    suite = order.evaluator.suite
    return {
        "kind": "rltf",
        "suite": {"slug": suite.slug, "digest": suite.digest},
        "tasks": list(order.tasks),
        "data": order.data,
        "schedule": asdict(order.schedule),
        "lora": None if order.lora is None else asdict(order.lora),
        "torch": torch.__version__,
    }


def _record(*, order: FeedbackRun, curve: Sequence[Point], executed: int) -> dict[str, JsonValue]:
    return {
        **_common(order),
        "from": order.model.name,
        "plans_executed": executed,
        "reward": {"first": curve[0].reward, "last": curve[-1].reward},
    }
