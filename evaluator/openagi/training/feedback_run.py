"""A run of training by task feedback, from the folder of a fine-tuned planner to the folder of the result."""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields
from html import escape
from pathlib import Path

import torch

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import request_for
from evaluator.episodes.execution import ExecutionEvaluator
from evaluator.execution.experts.weights import weights_digest
from evaluator.openagi.strategies.constrained import Nonlinear
from evaluator.openagi.training.rltf import PENALTY, Point, Schedule, train_by_feedback
from evaluator.rewards import ExecutedRewards
from evaluator.training.export import checkpoint_of, load_planner, write_planner
from evaluator.training.lora import LoraSettings, adapt
from evaluator.training.runs import begin

_WIDTH, _HEIGHT = 640, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 16, 30, 40
_REWARD, _BASELINE, _GRID, _TEXT = "#1b6ca8", "#b3541e", "#d8d8d8", "#333333"
_TICKS = 5


def curve_csv(points: Sequence[Point]) -> str:
    """The curve as CSV, one line per step, with the fields of `Point`."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(Point)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(point) for point in points)
    return text.getvalue()


def curve_svg(points: Sequence[Point], *, title: str) -> str:
    """The curve as SVG: reward and baseline of each step.

    Raises:
        ValueError: there are no points.
    """
    if not points:
        raise ValueError("there is no curve to draw: no step was taken")
    values = [value for point in points for value in (point.reward, point.baseline)]
    margin = 0.05 * (max(values) - min(values)) or 0.05
    low, high = min(values) - margin, max(values) + margin
    last = max(1, points[-1].step)

    def x(step: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * step / last

    def y(value: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - value) / (high - low)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'font-family="sans-serif" font-size="12" fill="{_TEXT}">',
        f"<title>{escape(title, quote=False)}</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_LEFT}" y="18" font-weight="bold">{escape(title, quote=False)}</text>',
        *_grid(low=low, high=high, last=last, x=x, y=y),
        _line([(x(p.step), y(p.reward)) for p in points], colour=_REWARD),
        _line([(x(p.step), y(p.baseline)) for p in points], colour=_BASELINE, dashes="5 3"),
        f'<text x="{_WIDTH - _RIGHT - 90}" y="18" text-anchor="end" fill="{_REWARD}">mean reward</text>',
        f'<text x="{_WIDTH - _RIGHT}" y="18" text-anchor="end" fill="{_BASELINE}">baseline b</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _grid(*, low: float, high: float, last: int, x: Callable[[float], float], y: Callable[[float], float]) -> list[str]:
    lines = []
    for tick in range(_TICKS):
        value, step = low + (high - low) * tick / (_TICKS - 1), last * tick / (_TICKS - 1)
        lines.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="{_GRID}"/>'
        )
        lines.append(f'<text x="{_LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.2f}</text>')
        lines.append(f'<text x="{x(step):.1f}" y="{_HEIGHT - _BOTTOM + 16}" text-anchor="middle">{step:.0f}</text>')
    lines.append(f'<text x="{(_LEFT + _WIDTH) / 2:.0f}" y="{_HEIGHT - 6}" text-anchor="middle">step</text>')
    return lines


def _line(places: Sequence[tuple[float, float]], *, colour: str, dashes: str = "none") -> str:
    written = " ".join(f"{across:.1f},{down:.1f}" for across, down in places)
    return (
        f'<polyline points="{written}" fill="none" stroke="{colour}" stroke-width="1.8" stroke-dasharray="{dashes}"/>'
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackRun:
    """Settings of a run."""

    model: Path
    out: Path
    evaluator: ExecutionEvaluator
    """Executes the plans."""
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

    The folder contains the curve as `curve.csv` and `curve.svg`. The checkpoint is beside the folder.

    Raises:
        ModelError: the folder has no model.
        LoraError: low-rank adaptation is not available.
        SettingsError: the checkpoint belongs to another run.
    """
    suite = order.evaluator.suite
    facts: dict[str, JsonValue] = {
        "kind": "rltf",
        "suite": {"slug": suite.slug, "digest": suite.digest},
        "tasks": list(order.tasks),
        "data": order.data,
        "schedule": asdict(order.schedule),
        "lora": None if order.lora is None else asdict(order.lora),
        "torch": torch.__version__,
    }
    torch.manual_seed(order.schedule.seed)
    model = load_planner(order.model, device=order.device)
    # Everything besides the code that the weights depend on, so without the interval of checkpoints.
    settings: dict[str, JsonValue] = {
        **facts,
        "from": weights_digest(order.model),
        "profile": order.evaluator.profile.digest,
        "schedule": {name: value for name, value in asdict(order.schedule).items() if name != "checkpoint_every"},
    }
    begin(checkpoint=checkpoint_of(order.out), settings=settings, resume=order.resume)
    module, merged = model.network.module, None
    if order.lora is not None:
        module, merged = adapt(module, settings=order.lora)
        model.network.module = module
    rewards = ExecutedRewards(order.evaluator, fault=PENALTY)
    offered = frozenset(order.evaluator.profile.experts)
    curve = train_by_feedback(
        model=model,
        strategy=Nonlinear(),
        requests=[
            request_for(suite=suite, task=task, context=suite.context(task=task, offered=offered))
            for task in map(suite.task, order.tasks)
        ],
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
    record: dict[str, JsonValue] = {
        **facts,
        "from": order.model.name,
        "plans_executed": rewards.executed,
        "reward": {"first": curve[0].reward, "last": curve[-1].reward},
    }
    write_planner(module=module.eval(), source=order.model, folder=order.out, record=record)
    (order.out / "curve.csv").write_text(curve_csv(curve), encoding="utf-8")
    title = f"Task feedback, seed {order.schedule.seed}"
    (order.out / "curve.svg").write_text(curve_svg(curve, title=title), encoding="utf-8")
    return order.out
