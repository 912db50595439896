"""Why tasks of an evaluation are below the gold score, as `planarena results` says it."""

from collections.abc import Sequence

from evaluator.client.shapes import Causes


def cause_lines(causes: Causes, *, suite: str) -> Sequence[str]:
    """A line for how many tasks are below the gold score, and one for each cause, the most frequent first.

    Args:
        causes: of an evaluation.
        suite: its suite.
    """
    if not causes.below:
        return ()
    first = f"{suite}: {causes.below} of {causes.ran} tasks below the gold score"
    return (first, *(f"{suite}: {one.tasks} {one.label}" for one in causes.causes))
