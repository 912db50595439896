"""The second parser of sealed requests: a planner, which shares no code with the suite's rules."""

from evaluator.core.planner import Planner
from evaluator.core.records import Outcome, ResultRecord
from evaluator.core.suites.base import Suite, Task
from evaluator.episodes.judgement import all_tools
from evaluator.episodes.parts import plan_all, without_invalid
from leaderboard.catalog.sealed.pool import ParserReading, PoolError

DEFAULT = "bag-of-words"
"""A trained parser that needs no service. It is also a shortcut of the boards, so that a pool that it has read favours
what shortcuts solve; a planner with a language model does not."""


def planner_reading(planner: Planner, *, name: str, task: Task, suite: Suite) -> ParserReading:
    """What a planner reads in a request. An invalid plan is no goal.

    Args:
        planner: which is asked as in an evaluation.
        name: of the planner.
        task: the request.
        suite: of the request.

    Raises:
        PoolError: the planner could not be asked.
    """
    context = lambda task: all_tools(suite=suite, task=task)  # noqa: E731
    (item,) = map(without_invalid, plan_all(planner=planner, suite=suite, tasks=[task], context=context))
    if not isinstance(item, ResultRecord):
        return ParserReading(name=name, plan=item.plan.plan)
    if item.outcome is Outcome.INFRA_FAULT:
        raise PoolError(f"{name} could not be asked: {item.reason}")
    return ParserReading(name=name, plan=None)
