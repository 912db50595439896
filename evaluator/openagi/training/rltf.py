"""Reinforcement learning from task feedback (OpenAGI, section 4).

Each step draws a few plans for every training task from the policy, executes them, and takes one step of `reinforce`.
Gold plans are not used. With the paper's estimator, the first step only initialises the moving average.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import nn

from evaluator.core.planner import PlannerRequest
from evaluator.core.strategy import Strategy
from evaluator.openagi.training.episodes import Episode, Sampling, draw_episodes
from evaluator.openagi.training.reinforce import Estimator, MovingAverage, advantages, plan_log_probabilities, surrogate
from evaluator.planners.language_models.local.model import LocalModel
from evaluator.planners.language_models.local.network import Network
from evaluator.rewards import Rewards
from evaluator.training.loop import reached_step, restore_state, save_state
from evaluator.training.runs import SettingsError

PENALTY = -1.0
"""Reward of a plan that cannot be executed, as in the released code; scores are in [0, 1]."""
_CLIP_NORM = 1.0
_DRAWS = 1_000_000
"""More than the completions of a step, so that no two steps share a seed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Hyperparameters of training."""

    steps: int = 25
    samples: int = 4
    """Plans drawn for each task in a step."""
    learning_rate: float = 3e-4
    weight_decay: float = 1e-6
    """As in the released code."""
    warm_up: float = 0.1
    """Share of steps with a rising learning rate; then it falls linearly to 0, as in the released code."""
    momentum: float = 0.9
    """Momentum of the moving average, which only the paper's estimator subtracts."""
    estimator: Estimator = Estimator.PAPER
    sampling: Sampling = Sampling.TOKENS
    seed: int = 0
    checkpoint_every: int = 10


@dataclass(frozen=True, slots=True)
class Point:
    """A step of the reward curve."""

    step: int
    reward: float
    """Mean over the plans drawn."""
    baseline: float
    """The moving average of the rewards of earlier steps."""
    invalid: float
    """Share of plans that could not be executed."""
    entropy: float
    """Mean of -log P of the plans drawn: an estimate of the policy's entropy, in nats."""


def train_by_feedback(
    *,
    model: LocalModel,
    strategy: Strategy,
    requests: Sequence[PlannerRequest],
    rewards: Rewards,
    schedule: Schedule,
    checkpoint: Path,
    resume: bool,
    stop_after: int | None = None,
    report: Callable[[Point], None] | None = None,
) -> list[Point]:
    """Train a model in place, and return the curve so far.

    Args:
        checkpoint: a safetensors file, which also contains the curve.
        resume: continue from the checkpoint if there is one, with the same result as an uninterrupted run.
        stop_after: stop after this step; the schedule is still that of the whole run.

    Raises:
        SettingsError: the checkpoint is of a run with other settings.
        RuntimeError: no plan of a step could be scored, due to failures of the infrastructure.
    """
    module = model.network.module
    trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=0.0, weight_decay=schedule.weight_decay)
    baseline = MovingAverage(momentum=schedule.momentum)
    step, curve = 0, list[Point]()
    if resume and reached_step(checkpoint):
        step, curve = _restored(module, optimizer, baseline, checkpoint, schedule=schedule)
    last = min(schedule.steps, schedule.steps if stop_after is None else stop_after)
    module.eval()  # without dropout, so that probabilities equal those of the draws
    while step < last:
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step=step, schedule=schedule)
        seed = (schedule.seed * 1_000_003 + step) * _DRAWS
        repeated = [request for request in requests for _ in range(schedule.samples)]
        episodes = draw_episodes(
            model=model, strategy=strategy, requests=repeated, seed=seed, sampling=Sampling(schedule.sampling)
        )
        point = _update(
            model.network, optimizer, baseline, episodes,
            rewards=rewards, step=step, estimator=Estimator(schedule.estimator),
        )  # fmt: skip
        curve.append(point)
        step += 1
        if report is not None:
            report(point)
        if step % schedule.checkpoint_every == 0 or step == last:
            _keep(module, optimizer, baseline, curve, checkpoint, schedule=schedule)
    return curve


def learning_rate(*, step: int, schedule: Schedule) -> float:
    """Linear warm-up, then linear decay to 0."""
    rising = max(1, round(schedule.warm_up * schedule.steps))
    if step < rising:
        return schedule.learning_rate * (step + 1) / rising
    return schedule.learning_rate * (schedule.steps - step) / max(1, schedule.steps - rising)


def _update(
    network: Network, optimizer: torch.optim.Optimizer, baseline: MovingAverage, episodes: Sequence[Episode], *,
    rewards: Rewards, step: int, estimator: Estimator,
) -> Point:  # fmt: skip
    over = [episode for episode in episodes if episode.is_over]
    results = rewards.of([(episode.task, episode.plan) for episode in over])
    # Without plans that failed due to the infrastructure.
    kept = [(episode, reward) for episode, reward in zip(over, results, strict=True) if reward is not None]
    if not kept:
        raise RuntimeError(
            f"step {step}: none of {len(episodes)} plans could be scored, for reasons that are not theirs"
        )
    values = [reward for _, reward in kept]
    factors = _advantages(kept, estimator=estimator, baseline=baseline.value)
    logs = plan_log_probabilities(network=network, episodes=[episode for episode, _ in kept])
    before = baseline.value
    if before is not None or estimator is not Estimator.PAPER:
        loss = surrogate(log_probabilities=logs, advantages=factors)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(network.module.parameters(), _CLIP_NORM)
        optimizer.step()
    baseline.update(values)
    mean = sum(values) / len(values)
    return Point(
        step=step,
        reward=mean,
        baseline=mean if before is None else before,
        invalid=sum(value == PENALTY for value in values) / len(values),
        entropy=-float(logs.detach().mean()),
    )


def _advantages(
    scored: Sequence[tuple[Episode, float]], *, estimator: Estimator, baseline: float | None
) -> list[float]:
    """The advantage of each plan, in order."""
    groups: dict[str, list[float]] = {}
    for episode, reward in scored:
        groups.setdefault(episode.task, []).append(reward)
    of_tasks = advantages(estimator=estimator, rewards=list(groups.values()), baseline=baseline)
    by_task = {task: iter(values) for task, values in zip(groups, of_tasks, strict=True)}
    return [next(by_task[episode.task]) for episode, _ in scored]


def _keep(
    model: nn.Module, optimizer: torch.optim.Optimizer, baseline: MovingAverage, curve: Sequence[Point],
    checkpoint: Path, *, schedule: Schedule,
) -> None:  # fmt: skip
    state = {
        "step": len(curve),
        "baseline": baseline.value,
        "curve": [asdict(point) for point in curve],
        "schedule": asdict(schedule),
    }
    metadata = {"step": str(len(curve)), "state": json.dumps(state)}
    save_state(model=model, optimizer=optimizer, checkpoint=checkpoint, metadata=metadata)


def _restored(
    model: nn.Module, optimizer: torch.optim.Optimizer, baseline: MovingAverage, checkpoint: Path, *,
    schedule: Schedule,
) -> tuple[int, list[Point]]:  # fmt: skip
    state = json.loads(restore_state(model=model, optimizer=optimizer, checkpoint=checkpoint)["state"])
    different = [
        f"{name} {state['schedule'][name]}, not {value}"
        for name, value in asdict(schedule).items()
        if name != "checkpoint_every" and state["schedule"][name] != value
    ]
    if different:
        raise SettingsError(f"the run of {checkpoint} began with other settings: {'; '.join(different)}")
    baseline.value = state["baseline"]
    return int(state["step"]), [Point(**point) for point in state["curve"]]
