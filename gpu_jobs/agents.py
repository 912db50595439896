"""Agents as planners: the worker opens turns on the site, and the agent gets them over the Model Context Protocol."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from evaluator.core.planner import PlannerError, PlannerReply, PlannerRequest
from evaluator.core.records import PlannerCall, Reason, ResultRecord
from evaluator.core.turns import Formulation, TurnReply, TurnRequest, TurnResponse
from gpu_jobs.client import ApiClient
from gpu_jobs.contract import Lease, OpenTurn, TaskEnd
from gpu_jobs.contract import TurnRequest as TurnMessage

if TYPE_CHECKING:
    from evaluator.episodes.base import Evaluator

_FIRST_WAIT, _LONGEST_WAIT = 0.02, 2.0
"""Seconds between polls: an agent takes seconds, a script hardly any time."""


class AgentAway(BaseException):
    """The agent is absent, so that its tasks are returned. Not caught by `except Exception`."""


class AgentTurns:
    """The agent of one lease as a planner in turns. Called in the thread of the evaluation."""

    def __init__(self, *, client: ApiClient, lease: Lease, sleep: Callable[[float], None] = time.sleep) -> None:
        """Args:
        client: the API.
        lease: of the attempt.
        sleep: for tests.
        """
        self.name = "agent"
        self.episodes_at_once = 1
        self.formulation = Formulation.INTEGRATED
        self._client, self._lease, self._sleep = client, lease, sleep

    def plan(self, request: PlannerRequest) -> PlannerReply:  # noqa: ARG002 - the signature of planners
        """Not supported: agents act in turns."""
        message = "Agents act in turns: this suite asks for a whole plan."
        raise PlannerError(reason=Reason.INTERNAL_ERROR, message=message, call=PlannerCall(seconds=0.0))

    def turn(self, request: TurnRequest) -> TurnReply:
        """Open a turn and wait for its answer.

        Raises:
            PlannerError: the agent did not answer in time.
            AgentAway: it is absent.
        """
        message = TurnMessage(turn=OpenTurn(key=request.key, task=request.task.id, request=request.model_dump_json()))
        wait = _FIRST_WAIT
        while True:
            answer = self._client.agent_turn(lease=self._lease, message=message)
            if answer.response is not None:
                call = PlannerCall(seconds=round(answer.seconds, 6))
                return TurnReply(response=TurnResponse.model_validate_json(answer.response), call=call)
            if answer.is_silent:
                text = f"No answer in time: the agent was silent for {answer.seconds:.0f} seconds."
                call = PlannerCall(seconds=answer.seconds)
                raise PlannerError(reason=Reason.PLANNER_TIMEOUT, message=text, call=call)
            if answer.is_away:
                raise AgentAway("its agent has not called for a while")
            self._sleep(wait)
            wait = min(wait * 1.5, _LONGEST_WAIT)

    def turn_all(self, requests: Iterable[TurnRequest]) -> list[TurnReply | PlannerError]:
        """See `BatchTurnPlanner`."""
        replies: list[TurnReply | PlannerError] = []
        for request in requests:
            try:
                replies.append(self.turn(request))
            except PlannerError as error:
                replies.append(error)
        return replies

    def records(self, *, evaluator: "Evaluator") -> Iterator[ResultRecord]:
        """Run the tasks of the lease one after the other, and report the end of each to the agent."""
        from evaluator.planners.agents.desk import end_of

        for key in self._lease.tasks:
            task = evaluator.suite.task(key)
            for record in evaluator.run(planner=self, tasks=[key], run=self._lease.evaluation):
                end = end_of(record)
                ended = TaskEnd(task=task.asked_as or task.key, text=end.text, is_error=end.is_error)
                self._client.agent_turn(lease=self._lease, message=TurnMessage(ended=ended))
                yield record
