"""Requests that no tool can meet: their plans are scored without being executed."""

from evaluator.core.records import Outcome, ResultRecord
from evaluator.core.suites.base import ABSTENTION
from evaluator.episodes.parts import Planned


def abstention_judged(item: ResultRecord | Planned) -> ResultRecord | Planned:
    """Score a valid plan where nothing needs to be executed.

    Returns:
        The scored record where no tool can meet the request: 1 for a plan without steps, 0 for any other.
    """
    if isinstance(item, ResultRecord) or item.task.metric != ABSTENTION:
        return item
    return item.record.model_copy(update={"outcome": Outcome.SCORED, "score": 0.0 if item.plan.plan.steps else 1.0})
