"""Difficulty of a request: as its file says, else by the size of the plan that its gold describes.

The paper (ControlLLM, section 4.1) calls a request easy that needs fewer than two APIs, medium with two, and hard
with more. Tool100 itself does not hold to that: nine of its ten easy requests about videos need a classifier and a
selection. The thresholds here are those that agree best with the levels that Tool100 states, where calls are counted in
the smallest plan that goes the gold's way (detect, select, count) and makes equal calls once: 114 of 127 requests, 110
of the 122 that are not deprecated, which is 90 %; the paper's thresholds agree for 73. What is left are two-step
generations and answers, which Tool100 calls medium, and short compound requests, which it calls hard. If the shortest
way of all is counted instead (asking the image how many there are), at best 94 of 127 agree.
"""

from evaluator.controlllm.toolbench.released.raw import RawTask

MOST_CALLS_OF_EASY = 2
MOST_CALLS_OF_MEDIUM = 3


def level_of_plan(calls: int) -> str:
    """The level of a request whose smallest plan in the way of its gold makes so many calls.

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
    """The level that the file gives, else that of the plan that the gold describes, else None.

    Args:
        raw: the request.
        calls: tool calls of the smallest plan in the way of its gold, or None where no plan is known.
    """
    if raw.level is not None:
        return raw.level
    return None if calls is None else level_of_plan(calls)
