"""A journal of the turns that a planner answered: an episode that was cut off goes on from there."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluator.core import canonical_json
from evaluator.core.planner import PlannerError
from evaluator.core.records import ArtefactReference, PlannerCall
from evaluator.core.turns import BatchTurnPlanner, Formulation, TurnPlanner, TurnReply, TurnRequest, TurnResponse
from evaluator.core.values import Artefact, MediaType
from evaluator.execution.engine.store import ObjectDamagedError

if TYPE_CHECKING:
    from evaluator.execution.engine.store import Store

_FORM = "turn/1"
_REPLY = "reply"


def journaled(*, planner: TurnPlanner, store: "Store") -> TurnPlanner:
    """The planner, whose answers are kept in the store by the keys of their turns, and given again for the same keys.

    Failures are not kept. Keys begin with the name of the run, so that no other run gets its answers.
    """
    if isinstance(planner, BatchTurnPlanner):
        return _Batch(planner, store)
    return _Single(planner, store)


@dataclass(slots=True)
class _Single:
    planner: TurnPlanner
    store: "Store"

    @property
    def name(self) -> str:
        return self.planner.name

    @property
    def formulation(self) -> Formulation:
        return self.planner.formulation

    def turn(self, request: TurnRequest) -> TurnReply:
        reply = recall(store=self.store, request=request)
        if reply is None:
            reply = self.planner.turn(request)
            keep(store=self.store, request=request, reply=reply)
        return reply


@dataclass(slots=True)
class _Batch:
    planner: BatchTurnPlanner
    store: "Store"

    @property
    def name(self) -> str:
        return self.planner.name

    @property
    def formulation(self) -> Formulation:
        return self.planner.formulation

    def turn(self, request: TurnRequest) -> TurnReply:
        return _Single(self.planner, self.store).turn(request)

    def turn_all(self, requests: Iterable[TurnRequest]) -> list[TurnReply | PlannerError]:
        turns = list(requests)
        ends: list[TurnReply | PlannerError | None] = [recall(store=self.store, request=request) for request in turns]
        new = [place for place, end in enumerate(ends) if end is None]
        for place, end in zip(new, self.planner.turn_all([turns[place] for place in new]), strict=True):
            ends[place] = end
            if isinstance(end, TurnReply):
                keep(store=self.store, request=turns[place], reply=end)
        return [end for end in ends if end is not None]


def recall(*, store: "Store", request: TurnRequest) -> TurnReply | None:
    """The answer that the journal has for a turn; None if there is none, or it is damaged."""
    outputs = store.get_step(_key(request))
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


def keep(*, store: "Store", request: TurnRequest, reply: TurnReply) -> None:
    """Write an answer into the journal."""
    value = {"response": reply.response.model_dump(exclude_defaults=True), "call": reply.call.model_dump()}
    if reply.notes:
        value["notes"] = dict(reply.notes)
    artefact = Artefact(data=canonical_json.dumps(value).encode(), media_type=MediaType.TEXT)
    reference = ArtefactReference(digest=store.put(artefact), media_type=MediaType.TEXT)
    store.put_step(key=_key(request), outputs={_REPLY: reference})


def _key(request: TurnRequest) -> str:
    # With what was asked, whatever the key says; what is left of the time is another each time.
    return canonical_json.digest([_FORM, request.model_dump(mode="json", exclude={"limits"})])
