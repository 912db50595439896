"""Planners for suites that judge plans: gold plans with one mistake each, so that every indicator has both values."""

from typing import Any

from evaluator.core.planner import PlannerReply, PlannerRequest
from evaluator.core.plans.model import plan_to_json
from evaluator.core.records import PlannerCall
from evaluator.core.suites.base import Suite

FALSE_FILE = "nowhere_999.png"
NO_PLAN = "[I would first look at the image"


class ClumsyPlanner:
    """Makes the mistakes that `mistakes` names by task (see `spoiled`), and answers all other tasks rightly."""

    name = "clumsy"

    def __init__(self, *, suite: Suite, mistakes: dict[str, str]) -> None:
        self._suite = suite
        self.mistakes = mistakes

    def plan(self, request: PlannerRequest) -> PlannerReply:
        gold = self._suite.task(request.task.id).gold
        assert gold is not None
        plan = spoiled(plan_to_json(gold), mistake=self.mistakes.get(request.task.id, ""))
        return PlannerReply(plan=plan, call=PlannerCall(seconds=0.01))


def spoiled(plan: dict[str, Any], *, mistake: str) -> Any:
    """The plan with one mistake: `false`, `irrelevant`, `nothing`, `garbage`, or none."""
    if mistake == "garbage":
        return NO_PLAN
    if mistake == "nothing":
        return {"steps": [], "answers": []}
    if mistake == "false":
        first = plan["steps"][0]["inputs"]
        first[next(iter(first))] = FALSE_FILE
    if mistake == "irrelevant":
        call = {"id": "x1", "tool": "text_to_music", "inputs": {"text": "a calm piano"}, "outputs": {"audio": "x1.a"}}
        plan["steps"].append(call)
    return plan
