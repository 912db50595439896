"""A planner of suites in LUMOS's grammar that takes the steps of the gold plan one by one."""

from evaluator.core.records import PlannerCall
from evaluator.core.suites.base import Suite
from evaluator.core.turns import Formulation, TurnReply, TurnRequest, TurnResponse


class SteppingPlanner:
    """Each turn is a step of the gold plan, and the one after the last step a stop."""

    name = "stepping"
    formulation = Formulation.INTEGRATED

    def __init__(self, suite: Suite) -> None:
        self._suite = suite

    def turn(self, request: TurnRequest) -> TurnReply:
        """See `TurnPlanner`."""
        gold, done = self._suite.task(request.task.id).gold, len(request.history)
        assert gold is not None
        call = PlannerCall(seconds=1.5, prompt_tokens=40 + done, completion_tokens=4)
        if done == len(gold.steps):
            return TurnReply(response=TurnResponse(stop=True), call=call)
        step = gold.steps[done]
        (value,), (name,) = step.inputs.values(), step.outputs.values()
        return TurnReply(response=TurnResponse(actions=f"{name} = {step.tool}({value})"), call=call)
