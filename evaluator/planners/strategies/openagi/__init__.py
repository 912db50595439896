"""OpenAGI's ways to a plan: free text mapped to names, and constrained generation, of sequences and of trees.

`rules`, which is not of the paper, answers by keywords."""

from evaluator.planners.strategies.openagi.constrained import Constrained
from evaluator.planners.strategies.openagi.few_shot import FewShot
from evaluator.planners.strategies.openagi.nonlinear import Nonlinear
from evaluator.planners.strategies.openagi.rules import Rules
from evaluator.planners.strategies.openagi.zero_shot import BareZeroShot, ZeroShot

STRATEGIES = (ZeroShot, BareZeroShot, FewShot, Constrained, Nonlinear, Rules)

__all__ = ["STRATEGIES", "BareZeroShot", "Constrained", "FewShot", "Nonlinear", "Rules", "ZeroShot"]
