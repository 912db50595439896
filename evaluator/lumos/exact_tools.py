"""The common part of environments whose tools are exact: every task runs, and calls run one by one."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from evaluator.core.suites.base import Suite, Task
from evaluator.core.transcripts import ActionProblem
from evaluator.episodes.turns.environment import Call, Outcome, Refused
from evaluator.lumos.tasks import TurnTask

if TYPE_CHECKING:
    from evaluator.core.records import Reason


class ExactTools:
    """Base class; subclasses run one call by `run_one`."""

    def not_run(self, suite: Suite) -> "Mapping[str, tuple[Reason, str]]":
        """See `Environment`: every task can run."""
        del suite
        return {}

    def scope(self, task: Task) -> str:
        """See `Environment`: that of the task."""
        assert isinstance(task, TurnTask)
        return task.scope

    def run(self, calls: Sequence[Call]) -> Sequence[Outcome]:
        """See `Environment`."""
        return [self.run_one(call) for call in calls]

    def run_one(self, call: Call) -> Outcome:
        """The outcome of a call; all failures are outcomes."""
        raise NotImplementedError


def several_results(call: Call, *, what: str = "") -> Refused | None:
    """The refusal of a call of a tool with one result that names several; None if it names one.

    Args:
        call: the call.
        what: what has the result; by default the tool.
    """
    if call.outputs == 1:
        return None
    message = f"{what or call.tool} has one result, and the action names {call.outputs}."
    return Refused(ActionProblem.BAD_ARGUMENTS, message)
