"""Base class of an attempt's calls; heartbeats, secrets, failures and agents' turns."""

from collections.abc import Sequence
from contextlib import suppress
from uuid import UUID

from django.db import DatabaseError, transaction
from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
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

DONE = OpenApiResponse(description="Done.")
ENDED = {409: OpenApiResponse(description="The attempt has ended: `code` is its final state.")}


class AttemptView(APIView):
    """Base class of an attempt's calls."""

    authentication_classes = [WorkerAuthentication]
    permission_classes = [HoldsAttempt]
    throttle_scope = None

    split: str
    is_own: bool
    """Both set by the permission."""

    def store(self) -> Store:
        """The store of the attempt's artefacts and records: hidden data have their own store."""
        return server_store(split=self.split)

    def keep(self, *, attempt_id: UUID, artefacts: Sequence[Artefact]) -> None:
        """Store artefacts.

        Raises:
            TooLargeError: they exceed the upload limit of a self-hosted worker; none was stored.
        """
        store = self.store()
        if not self.is_own:
            store.put_all(artefacts)
            return
        sizes = {artefact.digest: len(artefact.data) for artefact in artefacts}
        new = sum(sizes[digest] for digest in store.lacking(list(sizes)))
        try:
            # In one transaction: artefacts that could not be written are sent again, and must not count twice.
            with transaction.atomic():
                count_upload(attempt_id=attempt_id, size=new)
                store.put_all(artefacts)
        except TooMuchUploadedError as error:
            raise TooLargeError(str(error)) from error

    def handle_exception(self, exc: Exception) -> Response:
        """Respond, and reset the attempt's deadline if the site's storage is unavailable."""
        if is_disk_full(exc) or is_unavailable(exc):
            # If the database is full as well, this fails, but then no deadline can be enforced either.
            with suppress(DatabaseError), transaction.atomic():
                deadlines.note_waiting(self.kwargs["attempt_id"])
        return super().handle_exception(exc)


class HeartbeatView(AttemptView):
    """Renews the attempt's lease."""

    @extend_schema(operation_id="worker_heartbeat", request=Heartbeat, responses={204: DONE, **ENDED})
    def post(self, request: Request, attempt_id: UUID) -> Response:
        leases.heartbeat(attempt_id, phase=validated(Heartbeat, request.data).phase)
        return Response(status=status.HTTP_204_NO_CONTENT)


class SeedView(AttemptView):
    """Returns the seed of the attempt's hidden data, to operators' workers only."""

    @extend_schema(operation_id="worker_seed", responses={200: Seed, **ENDED})
    def get(self, request: Request, attempt_id: UUID) -> HttpResponse:  # noqa: ARG002 - Django's signature
        leases.heartbeat(attempt_id)
        if self.is_own:
            raise PermissionDenied("Hidden data are for operators' workers only.")
        evaluation = Evaluation.runs.select_related("suite").get(shards__attempts=attempt_id)
        try:
            seed = seed_for_workers(evaluation)
        except NoSeedError as error:
            raise NotFound(str(error)) from error
        return _secret(Seed.model_validate(seed))


_LONGEST_ROLE = 40


class SecretHeaderView(AttemptView):
    """Returns the secret header of the attempt's planner, to workers of operators and of the planner's owner."""

    @extend_schema(
        operation_id="worker_secret_header",
        parameters=[OpenApiParameter("role", str, description="Of the strategy: the header of its model.")],
        responses={200: SecretHeader, **ENDED},
    )
    def get(self, request: Request, attempt_id: UUID) -> HttpResponse:
        leases.heartbeat(attempt_id)
        planner = Planner.objects.select_related("secret").get(submissions__evaluations__shards__attempts=attempt_id)
        enrolment = AttemptToken.objects.select_related("token").filter(attempt=attempt_id).first()
        holder = Holder(token=None if enrolment is None else enrolment.token)
        if holder.owner_id not in {None, planner.owner_id}:
            raise PermissionDenied(str(OwnersSecretError()))
        try:
            header = header_of(planner, role=request.query_params.get("role", "")[:_LONGEST_ROLE])
        except HeaderUnreadableError as error:
            raise NotFound(str(error)) from error
        if header is None:
            raise NotFound("This attempt's planner has no secret header.")
        return _secret(SecretHeader(name=header.name, value=SecretStr(header.value)))


def _secret(message: Message) -> HttpResponse:
    """A response that must not be cached."""
    return answer(message, headers={"Cache-Control": "no-store"})


class FailView(AttemptView):
    """Ends an attempt that its worker cannot finish."""

    @extend_schema(operation_id="worker_fail", request=FailRequest, responses={204: DONE, **ENDED})
    def post(self, request: Request, attempt_id: UUID) -> Response:
        failure = validated(FailRequest, request.data)
        # The evaluation's page shows the reason.
        detail = logs.redactor_of_attempt(attempt_id, credential=str(request.auth))(failure.reason)
        leases.give_up(attempt_id=attempt_id, how=failure.how, detail=detail)
        return Response(status=status.HTTP_204_NO_CONTENT)


class NoAgentError(ProblemError):
    """The planner of an attempt is not an agent."""

    code = "no_agent"


class AgentTurnView(AttemptView):
    """Opens a turn for the attempt's agent, and returns its answer once there is one."""

    @extend_schema(operation_id="worker_agent_turn", request=TurnRequest, responses={200: TurnAnswer, **ENDED})
    def post(self, request: Request, attempt_id: UUID) -> HttpResponse:
        message = validated(TurnRequest, request.data)
        leases.heartbeat(attempt_id)
        evaluation = Evaluation.runs.select_related("submission__planner").get(shards__attempts=attempt_id)
        if evaluation.submission.is_regrade or not kind_of(evaluation.submission.planner).is_agent:
            raise NoAgentError("The planner of this attempt is not an agent, and has no turns.")
        if message.ended is not None:
            turns.end_task(evaluation_id=evaluation.pk, end=message.ended)
        if message.turn is None:
            return answer(TurnAnswer())
        return answer(turns.open_turn(evaluation_id=evaluation.pk, turn=message.turn))
