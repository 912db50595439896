"""OpenAGI's strategies: free text mapped to names, and constrained generation of sequences and trees.

`rules`, which is not from the paper, answers by keywords."""

from evaluator.openagi.strategies.constrained import Constrained, Nonlinear
from evaluator.openagi.strategies.free_text import BareZeroShot, FewShot, ZeroShot
from evaluator.openagi.strategies.rules import Rules

STRATEGIES = (ZeroShot, BareZeroShot, FewShot, Constrained, Nonlinear, Rules)
