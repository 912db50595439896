"""OpenAGI's ways to a plan: free text mapped to names, and constrained generation, of sequences and of trees.

`rules`, which is not of the paper, answers by keywords."""

from evaluator.openagi.strategies.constrained import Constrained
from evaluator.openagi.strategies.few_shot import FewShot
from evaluator.openagi.strategies.nonlinear import Nonlinear
from evaluator.openagi.strategies.rules import Rules
from evaluator.openagi.strategies.zero_shot import BareZeroShot, ZeroShot

STRATEGIES = (ZeroShot, BareZeroShot, FewShot, Constrained, Nonlinear, Rules)
