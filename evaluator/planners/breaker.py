"""A circuit breaker for planners behind HTTP: one that cannot be reached is not called for each task that is left."""

import threading
from collections.abc import Callable
from typing import Protocol, TypeVar

from evaluator.core.planner import Planner, PlannerError, PlannerReply, PlannerRequest
from evaluator.core.records import PlannerCall, Reason
from evaluator.core.turns import TurnPlanner, TurnReply, TurnRequest

UNREACHABLE_TASKS = 5
"""Tasks in a row that could not reach their planner after which it is not asked any more."""


_Reply = TypeVar("_Reply", PlannerReply, TurnReply)


class _PlansAndTurns(Planner, TurnPlanner, Protocol):
    """What is behind HTTP answers both."""


class CircuitBreaker:
    """A planner that fails at once when the planner behind it was unavailable too often in a row.

    It never closes again. To retry the planner, make a new breaker, as a worker does for each lease.
    """

    def __init__(self, planner: _PlansAndTurns, *, after: int = UNREACHABLE_TASKS, has_preflight: bool = False) -> None:
        """Args:
        planner: who is asked.
        after: how many tasks in a row it may be unavailable for, at least 1.
        has_preflight: whether the first task is asked alone, and no other one if it does not reach the planner.
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
        """See `Planner.plan`."""
        return self._called(lambda: self._planner.plan(request))

    def turn(self, request: TurnRequest) -> TurnReply:
        """See `TurnPlanner.turn`."""
        return self._called(lambda: self._planner.turn(request))

    def _called(self, call: Callable[[], _Reply]) -> _Reply:
        with self._preflight:
            if not self._is_proven:
                return self._counted(call)
        return self._counted(call)

    def _counted(self, call: Callable[[], _Reply]) -> _Reply:
        with self._lock:
            is_open, last, tasks = self._in_a_row >= self._limit(), self._last, self._limit()
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
                # Answers to requests that were under way change nothing any more.
                return
            self._is_proven = self._is_proven or not unavailable
            self._in_a_row = self._in_a_row + 1 if unavailable else 0
            self._last = str(error) if unavailable else ""
