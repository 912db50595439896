"""Shortcuts: planners that learn words, not meanings. Their scores show how far a suite can be solved without
understanding its requests.

- `regex`: keyword rules that were written by hand from public requests, in the folder of each suite.
- `template-memoriser`: the plan of the public request with the most similar wording, with the new request's words.
- `bag-of-words`: logistic regressions from the words of a request, in no order, to the parts of its plan.

The last two are trained on public requests alone (`examples.py`), when they are first needed, and kept by digest.
"""

from evaluator.planners.shortcuts.examples import DRAWS, Example, examples_of
from evaluator.planners.shortcuts.planners import BUNDLED, BagOfWordsPlanner, MemoriserPlanner, RegexPlanner, Shortcut
from evaluator.planners.shortcuts.skeletons import Skeleton, abstracted, filled

__all__ = [
    "BUNDLED",
    "DRAWS",
    "BagOfWordsPlanner",
    "Example",
    "MemoriserPlanner",
    "RegexPlanner",
    "Shortcut",
    "Skeleton",
    "abstracted",
    "examples_of",
    "filled",
]
