"""Adapters of planners for episodes in turns.

- `in_turns`: a planner of whole plans answers the first turn with its plan.
- `journaled`: answers are stored, so that interrupted episodes can continue.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from evaluator.core import canonical_json
from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import BatchPlanner, Planner, PlannerError, PlannerReply
from evaluator.core.records import ArtefactReference, PlannerCall, Reason
from evaluator.core.turns import BatchTurnPlanner, Formulation, TurnPlanner, TurnReply, TurnRequest, TurnResponse
from evaluator.core.values import Artefact, MediaType
from evaluator.execution.engine.store import ObjectDamagedError

if TYPE_CHECKING:
    from evaluator.execution.engine.store import Store


_FORM = "turn/1"
_REPLY = "reply"


def journaled(*, planner: TurnPlanner, store: "Store") -> TurnPlanner:
    """A planner that stores its answers by turn key and repeats them for the same keys; failures are not stored.

    Keys start with the name of the run, so that runs do not share answers.
    """
    if isinstance(planner, BatchTurnPlanner):
        return _JournaledBatchPlanner(planner, store)
    return _JournaledPlanner(planner, store)


@dataclass(slots=True)
class _JournaledPlanner:
    planner: TurnPlanner
    store: "Store"

    @property
    def name(self) -> str:
        return self.planner.name

    @property
    def formulation(self) -> Formulation:
        return self.planner.formulation

    def turn(self, request: TurnRequest) -> TurnReply:
        reply = _stored_reply(store=self.store, request=request)
        if reply is None:
            reply = self.planner.turn(request)
            _store_reply(store=self.store, request=request, reply=reply)
        return reply


@dataclass(slots=True)
class _JournaledBatchPlanner(_JournaledPlanner):
    planner: BatchTurnPlanner

    def turn_all(self, requests: Iterable[TurnRequest]) -> list[TurnReply | PlannerError]:
        turns = list(requests)
        ends: list[TurnReply | PlannerError | None] = [_stored_reply(store=self.store, request=turn) for turn in turns]
        new = [place for place, end in enumerate(ends) if end is None]
        for place, end in zip(new, self.planner.turn_all([turns[place] for place in new]), strict=True):
            ends[place] = end
            if isinstance(end, TurnReply):
                _store_reply(store=self.store, request=turns[place], reply=end)
        return [end for end in ends if end is not None]


def _stored_reply(*, store: "Store", request: TurnRequest) -> TurnReply | None:
    """The stored answer to a turn; None if it is missing or damaged."""
    outputs = store.get_step(_turn_key(request))
    if outputs is None:
        return None
    try:
        value = json.loads(store.get(outputs[_REPLY].digest).data)
        return TurnReply(
            response=TurnResponse.model_validate(value["response"]),
            call=PlannerCall.model_validate(value["call"]),
            notes=value.get("notes", {}),
        )
    except (LookupError, ValueError, ObjectDamagedError):
        return None


def _store_reply(*, store: "Store", request: TurnRequest, reply: TurnReply) -> None:
    value = {"response": reply.response.model_dump(exclude_defaults=True), "call": reply.call.model_dump()}
    if reply.notes:
        value["notes"] = dict(reply.notes)
    artefact = Artefact(data=canonical_json.dumps(value).encode(), media_type=MediaType.TEXT)
    reference = ArtefactReference(digest=store.put(artefact), media_type=MediaType.TEXT)
    store.put_step(key=_turn_key(request), outputs={_REPLY: reference})


def _turn_key(request: TurnRequest) -> str:
    # Covers the request besides its key, without the limits: the remaining time always differs.
    return canonical_json.digest([_FORM, request.model_dump(mode="json", exclude={"limits"})])


def in_turns(planner: Planner | TurnPlanner) -> TurnPlanner:
    """The planner itself if it acts in turns, else an adapter that answers the first turn with its plan."""
    if isinstance(planner, TurnPlanner):
        return planner
    return _WholePlanBatchPlanner(planner) if isinstance(planner, BatchPlanner) else _WholePlanPlanner(planner)


@dataclass(slots=True)
class _WholePlanPlanner:
    planner: Planner
    formulation: Formulation = Formulation.INTEGRATED

    @property
    def name(self) -> str:
        return self.planner.name

    def turn(self, request: TurnRequest) -> TurnReply:
        return _turn(self.planner.plan(request))


@dataclass(slots=True)
class _WholePlanBatchPlanner(_WholePlanPlanner):
    planner: BatchPlanner

    def turn_all(self, requests: Iterable[TurnRequest]) -> list[TurnReply | PlannerError]:
        turns = list(requests)
        ends: dict[int, TurnReply | PlannerError] = {}
        for index, end in self.planner.plan_all(turns):
            try:
                ends[index] = end if isinstance(end, PlannerError) else _turn(end)
            except PlannerError as error:
                ends[index] = error
        return [ends.get(index, _NO_ANSWER) for index in range(len(turns))]


_Plan = dict[str, JsonValue] | list[JsonValue] | str
_NO_ANSWER = PlannerError(
    reason=Reason.INTERNAL_ERROR, message="The planner neither answered nor failed.", call=PlannerCall(seconds=0.0)
)


def _turn(reply: PlannerReply) -> TurnReply:
    if reply.plan is None and not reply.unreadable:
        response = TurnResponse.model_validate({"plan": None})
        return TurnReply(response=response, call=reply.call, notes=reply.notes)
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
