"""What the chain declines: subtasks that no tool is like, and files that are not there.

The rules of the decomposition find a tool for any sentence. Without a language model, only the likeness of the words
tells what the tools can do from what they cannot, such as sending an email.
"""

import re
from collections.abc import Collection

from evaluator.controlllm.strategies.offline_decomposing import likeness_to_tools
from evaluator.controlllm.strategies.strategy import Staged

LEAST_LIKENESS = 0.27
"""Calibrated on requests that the tools can meet and on others that they cannot: of the thresholds tried it has the
largest sum of the first accepted and the second declined (`docs/planners-controlllm.md`, "What is declined")."""
_FILE = re.compile(r"[\w-]+\.(?:png|jpe?g|gif|webp|mp4|wav|mp3|txt)\b", re.IGNORECASE)


def declined(staged: Staged, *, files: Collection[str]) -> dict[int, str]:
    """Why subtasks are declined, by their position; only of decompositions by rules.

    Args:
        staged: the stages before execution.
        files: names of the given files.
    """
    if staged.decomposed.tries or staged.decomposed.network:
        return {}
    found: dict[int, str] = {}
    for number, planned in enumerate(staged.planned):
        subtask = planned.searching.subtask
        missing = [name for name in _FILE.findall(subtask.description) if name not in files]
        likeness = likeness_to_tools(subtask, tools=staged.toolbox.tools, lexicon=staged.toolbox.lexicon)
        if missing:
            found[number] = f"{missing[0]} is not among the given files"
        elif likeness is not None and likeness < LEAST_LIKENESS:
            found[number] = f"no tool is for this: likeness {likeness:.2f}, below {LEAST_LIKENESS}"
    return found
