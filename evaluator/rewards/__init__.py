"""Rewards for training planners: what plans score when they are executed.

- `reward_function`: a reward function for the trainers of TRL, for any suite that executes plans
- `executed`: the rewards of plans, each executed once

Only splits that a suite declares for training are executed on: `Suite.training_splits`.
"""

from evaluator.rewards.function import (
    ExecutedRewards,
    PlanReward,
    Proposal,
    Rewards,
    SplitRefusedError,
    reward_function,
    training_split,
)

__all__ = [
    "ExecutedRewards",
    "PlanReward",
    "Proposal",
    "Rewards",
    "SplitRefusedError",
    "reward_function",
    "training_split",
]
