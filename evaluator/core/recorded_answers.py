"""A planner that repeats what another one answered, so that stored plans are scored again and nobody is asked."""

from collections.abc import Mapping

from evaluator.core.planner import PlannerError, PlannerReply, PlannerRequest
from evaluator.core.records import PlannerCall, Reason, ResultRecord
from evaluator.core.suites.base import Suite

_NO_TIME = PlannerCall(seconds=0.0)
_OF_PLANS = frozenset(
    {
        Reason.UNPARSABLE_PLAN,
        Reason.INVALID_PLAN,
        Reason.ABSTAINED,
        Reason.LIMIT_EXCEEDED,
        Reason.UNFIT_INPUT,
    }
)
"""Reasons of tasks whose planner answered: parsers, experts and scorers of today may decide otherwise."""
_CANNOT_BE_READ = "The plan cannot be read: "


def answer_in(record: ResultRecord) -> ResultRecord:
    """The part of a record that the planner is responsible for: what it answered, or why it did not, and the call."""
    return ResultRecord(
        suite=record.suite,
        task=record.task,
        request=record.request,
        metric=record.metric,
        outcome=record.outcome,
        reason=record.reason,
        reason_text=record.reason_text,
        planner_notes=record.planner_notes,
        plan_received=record.plan_received,
        planner=record.planner,
    )


class RecordedAnswers:
    """Answers each request as its record says, in the time and with the tokens of the first call."""

    name = "recorded answers"

    def __init__(self, records: Mapping[str, ResultRecord], *, suite: Suite) -> None:
        """
        Args:
            records: by key of the task.
            suite: as planners see it.
        """
        self._records = {task.asked_as or task.key: records[task.key] for task in suite.asked(list(records))}

    def plan(self, request: PlannerRequest) -> PlannerReply:
        """The recorded answer.

        Raises:
            PlannerError: the planner gave none, for the recorded reason; or there is no record.
        """
        record = self._records.get(request.task.id)
        if record is None:
            raise PlannerError(reason=Reason.NO_PLAN, message="There is no record of this task.", call=_NO_TIME)
        call = record.planner or _NO_TIME
        if record.reason is not None and record.reason not in _OF_PLANS:
            received = record.plan_received if isinstance(record.plan_received, str) else None
            raise PlannerError(reason=record.reason, message=record.reason_text, call=call, received=received)
        return PlannerReply(
            plan=record.plan_received,
            call=call,
            notes=record.planner_notes,
            unreadable=_unreadable(record),
        )


def _unreadable(record: ResultRecord) -> str:
    """Why the planner's own strategy could not read its model; empty if the parsers of plans are to try."""
    if record.reason is not Reason.UNPARSABLE_PLAN or not record.planner_notes:
        return ""
    return record.reason_text.removeprefix(_CANNOT_BE_READ).removesuffix(".")
