"""Rewards for training planners: the scores of executed plans.

`reward_function` makes a reward function for the trainers of TRL, for any suite that executes plans. It uses only the
splits that a suite declares for training: `Suite.training_splits`.
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
