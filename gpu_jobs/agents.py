"""Agents as planners: their turns go to the site, which an agent asks for them over the Model Context Protocol."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from evaluator.core.planner import PlannerError, PlannerReply, PlannerRequest
from evaluator.core.records import PlannerCall, Reason, ResultRecord
from evaluator.core.turns import Formulation, TurnReply, TurnRequest, TurnResponse
from gpu_jobs.client import ApiClient
from gpu_jobs.contract import Lease, OpenTurn, TaskEnd, TurnAnswer
from gpu_jobs.contract import TurnRequest as Told

if TYPE_CHECKING:
    from evaluator.episodes.base import Evaluator

_FIRST_WAIT, _LONGEST_WAIT = 0.02, 2.0
"""Seconds between two looks for an answer: an agent takes seconds, a script none."""


class AgentAway(BaseException):
    """The agent has gone, so that its tasks are given back. No error: `except Exception` lets it pass."""


class AgentTurns:
    """The agent of one lease as a planner in turns. It is asked in the thread of the evaluation."""

    def __init__(self, *, client: ApiClient, lease: Lease, sleep: Callable[[float], None] = time.sleep) -> None:
        """Args:
        client: the API.
        lease: of the attempt.
        sleep: how to wait between two looks.
        """
        self.name = "agent"
        self.episodes_at_once = 1
        self.formulation = Formulation.INTEGRATED
        self._client, self._lease, self._sleep = client, lease, sleep

    def plan(self, request: PlannerRequest) -> PlannerReply:  # noqa: ARG002 - the signature of planners
        """Agents are asked turn by turn only."""
        message = "Agents act in turns: this suite asks for a whole plan."
        raise PlannerError(reason=Reason.INTERNAL_ERROR, message=message, call=PlannerCall(seconds=0.0))

    def turn(self, request: TurnRequest) -> TurnReply:
        """Open a turn and wait for its answer.

        Raises:
            PlannerError: the agent kept the turn for too long.
            AgentAway: it has gone.
        """
        opened = OpenTurn(key=request.key, task=request.task.id, request=request.model_dump_json())
        wait = _FIRST_WAIT
        while True:
            found = self._client.agent_turn(lease=self._lease, told=Told(turn=opened))
            if found.response is not None:
                return _reply(found.response, seconds=found.seconds)
            if found.is_silent:
                raise _silent(found)
            if found.is_away:
                raise AgentAway("its agent has not called for a while")
            self._sleep(wait)
            wait = min(wait * 1.5, _LONGEST_WAIT)

    def turn_all(self, requests: Iterable[TurnRequest]) -> list[TurnReply | PlannerError]:
        """See `BatchTurnPlanner`: one turn, since tasks of agents run one after the other."""
        return [self._turn_or_error(request) for request in requests]

    def records(self, *, evaluator: "Evaluator") -> Iterator[ResultRecord]:
        """Run the tasks of the lease one after the other, and tell the agent when each is over."""
        from evaluator.planners.agents.desk import end_of

        for key in self._lease.tasks:
            task = evaluator.suite.task(key)
            for record in evaluator.run(planner=self, tasks=[key], run=self._lease.evaluation):
                end = end_of(record)
                ended = TaskEnd(task=task.asked_as or task.key, text=end.text, is_error=end.is_error)
                self._client.agent_turn(lease=self._lease, told=Told(ended=ended))
                yield record

    def _turn_or_error(self, request: TurnRequest) -> TurnReply | PlannerError:
        try:
            return self.turn(request)
        except PlannerError as error:
            return error


def _reply(response: str, *, seconds: float) -> TurnReply:
    call = PlannerCall(seconds=round(seconds, 6))
    return TurnReply(response=TurnResponse.model_validate_json(response), call=call)


def _silent(found: TurnAnswer) -> PlannerError:
    message = f"No answer in time: the agent was silent for {found.seconds:.0f} seconds."
    return PlannerError(reason=Reason.PLANNER_TIMEOUT, message=message, call=PlannerCall(seconds=found.seconds))
