"""Difficulty of a request: as its file says, else by the size of the smallest plan that is sufficient for it.

The paper (ControlLLM, section 4.1) calls a request easy that needs fewer than two APIs, medium with two, and hard
with more. Tool100 itself does not hold to that: nine of its ten easy requests about videos need a classifier and a
selection. The thresholds here are those that agree best with the levels that Tool100 states.
"""

from evaluator.suites.toolbench.raw import RawTask

MOST_CALLS_OF_EASY = 2
MOST_CALLS_OF_MEDIUM = 3


def level_of_plan(calls: int) -> str:
    """The level of a request whose smallest sufficient plan makes so many calls.

    Args:
        calls: number of tool calls, at least 1.

    Returns:
        `easy`, `medium` or `hard`.
    """
    if calls < 1:
        raise ValueError(f"a sufficient plan makes at least one call, not {calls}")
    if calls <= MOST_CALLS_OF_EASY:
        return "easy"
    return "medium" if calls <= MOST_CALLS_OF_MEDIUM else "hard"


def level_of(*, raw: RawTask, calls: int | None) -> str | None:
    """The level that the file gives, else that of the smallest sufficient plan, else None.

    Args:
        raw: the request.
        calls: tool calls of its smallest sufficient plan, or None where no plan is known.
    """
    if raw.level is not None:
        return raw.level
    return None if calls is None else level_of_plan(calls)
