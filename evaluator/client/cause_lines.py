"""Why tasks of an evaluation are below the gold score, as `planarena results` says it."""

from collections.abc import Sequence

from evaluator.client.api import Client
from evaluator.client.errors import RefusedError
from evaluator.client.shapes import Causes, Evaluation

_NOT_FOUND = 404


def causes_of_evaluation(client: Client, evaluation: Evaluation) -> Causes | None:
    """The causes of an evaluation; None from a site of an older release, which knows none."""
    try:
        return client.causes(evaluation.id)
    except RefusedError as error:
        if error.problem.status == _NOT_FOUND:
            return None
        raise


def cause_lines(causes: Causes | None, *, suite: str) -> Sequence[str]:
    """A line for how many tasks are below the gold score, and one for each cause, the most frequent first.

    Args:
        causes: of an evaluation; None where they are not known.
        suite: its suite.
    """
    if causes is None or not causes.below:
        return ()
    first = f"{suite}: {causes.below} of {causes.ran} tasks below the gold score"
    return (first, *(f"{suite}: {one.tasks} {one.label}" for one in causes.causes))
