"""Asking a planner about the results of its plans in one run: only where they may leave the worker, and within bounds.

A worker waits for each response while it executes plans, so a planner that fails or is slow is not asked without end.
"""

import time
from collections.abc import Callable

from evaluator.core.planner import Planner, PlannerError, PlannerReply, RanPlan, RespondingPlanner
from evaluator.core.records import PlannerCall, Reason

MOST_FAILURES = 5
"""Failed responses in a row after which a planner is not asked again in this run, as a breaker counts plans."""
MOST_SECONDS = 600.0
"""Time of responses in one run after which the planner is not asked again, as of a rater."""


class Responding:
    """A planner that is asked about its results in one run. Not thread-safe."""

    def __init__(self, planner: Planner, *, is_hidden: bool, clock: Callable[[], float] = time.monotonic) -> None:
        """Args:
        planner: any planner; only a `RespondingPlanner` is asked.
        is_hidden: whether the data are hidden: then only models on the worker are asked, since the owner of another
            server would get the results, and know from the request that the plan ran.
        clock: for tests.
        """
        self._planner: RespondingPlanner | None = None
        if isinstance(planner, RespondingPlanner) and not (is_hidden and planner.is_outside):
            self._planner = planner
        self._clock = clock
        self._failures = 0
        self._seconds = 0.0

    def is_promised(self, reply: PlannerReply) -> bool:
        """Whether the planner promised a response with this plan, and may be asked for it."""
        return self._planner is not None and self._planner.responds_to(reply)

    def respond(self, ran: RanPlan) -> PlannerReply | PlannerError:
        """The response, which is a text that is not blank, or why there is none.

        Before: it is promised.
        """
        assert self._planner is not None, "nothing is promised"
        if self._failures >= MOST_FAILURES:
            return _not_asked(f"the planner gave no response {self._failures} times in a row")
        if self._seconds >= MOST_SECONDS:
            return _not_asked(f"the planner took {self._seconds:.0f} s for earlier responses")
        started = self._clock()
        end = self._planner.respond(ran)
        self._seconds += self._clock() - started
        if not isinstance(end, PlannerError) and not str(end.plan).strip():
            end = PlannerError(reason=Reason.INVALID_RESPONSE, message="The response is empty.", call=end.call)
        self._failures = self._failures + 1 if isinstance(end, PlannerError) else 0
        return end


def _not_asked(why: str) -> PlannerError:
    call = PlannerCall(seconds=0.0)
    return PlannerError(reason=Reason.PLANNER_TIMEOUT, message=f"Not asked: {why}.", call=call)
