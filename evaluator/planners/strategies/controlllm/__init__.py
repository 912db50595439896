"""ControlLLM (Liu et al., 2023): task decomposition, and search for tools on a graph (Thoughts-on-Graph)."""

from evaluator.planners.strategies.controlllm.strategy import (
    STRATEGIES,
    AdaptiveControlLLM,
    BeamControlLLM,
    ControlLLM,
    ExhaustiveControlLLM,
    GreedyControlLLM,
)

__all__ = [
    "STRATEGIES",
    "AdaptiveControlLLM",
    "BeamControlLLM",
    "ControlLLM",
    "ExhaustiveControlLLM",
    "GreedyControlLLM",
]
