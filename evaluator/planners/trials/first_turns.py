"""What a test call says of the first turn of an episode."""

from collections.abc import Collection, Sequence

from evaluator.core.plans.model import PlanContext
from evaluator.episodes.turns.reading import Actions, Answered, Intent, Stopped, Subgoals


def nothing_done(intent: Intent) -> str:
    """Why a first turn does nothing, as a sentence; empty if it does something."""
    match intent:
        case Stopped():
            return "The planner stopped before its first action: no tool would run."
        case Answered(text=text) if not text.strip():
            return "The answer is empty, and no tool would run."
        case Subgoals(texts=texts) if not any(text.strip() for text in texts):
            return "The subgoal is empty, and no tool would run."
        case Actions(wanted=()):
            return "The plan has no steps: no tool would run."
    return ""


def unknown_tools(tools: Sequence[str], *, context: PlanContext, others: Collection[str]) -> tuple[str, ...]:
    """A sentence for each of these tools that is not offered.

    Args:
        others: tools of actions that are written without a name.
    """
    known = {*context.catalogue.tools, *others}
    return tuple(f'there is no tool "{tool[:100]}"' for tool in dict.fromkeys(tools) if tool not in known)
