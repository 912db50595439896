"""Planners that know only whole plans, as planners that act in turns: their first answer is the whole plan."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import BatchPlanner, Planner, PlannerError, PlannerReply
from evaluator.core.records import PlannerCall, Reason
from evaluator.core.turns import Formulation, TurnPlanner, TurnReply, TurnRequest, TurnResponse


def in_turns(planner: Planner | TurnPlanner) -> TurnPlanner:
    """The planner itself if it acts in turns, else one that answers the first turn with its plan."""
    if isinstance(planner, TurnPlanner):
        return planner
    return _Batch(planner) if isinstance(planner, BatchPlanner) else _Single(planner)


@dataclass(slots=True)
class _Single:
    planner: Planner
    formulation: Formulation = Formulation.INTEGRATED

    @property
    def name(self) -> str:
        return self.planner.name

    def turn(self, request: TurnRequest) -> TurnReply:
        return _turn(self.planner.plan(request))


@dataclass(slots=True)
class _Batch:
    planner: BatchPlanner
    formulation: Formulation = Formulation.INTEGRATED

    @property
    def name(self) -> str:
        return self.planner.name

    def turn(self, request: TurnRequest) -> TurnReply:
        return _turn(self.planner.plan(request))

    def turn_all(self, requests: Iterable[TurnRequest]) -> list[TurnReply | PlannerError]:
        turns = list(requests)
        ends: dict[int, TurnReply | PlannerError] = {}
        for index, end in self.planner.plan_all(turns):
            ends[index] = end if isinstance(end, PlannerError) else _turn_or_error(end)
        return [ends.get(index, _NO_ANSWER) for index in range(len(turns))]


_Plan = dict[str, JsonValue] | list[JsonValue] | str
_NO_ANSWER = PlannerError(
    reason=Reason.INTERNAL_ERROR, message="The planner neither answered nor failed.", call=PlannerCall(seconds=0.0)
)


def _turn_or_error(reply: PlannerReply) -> TurnReply | PlannerError:
    try:
        return _turn(reply)
    except PlannerError as error:
        return error


def _turn(reply: PlannerReply) -> TurnReply:
    if reply.unreadable or not isinstance(reply.plan, Mapping | list | str):
        why = reply.unreadable or "it is neither an object nor a list nor a text"
        message = f"The plan cannot be read: {why}."
        received = reply.plan if isinstance(reply.plan, str) else None
        raise PlannerError(reason=Reason.UNPARSABLE_PLAN, message=message, received=received, call=reply.call)
    plan = cast("_Plan", reply.plan)
    alternatives = [
        cast("_Plan", alternative)
        for alternative in reply.alternatives
        if isinstance(alternative, Mapping | list | str)
    ]
    response = TurnResponse.model_construct(plan=plan, alternatives=alternatives)
    return TurnReply(response=response, call=reply.call, notes=reply.notes)
