"""The turns of an attempt's agent."""

from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from gpu_jobs.contract import TurnAnswer, TurnRequest
from leaderboard.evaluations.models import Evaluation
from leaderboard.planners.kinds import kind_of
from leaderboard.platform.problems import ProblemError
from leaderboard.queue.agents import turns
from leaderboard.queue.leasing import leases
from leaderboard.queue.web.worker_api.attempts import ENDED, AttemptView
from leaderboard.queue.web.worker_api.messages import answer, validated


class NoAgentError(ProblemError):
    """The planner of an attempt is no agent."""

    code = "no_agent"


class AgentTurnView(AttemptView):
    """Opens a turn for the attempt's agent, and gives its answer once it is there."""

    @extend_schema(operation_id="worker_agent_turn", request=TurnRequest, responses={200: TurnAnswer, **ENDED})
    def post(self, request: Request, attempt_id: UUID) -> HttpResponse:
        told = validated(TurnRequest, request.data)
        leases.heartbeat(attempt_id)
        evaluation = Evaluation.objects.select_related("submission__planner").get(shards__attempts=attempt_id)
        if not kind_of(evaluation.submission.planner).is_agent:
            raise NoAgentError("The planner of this attempt is no agent, so that it has no turns here.")
        if told.ended is not None:
            turns.end_task(evaluation_id=evaluation.pk, end=told.ended)
        if told.turn is None:
            return answer(TurnAnswer())
        return answer(turns.open_turn(evaluation_id=evaluation.pk, turn=told.turn))
