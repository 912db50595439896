"""A circuit breaker for planners behind HTTP: an unreachable planner is not called again for every remaining task."""

import threading
from collections.abc import Callable
from typing import Protocol, TypeVar

from evaluator.core.planner import PlannerError, PlannerReply, PlannerRequest, RanPlan, RespondingPlanner
from evaluator.core.records import PlannerCall, Reason
from evaluator.core.turns import TurnPlanner, TurnReply, TurnRequest

UNREACHABLE_TASKS = 5
"""The breaker opens after so many consecutive tasks that could not reach their planner."""


_Reply = TypeVar("_Reply", PlannerReply, TurnReply)


class _PlansAndTurns(RespondingPlanner, TurnPlanner, Protocol):
    """Planners behind HTTP have all these interfaces."""


class CircuitBreaker:
    """A planner that fails at once after too many consecutive failures to reach the planner behind it.

    Once open, it stays open. To retry the planner, make a new breaker, as a worker does for each lease.
    """

    def __init__(self, planner: _PlansAndTurns, *, after: int = UNREACHABLE_TASKS, has_preflight: bool = False) -> None:
        """Args:
        planner: the planner behind it.
        after: number of consecutive unavailable tasks that opens it, at least 1.
        has_preflight: whether the first task runs alone and opens the breaker if it does not reach the planner.
        """
        self.name = planner.name
        self.formulation = planner.formulation
        self._planner = planner
        self._after = after
        self._lock = threading.Lock()
        self._preflight = threading.Lock()
        self._is_proven = not has_preflight
        self._in_a_row = 0
        self._last = ""

    def plan(self, request: PlannerRequest) -> PlannerReply:
        return self._called(lambda: self._planner.plan(request))

    def turn(self, request: TurnRequest) -> TurnReply:
        return self._called(lambda: self._planner.turn(request))

    @property
    def is_outside(self) -> bool:
        """See `RespondingPlanner`."""
        return self._planner.is_outside

    def responds_to(self, reply: PlannerReply) -> bool:
        """See `RespondingPlanner`."""
        return self._planner.responds_to(reply)

    def respond(self, ran: RanPlan) -> PlannerReply | PlannerError:
        """See `RespondingPlanner`. An open breaker gives its error, and a missing response does not open it."""
        with self._lock:
            is_open = self._in_a_row >= self._limit()
        if is_open:
            not_called = PlannerCall(seconds=0.0, tries=1)
            message = f"Not asked: the planner cannot be reached. {self._last}"
            return PlannerError(reason=Reason.ENDPOINT_UNAVAILABLE, message=message, call=not_called)
        return self._planner.respond(ran)

    def _called(self, call: Callable[[], _Reply]) -> _Reply:
        with self._preflight:
            if not self._is_proven:
                return self._counted(call)
        return self._counted(call)

    def _counted(self, call: Callable[[], _Reply]) -> _Reply:
        with self._lock:
            last, tasks = self._last, self._limit()
            is_open = self._in_a_row >= tasks
        if is_open:
            row = "for the first task" if tasks == 1 else f"for {tasks} tasks in a row"
            message = f"Not asked: the planner could not be reached {row}. {last}"
            not_called = PlannerCall(seconds=0.0, tries=1)
            raise PlannerError(reason=Reason.ENDPOINT_UNAVAILABLE, message=message, call=not_called)
        try:
            reply = call()
        except PlannerError as error:
            self._count(error)
            raise
        self._count(None)
        return reply

    def _limit(self) -> int:
        return self._after if self._is_proven else 1

    def _count(self, error: PlannerError | None) -> None:
        unavailable = error is not None and error.reason is Reason.ENDPOINT_UNAVAILABLE
        with self._lock:
            if self._in_a_row >= self._limit():
                return  # open already; this was a request in flight
            self._is_proven = self._is_proven or not unavailable
            self._in_a_row = self._in_a_row + 1 if unavailable else 0
            self._last = str(error) if unavailable else ""
