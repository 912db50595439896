"""One step of REINFORCE with a baseline: OpenAGI, section 4, equation 4.

    grad J = 1/|T| sum over t of grad log P(s_t) (R_t - b)

b is the moving average of the rewards of earlier steps. It depends on nothing that is drawn in this step, so the
estimate stays unbiased. The released code computes such an average and never subtracts it: its baseline stays 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from evaluator.planners.training.episodes import Episode
from evaluator.planners.training.policy import Policy


@dataclass(slots=True)
class MovingAverage:
    """The baseline: an exponential moving average of the mean rewards of earlier steps."""

    momentum: float = 0.9
    value: float | None = None
    """None before the first reward."""

    def update(self, rewards: Sequence[float]) -> None:
        """Take the rewards of one step into the average."""
        mean = sum(rewards) / len(rewards)
        self.value = mean if self.value is None else self.momentum * self.value + (1 - self.momentum) * mean


def surrogate(*, log_probabilities: Tensor, rewards: Sequence[float], baseline: float) -> Tensor:
    """The scalar whose gradient is minus equation 4.

    Args:
        log_probabilities: of whole plans, float32 (plans,).
        rewards: of the same plans.
        baseline: b.
    """
    advantages = torch.tensor(rewards, dtype=log_probabilities.dtype) - baseline
    return -(log_probabilities * advantages).mean()


def plan_log_probabilities(*, policy: Policy, episodes: Sequence[Episode]) -> Tensor:
    """log P of each episode's plan, differentiable: the sum over its calls, float32 (episodes,)."""
    questions = [question for episode in episodes for question, _ in episode.choices]
    names = [found for episode in episodes for _, found in episode.choices]
    owners = torch.tensor([index for index, episode in enumerate(episodes) for _ in episode.choices])
    logs = policy.log_probabilities(questions, names)
    return torch.zeros(len(episodes), dtype=logs.dtype).index_add(0, owners, logs)
