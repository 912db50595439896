"""OpenAGI's ways to a plan: free text mapped to names, and constrained generation, of sequences and of trees."""

from evaluator.planners.strategies.openagi.constrained import Constrained
from evaluator.planners.strategies.openagi.nonlinear import Nonlinear

STRATEGIES = (Constrained, Nonlinear)

__all__ = ["STRATEGIES", "Constrained", "Nonlinear"]
