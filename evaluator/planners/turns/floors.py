"""Planners that answer in their first turn without any tool: what a suite's answers give away by themselves."""

import re
from abc import ABC, abstractmethod

from evaluator.core.planner import PlannerReply, PlannerRequest
from evaluator.core.plans.model import Plan, plan_to_json
from evaluator.core.records import PlannerCall
from evaluator.core.suites.base import Suite
from evaluator.core.turns import Formulation, TurnReply, TurnRequest, TurnResponse

_NO_TIME = PlannerCall(seconds=0.0)
_NUMBER = re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?|-?\d+(?:\.\d+)?")


class _Floor(ABC):
    """Answers with a text, or stops where it knows none."""

    name: str
    formulation = Formulation.INTEGRATED

    def __init__(self, suite: Suite) -> None:
        self.suite = suite

    def plan(self, request: PlannerRequest) -> PlannerReply:
        """An empty plan: a plan without steps holds no answer in words."""
        del request
        return PlannerReply(plan=plan_to_json(Plan(steps=(), answers=())), call=_NO_TIME)

    def turn(self, request: TurnRequest) -> TurnReply:
        """The answer, in the first turn."""
        found = self.answer(request)
        response = TurnResponse(stop=True) if found is None else TurnResponse(answer=found)
        return TurnReply(response=response, call=_NO_TIME)

    @abstractmethod
    def answer(self, request: TurnRequest) -> str | None:
        """The answer to a request; None where there is none."""


class MajorityPlanner(_Floor):
    """The most frequent right answer of the training data, or the one that the suite declares."""

    name = "majority"

    def __init__(self, suite: Suite) -> None:
        super().__init__(suite)
        self._answers = suite.majority() if suite.majority is not None else {}

    def answer(self, request: TurnRequest) -> str | None:
        """That of the tasks with the same metric."""
        return self._answers.get(self.suite.task(request.task.id).metric)


class LastNumberPlanner(_Floor):
    """The last number that stands in the request."""

    name = "last-number"

    def answer(self, request: TurnRequest) -> str | None:
        """The number as it is written; None where the request has none in digits."""
        found = _NUMBER.findall(request.task.request)
        return found[-1] if found else None
