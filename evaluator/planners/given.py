"""Plans that were written down beforehand, as a planner."""

from collections.abc import Mapping

from evaluator.core.planner import PlannerError, PlannerReply, PlannerRequest
from evaluator.core.plans_file import GivenPlan
from evaluator.core.records import PlannerCall, Reason


class GivenPlans:
    """Answers each task with its plan from a file; what the file leaves out is the planner's fault."""

    def __init__(self, plans: Mapping[str, GivenPlan], *, name: str = "plans file") -> None:
        self.name = name
        self._plans = plans

    def plan(self, request: PlannerRequest) -> PlannerReply:
        """The plan of the file. Takes no time that could be measured."""
        call = PlannerCall(seconds=0.0)
        given = self._plans.get(request.task.id)
        if given is None:
            raise PlannerError(reason=Reason.NO_PLAN, message="The plans file has no plan for this task.", call=call)
        return PlannerReply(plan=given.plan, call=call, alternatives=given.alternatives)
