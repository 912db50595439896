"""What is multiplied with the gradient of log P: a plan's reward less a baseline. Pure.

All of them leave the expected gradient what it is, up to a factor; they differ in its variance. Where the rewards of
tasks differ more than those of plans for one task, a baseline that all tasks share lets the tasks' differences through
as noise: plans for an easy task are all encouraged, plans for a hard one all discouraged.
"""

import math
from collections.abc import Sequence
from enum import StrEnum

EPSILON = 1e-4
"""Added to the standard deviation by `Estimator.GRPO`, as TRL does."""


class Estimator(StrEnum):
    """How rewards become advantages."""

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
        estimator: which of them.
        rewards: for each task the rewards of its plans. Tasks may have different numbers of plans.
        baseline: b of `Estimator.PAPER`, which the others ignore; None before the first step: then all advantages
            are 0.

    Returns:
        In the shape of `rewards`. A plan that is the only one of its task gets 0 unless the baseline is shared.
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
