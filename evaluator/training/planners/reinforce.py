"""One step of REINFORCE with a baseline: OpenAGI, section 4, equation 4.

    grad J = 1/|T| sum over t of grad log P(s_t) (R_t - b)

b is the moving average of the rewards of earlier steps. It depends on nothing that is drawn in this step, so the
estimate stays unbiased. The released code computes such an average and never subtracts it: its baseline stays 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from evaluator.planners.language_models.local.constrained import constrained_log_probabilities
from evaluator.planners.language_models.local.network import Network
from evaluator.training.planners.episodes import Episode


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
    earned = torch.tensor(rewards, dtype=log_probabilities.dtype, device=log_probabilities.device)
    return -(log_probabilities * (earned - baseline)).mean()


def plan_log_probabilities(*, network: Network, episodes: Sequence[Episode]) -> Tensor:
    """log P of each episode's plan under the constrained policy, with gradients: float32 (episodes,), at most 0.

    The sum over the tokens of all completions of the conversation, not normalised by their number.
    """
    choices = [choice for episode in episodes for choice in episode.choices]
    owners = [index for index, episode in enumerate(episodes) for _ in episode.choices]
    total = torch.zeros(len(episodes), device=network.device)
    if not choices:
        return total
    logs = constrained_log_probabilities(
        network=network,
        prompts=[choice.call.messages for choice in choices],
        names=[choice.names for choice in choices],
        constraints=[choice.constraint for choice in choices],
    )
    return total.index_add(0, torch.tensor(owners, device=network.device), logs)
