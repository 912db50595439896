"""ControlLLM (Liu et al., 2023): task decomposition, and search for tools on a graph (Thoughts-on-Graph)."""

from evaluator.planners.strategies.controlllm.strategy import STRATEGIES as SEARCHING
from evaluator.planners.strategies.controlllm.strategy import (
    AdaptiveControlLLM,
    BeamControlLLM,
    ControlLLM,
    ExhaustiveControlLLM,
    GreedyControlLLM,
)
from evaluator.planners.strategies.controlllm.trained.strategy import TrainedControlLLM

STRATEGIES = (*SEARCHING, TrainedControlLLM)

__all__ = [
    "SEARCHING",
    "STRATEGIES",
    "AdaptiveControlLLM",
    "BeamControlLLM",
    "ControlLLM",
    "ExhaustiveControlLLM",
    "GreedyControlLLM",
    "TrainedControlLLM",
]
