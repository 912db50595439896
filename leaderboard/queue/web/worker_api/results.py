"""Results, logs, and the end of an attempt."""

from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import ValidationError as FieldValidationError
from rest_framework.request import Request

from gpu_jobs.contract import (
    SESSION_HEADER,
    FinishAnswer,
    FinishRequest,
    LogLines,
    LogTaken,
    ResultsRequest,
    ResultsTaken,
)
from leaderboard.queue.web.worker_api.attempts import ENDED, AttemptView
from leaderboard.queue.web.worker_api.leasing import next_lease
from leaderboard.queue.web.worker_api.messages import answer, validated
from leaderboard.queue.workers import logs
from leaderboard.queue.workers.finishing import deliver, finish
from leaderboard.queue.workers.sessions import holder_of_session
from leaderboard.queue.workers.tokens import CredentialRefusedError

_SESSION = OpenApiParameter(
    SESSION_HEADER, str, OpenApiParameter.HEADER, description="The session that the next shard is leased with."
)


class ResultsView(AttemptView):
    """Stores results of some tasks."""

    @extend_schema(operation_id="worker_results", request=ResultsRequest, responses={200: ResultsTaken, **ENDED})
    def post(self, request: Request, attempt_id: UUID) -> HttpResponse:
        records = validated(ResultsRequest, request.data).results
        new = deliver(attempt_id=attempt_id, records=records, store=self.store(), credential=str(request.auth))
        return answer(ResultsTaken(new=new))


class LogView(AttemptView):
    """Stores lines of the worker's log. Lines are numbered, so that repeated ones are ignored."""

    @extend_schema(operation_id="worker_log", request=LogLines, responses={200: LogTaken, **ENDED})
    def post(self, request: Request, attempt_id: UUID) -> HttpResponse:
        log = validated(LogLines, request.data)
        try:
            return answer(logs.append(attempt_id=attempt_id, log=log, credential=str(request.auth)))
        except logs.GapError as error:
            raise FieldValidationError({"first": [f"{error}."]}) from error


class FinishView(AttemptView):
    """Completes an attempt with its last results, and leases the next shard."""

    @extend_schema(
        operation_id="worker_finish",
        parameters=[_SESSION],
        request=FinishRequest,
        responses={200: FinishAnswer, **ENDED},
    )
    def post(self, request: Request, attempt_id: UUID) -> HttpResponse:
        last = validated(FinishRequest, request.data)
        finish(attempt_id=attempt_id, last=last, store=self.store(), credential=str(request.auth))
        if last.next is None:
            return answer(FinishAnswer(next=None))
        try:
            holder = holder_of_session(request.headers.get(SESSION_HEADER, ""))
        except CredentialRefusedError:
            # The attempt is completed all the same; `lease` reports the error.
            return answer(FinishAnswer(next=None))
        return answer(FinishAnswer(next=next_lease(holder=holder, request=last.next)))
