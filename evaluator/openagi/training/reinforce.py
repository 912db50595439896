"""One step of REINFORCE with a baseline: OpenAGI, section 4, equation 4.

    grad J = 1/|T| sum over t of grad log P(s_t) (R_t - b)

In the paper, b is the moving average of the rewards of earlier steps. It does not depend on the draws of this step, so
the estimate is unbiased. The released code computes such an average but never subtracts it: its baseline is 0.

The estimators differ in the variance of the gradient. If rewards differ more between tasks than between plans of a
task, a baseline shared by all tasks adds the tasks' differences as noise: all plans of easy tasks are encouraged, all
plans of hard tasks discouraged.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate, pairwise

import torch
from torch import Tensor

from evaluator.openagi.training.episodes import Choice, Episode
from evaluator.planners.language_models.local.constrained import constrained_log_probabilities
from evaluator.planners.language_models.local.network import Network


@dataclass(slots=True)
class MovingAverage:
    """The baseline: an exponential moving average of the mean rewards of earlier steps."""

    momentum: float = 0.9
    value: float | None = None
    """None before the first reward."""

    def update(self, rewards: Sequence[float]) -> None:
        """Add the rewards of a step."""
        mean = sum(rewards) / len(rewards)
        self.value = mean if self.value is None else self.momentum * self.value + (1 - self.momentum) * mean


def surrogate(*, log_probabilities: Tensor, advantages: Sequence[float]) -> Tensor:
    """The scalar whose gradient is minus equation 4.

    Args:
        log_probabilities: of whole plans, float32 (plans,).
        advantages: R - b of the same plans.
    """
    factors = torch.tensor(advantages, dtype=log_probabilities.dtype, device=log_probabilities.device)
    return -(log_probabilities * factors).mean()


def plan_log_probabilities(*, network: Network, episodes: Sequence[Episode]) -> Tensor:
    """log P of each episode's plan under the policy that it was drawn from, with gradients: float32 (episodes,).

    The sum over the completions of the conversation. A completion drawn token by token has the log-probability of its
    tokens under the constraint; for one drawn from beams, the log of the beams' total probability is subtracted. Equal
    episodes are computed once.
    """
    distinct = dict.fromkeys(episode.key for episode in episodes)
    first = {episode.key: episode for episode in reversed(episodes)}
    choices = [(owner, choice) for owner, key in enumerate(distinct) for choice in first[key].choices]
    total = torch.zeros(len(distinct), device=network.device)
    if choices:
        logs = _choice_log_probabilities(network=network, choices=[choice for _, choice in choices])
        total = total.index_add(0, torch.tensor([owner for owner, _ in choices], device=network.device), logs)
    places = {key: place for place, key in enumerate(distinct)}
    return total[torch.tensor([places[episode.key] for episode in episodes], device=network.device)]


def _choice_log_probabilities(*, network: Network, choices: Sequence[Choice]) -> Tensor:
    rows = [(choice, names) for choice in choices for names in choice.candidates]
    logs = constrained_log_probabilities(
        network=network,
        prompts=[choice.call.messages for choice, _ in rows],
        names=[names for _, names in rows],
        constraints=[choice.constraint for choice, _ in rows],
    )
    values = []
    ends = accumulate((len(choice.candidates) for choice in choices), initial=0)
    for choice, (start, end) in zip(choices, pairwise(ends), strict=True):
        of_candidates = torch.log_softmax(logs[start:end], dim=0) if choice.beams else logs[start:end]
        values.append(of_candidates[choice.candidates.index(choice.names)])
    return torch.stack(values)


EPSILON = 1e-4
"""Added to the standard deviation by `Estimator.GRPO`, as TRL does."""


class Estimator(StrEnum):
    """The computation of advantages from rewards."""

    PAPER = "paper"
    """OpenAGI, equation 4: R - b with b the moving average of the rewards of earlier steps, one for all tasks."""
    LEAVE_ONE_OUT = "leave-one-out"
    """R less the mean reward of the task's other plans (Kool, van Hoof and Welling, Buy 4 REINFORCE Samples, Get a
    Baseline for Free!, 2019; RLOO). Unbiased: the baseline of a plan does not depend on that plan."""
    GRPO = "grpo"
    """R less the mean over the task's plans, divided by their standard deviation (Shao et al., DeepSeekMath, 2024,
    section 4.1). Every task with different rewards gets the same weight; so it is biased."""


def advantages(
    *, estimator: Estimator, rewards: Sequence[Sequence[float]], baseline: float | None = None
) -> list[list[float]]:
    """The advantage of every plan.

    Args:
        rewards: the rewards of each task's plans. Tasks may have different numbers of plans.
        baseline: b of `Estimator.PAPER`; None before the first step, when all its advantages are 0.

    Returns:
        In the shape of `rewards`. The only plan of a task gets 0 unless the baseline is shared.
    """
    if estimator is Estimator.PAPER:
        return [[0.0 if baseline is None else reward - baseline for reward in task] for task in rewards]
    of_task = _leave_one_out if estimator is Estimator.LEAVE_ONE_OUT else _normalised
    return [of_task(task) if len(task) > 1 else [0.0] * len(task) for task in rewards]


def _leave_one_out(rewards: Sequence[float]) -> list[float]:
    mean, count = math.fsum(rewards) / len(rewards), len(rewards)
    # R - (sum - R) / (n - 1) = (R - mean) n / (n - 1)
    return [(reward - mean) * count / (count - 1) for reward in rewards]


def _normalised(rewards: Sequence[float]) -> list[float]:
    mean = math.fsum(rewards) / len(rewards)
    deviation = math.sqrt(math.fsum((reward - mean) ** 2 for reward in rewards) / (len(rewards) - 1))
    return [(reward - mean) / (deviation + EPSILON) for reward in rewards]
