"""What the calls of an attempt have in common, its heartbeats, and its secrets."""

from collections.abc import Sequence
from contextlib import suppress
from uuid import UUID

from django.db import DatabaseError, transaction
from django.http import HttpResponse
from drf_spectacular.utils import OpenApiResponse, extend_schema
from pydantic import SecretStr
from rest_framework import status
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from evaluator.core.values import Artefact
from evaluator.execution.engine.store import Store
from gpu_jobs.contract import FailRequest, Heartbeat, Message, SecretHeader, Seed, TurnAnswer, TurnRequest
from leaderboard.catalog.hidden_data import NoSeedError, seed_for_workers
from leaderboard.evaluations import deadlines
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.results.objects import server_store
from leaderboard.planners.kinds import kind_of
from leaderboard.planners.models import Planner
from leaderboard.planners.secret_headers import HeaderUnreadableError, header_of
from leaderboard.platform.api.parsers import TooLargeError
from leaderboard.platform.problems import ProblemError
from leaderboard.platform.storage.bucket import is_unavailable
from leaderboard.platform.storage.disk_space import is_disk_full
from leaderboard.queue.agents import turns
from leaderboard.queue.leasing import leases
from leaderboard.queue.models import AttemptToken
from leaderboard.queue.web.worker_api.leasing import OwnersSecretError
from leaderboard.queue.web.worker_api.messages import answer, validated
from leaderboard.queue.workers import logs
from leaderboard.queue.workers.authentication import HoldsAttempt, WorkerAuthentication
from leaderboard.queue.workers.own import TooMuchUploadedError, count_upload
from leaderboard.queue.workers.tokens import Holder

DONE = OpenApiResponse(description="It is done.")
ENDED = {409: OpenApiResponse(description="The attempt is not live any more: `code` says how it ended.")}


class AttemptView(APIView):
    """What the calls of an attempt have in common."""

    authentication_classes = [WorkerAuthentication]
    permission_classes = [HoldsAttempt]
    throttle_scope = None

    split: str
    is_own: bool
    """Set by the permission, both."""

    def store(self) -> Store:
        """Where the artefacts and records of the attempt's evaluation are kept: hidden data have their own store."""
        return server_store(split=self.split)

    def keep(self, *, attempt_id: UUID, artefacts: Sequence[Artefact]) -> None:
        """Keep artefacts, as far as an own worker may send so many.

        Raises:
            TooLargeError: it may not; none was kept.
        """
        store = self.store()
        if not self.is_own:
            store.put_all(artefacts)
            return
        sizes = {artefact.digest: len(artefact.data) for artefact in artefacts}
        new = sum(sizes[digest] for digest in store.lacking(list(sizes)))
        try:
            # What could not be written is sent again, and is not counted twice.
            with transaction.atomic():
                count_upload(attempt_id=attempt_id, size=new)
                store.put_all(artefacts)
        except TooMuchUploadedError as error:
            raise TooLargeError(str(error)) from error

    def handle_exception(self, exc: Exception) -> Response:
        """Answer, and give the attempt its full time again if the site cannot store what it sends."""
        if is_disk_full(exc) or is_unavailable(exc):
            # Without effect where the database has no room: then nothing finds the deadline to have passed.
            with suppress(DatabaseError), transaction.atomic():
                deadlines.note_waiting(self.kwargs["attempt_id"])
        return super().handle_exception(exc)


class HeartbeatView(AttemptView):
    """Keeps the attempt alive."""

    @extend_schema(operation_id="worker_heartbeat", request=Heartbeat, responses={204: DONE, **ENDED})
    def post(self, request: Request, attempt_id: UUID) -> Response:
        leases.heartbeat(attempt_id, phase=validated(Heartbeat, request.data).phase)
        return Response(status=status.HTTP_204_NO_CONTENT)


class SeedView(AttemptView):
    """Gives the seed of the attempt's hidden data to a worker of the operator's."""

    @extend_schema(operation_id="worker_seed", responses={200: Seed, **ENDED})
    def get(self, request: Request, attempt_id: UUID) -> HttpResponse:  # noqa: ARG002 - Django's signature
        leases.heartbeat(attempt_id)
        if self.is_own:
            raise PermissionDenied("Hidden data are for the operator's workers only.")
        evaluation = Evaluation.runs.select_related("suite").get(shards__attempts=attempt_id)
        try:
            seed = seed_for_workers(evaluation)
        except NoSeedError as error:
            raise NotFound(str(error)) from error
        return _secret(Seed.model_validate(seed))


class SecretHeaderView(AttemptView):
    """Gives the secret header of the attempt's planner to a worker of the operator's or of the planner's owner."""

    @extend_schema(operation_id="worker_secret_header", responses={200: SecretHeader, **ENDED})
    def get(self, request: Request, attempt_id: UUID) -> HttpResponse:  # noqa: ARG002 - Django's signature
        leases.heartbeat(attempt_id)
        planner = Planner.objects.select_related("secret").get(submissions__evaluations__shards__attempts=attempt_id)
        enrolment = AttemptToken.objects.select_related("token").filter(attempt=attempt_id).first()
        holder = Holder(token=None if enrolment is None else enrolment.token)
        if holder.owner_id not in {None, planner.owner_id}:
            raise PermissionDenied(str(OwnersSecretError()))
        try:
            header = header_of(planner)
        except HeaderUnreadableError as error:
            raise NotFound(str(error)) from error
        if header is None:
            raise NotFound("This attempt's planner has no secret header.")
        return _secret(SecretHeader(name=header.name, value=SecretStr(header.value)))


def _secret(message: Message) -> HttpResponse:
    """An answer that no cache keeps."""
    return answer(message, headers={"Cache-Control": "no-store"})


class FailView(AttemptView):
    """Ends the attempt: its worker cannot go on."""

    @extend_schema(operation_id="worker_fail", request=FailRequest, responses={204: DONE, **ENDED})
    def post(self, request: Request, attempt_id: UUID) -> Response:
        given = validated(FailRequest, request.data)
        # The reason stands on the evaluation's page.
        detail = logs.redactor_of_attempt(attempt_id, credential=str(request.auth))(given.reason)
        leases.give_up(attempt_id=attempt_id, how=given.how, detail=detail)
        return Response(status=status.HTTP_204_NO_CONTENT)


class NoAgentError(ProblemError):
    """The planner of an attempt is no agent."""

    code = "no_agent"


class AgentTurnView(AttemptView):
    """Opens a turn for the attempt's agent, and gives its answer once it is there."""

    @extend_schema(operation_id="worker_agent_turn", request=TurnRequest, responses={200: TurnAnswer, **ENDED})
    def post(self, request: Request, attempt_id: UUID) -> HttpResponse:
        told = validated(TurnRequest, request.data)
        leases.heartbeat(attempt_id)
        evaluation = Evaluation.runs.select_related("submission__planner").get(shards__attempts=attempt_id)
        if not kind_of(evaluation.submission.planner).is_agent:
            raise NoAgentError("The planner of this attempt is no agent, so that it has no turns here.")
        if told.ended is not None:
            turns.end_task(evaluation_id=evaluation.pk, end=told.ended)
        if told.turn is None:
            return answer(TurnAnswer())
        return answer(turns.open_turn(evaluation_id=evaluation.pk, turn=told.turn))
