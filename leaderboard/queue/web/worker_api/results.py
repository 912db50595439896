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
    Lease,
    LeaseRequest,
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
    """Takes the results of some tasks."""

    @extend_schema(operation_id="worker_results", request=ResultsRequest, responses={200: ResultsTaken, **ENDED})
    def post(self, request: Request, attempt_id: UUID) -> HttpResponse:
        records = validated(ResultsRequest, request.data).results
        new = deliver(attempt_id=attempt_id, records=records, store=self.store(), credential=str(request.auth))
        return answer(ResultsTaken(new=new))


class LogView(AttemptView):
    """Takes lines of the worker's log. Each line has a number, so that sending them again adds nothing."""

    @extend_schema(operation_id="worker_log", request=LogLines, responses={200: LogTaken, **ENDED})
    def post(self, request: Request, attempt_id: UUID) -> HttpResponse:
        log = validated(LogLines, request.data)
        try:
            return answer(logs.append(attempt_id=attempt_id, log=log, credential=str(request.auth)))
        except logs.GapError as error:
            raise FieldValidationError({"first": [f"{error}."]}) from error


class FinishView(AttemptView):
    """Takes the last that a worker has to say of an attempt, and gives it the next shard."""

    @extend_schema(
        operation_id="worker_finish",
        parameters=[_SESSION],
        request=FinishRequest,
        responses={200: FinishAnswer, **ENDED},
    )
    def post(self, request: Request, attempt_id: UUID) -> HttpResponse:
        last = validated(FinishRequest, request.data)
        finish(attempt_id=attempt_id, last=last, store=self.store(), credential=str(request.auth))
        return answer(FinishAnswer(next=_next(request, wanted=last.next)))


def _next(request: Request, *, wanted: LeaseRequest | None) -> Lease | None:
    if wanted is None:
        return None
    try:
        holder = holder_of_session(request.headers.get(SESSION_HEADER, ""))
    except CredentialRefusedError:
        # What was finished is finished: who may not lease any more learns it from `lease`.
        return None
    return next_lease(holder=holder, wanted=wanted)
