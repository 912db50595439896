"""The training loop: seeded, resumable at the exact step, checkpoints without pickle.

The batch of a step depends only on (seed, step), and no layer draws random numbers, so a resumed run ends with the same
weights as an uninterrupted one.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

_CLIP_NORM = 1.0
_WARM_UP = 50
_MOMENTS = ("exp_avg", "exp_avg_sq", "step")


class Objective(Protocol):
    """A training objective."""

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        """The loss on one batch drawn with `rng`, a scalar."""
        ...


@runtime_checkable
class ObjectiveInParts(Protocol):
    """A training objective whose gradient is accumulated, because the memory does not hold a whole batch."""

    def losses(self, *, model: nn.Module, rng: np.random.Generator) -> Iterator[Tensor]:
        """Scalars whose sum is the loss on one batch drawn with `rng`. Each is freed before the next is computed."""
        ...


@dataclass(frozen=True, slots=True)
class Schedule:
    """Hyperparameters of the training loop."""

    steps: int
    learning_rate: float
    seed: int = 0
    weight_decay: float = 0.01
    checkpoint_every: int = 200


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a run."""

    step: int
    steps: int
    loss: float
    """Running mean."""
    seconds: float


def learning_rate(*, step: int, schedule: Schedule) -> float:
    """Linear warm-up, then cosine decay to 1 % of the peak."""
    warm = min(1.0, (step + 1) / _WARM_UP)
    share = step / max(1, schedule.steps)
    return schedule.learning_rate * warm * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * share)))


def fit(
    *, model: nn.Module, objective: Objective | ObjectiveInParts, schedule: Schedule, checkpoint: Path, resume: bool,
    stop_after: int | None = None, report: Callable[[Progress], None] | None = None,
) -> int:  # fmt: skip
    """Train a model in place and return the step reached.

    Args:
        model: the model.
        objective: the training objective.
        schedule: hyperparameters of the whole run.
        checkpoint: a safetensors file, written every `checkpoint_every` steps and at the end.
        resume: whether to continue from the checkpoint, if there is one.
        stop_after: stop after this step, as if interrupted; does not change the schedule.
        report: progress callback, called at each checkpoint.
    """
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.0, weight_decay=schedule.weight_decay, betas=(0.9, 0.99))
    step = reached_step(checkpoint) if resume else 0
    if step:
        restore_state(model=model, optimizer=optimizer, checkpoint=checkpoint)
    last = min(schedule.steps, stop_after if stop_after is not None else schedule.steps)
    started, running = time.monotonic(), math.nan
    model.train()
    while step < last:
        loss = _update(model=model, objective=objective, optimizer=optimizer, schedule=schedule, step=step)
        step += 1
        running = loss if math.isnan(running) else 0.98 * running + 0.02 * loss
        if step % schedule.checkpoint_every == 0 or step == last:
            save_state(model=model, optimizer=optimizer, checkpoint=checkpoint, metadata={"step": str(step)})
            seconds = time.monotonic() - started
            if report is not None:
                report(Progress(step=step, steps=schedule.steps, loss=running, seconds=seconds))
    return step


def _update(
    *, model: nn.Module, objective: Objective | ObjectiveInParts, optimizer: torch.optim.Optimizer, schedule: Schedule,
    step: int,
) -> float:  # fmt: skip
    for group in optimizer.param_groups:
        group["lr"] = learning_rate(step=step, schedule=schedule)
    optimizer.zero_grad(set_to_none=True)
    total = 0.0
    for loss in _losses(objective, model=model, rng=np.random.default_rng([schedule.seed, step])):
        loss.backward()  # type: ignore[no-untyped-call]
        total += float(loss.detach())
    nn.utils.clip_grad_norm_(model.parameters(), _CLIP_NORM)
    optimizer.step()
    return total


def _losses(objective: Objective | ObjectiveInParts, *, model: nn.Module, rng: np.random.Generator) -> Iterator[Tensor]:
    if isinstance(objective, ObjectiveInParts):
        yield from objective.losses(model=model, rng=rng)
    else:
        yield objective.loss(model=model, rng=rng)


def reached_step(checkpoint: Path) -> int:
    """The step of a checkpoint; 0 without a checkpoint."""
    if not checkpoint.exists():
        return 0
    with safe_open(checkpoint, framework="pt") as file:
        return int(file.metadata()["step"])


def save_state(
    *, model: nn.Module, optimizer: torch.optim.Optimizer, checkpoint: Path, metadata: Mapping[str, str]
) -> None:
    """Write a checkpoint atomically: the model without its frozen parameters, the optimizer's moments, and metadata."""
    frozen = _frozen(model)
    tensors = {f"model.{name}": value.contiguous() for name, value in model.state_dict().items() if name not in frozen}
    for index, state in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{name}": state[name].contiguous() for name in _MOMENTS}
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    partial = checkpoint.with_suffix(".partial")
    save_file({name: value.clone() for name, value in tensors.items()}, partial, metadata=dict(metadata))
    partial.replace(checkpoint)


def restore_state(*, model: nn.Module, optimizer: torch.optim.Optimizer, checkpoint: Path) -> dict[str, str]:
    """Load a checkpoint into the model and the optimizer, and return its metadata."""
    with safe_open(checkpoint, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
        metadata: dict[str, str] = file.metadata()
    prefix = "model."
    own = {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
    # Strict: a checkpoint lacks frozen parameters only.
    model.load_state_dict({name: own.get(name, value) for name, value in _frozen(model).items()} | own)
    state = optimizer.state_dict()
    count = sum(len(group["params"]) for group in state["param_groups"])
    state["state"] = {
        i: {name: tensors[f"optimizer.{i}.{name}"] for name in _MOMENTS}
        for i in range(count)
        if f"optimizer.{i}.step" in tensors
    }
    optimizer.load_state_dict(state)
    return metadata


def _frozen(model: nn.Module) -> dict[str, Tensor]:
    """The parameters that are not trained, by all their names: tied ones have several."""
    places = {value.data_ptr() for value in model.parameters() if not value.requires_grad}
    return {name: value for name, value in model.state_dict().items() if value.data_ptr() in places}
