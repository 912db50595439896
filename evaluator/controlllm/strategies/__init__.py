"""ControlLLM (Liu et al., 2023): task decomposition, and search for tools on a graph (Thoughts-on-Graph)."""

from evaluator.controlllm.strategies.strategy import STRATEGIES as SEARCHING
from evaluator.controlllm.strategies.trained.strategy import TrainedControlLLM

STRATEGIES = (*SEARCHING, TrainedControlLLM)
