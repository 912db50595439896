"""The workers' calls of runs.

    GET  worker/runs/announced/?seconds=N     session             RunsAnnounced, as soon as a run waits
    POST worker/runs/lease/                   session             LeaseRequest -> RunLease, or 204
    GET  worker/runs/<id>/files/<number>/     run's credential    bytes of a file, as uploaded or stored
    POST worker/runs/<id>/objects/            run's credential    a bundle (`gpu_jobs.bundles`) -> BundleTaken
    POST worker/runs/<id>/events/             run's credential    RunEvents -> 204; without events a heartbeat
    POST worker/runs/<id>/return/             run's credential    FailRequest -> 204

Every call is idempotent. A call of a run that has ended, or that another worker has, gets 409.
"""

import re
from uuid import UUID

from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.exceptions import ValidationError as FieldValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from evaluator.execution.engine.store import ObjectDamagedError, ObjectMissingError
from gpu_jobs import bundles
from gpu_jobs.contract import (
    LONGEST_WAIT_SECONDS,
    BundledPlanner,
    BundleTaken,
    FailRequest,
    LeaseRequest,
    RunEvents,
    RunLease,
    RunMark,
    RunsAnnounced,
)
from gpu_jobs.contract import RunFile as SentFile
from leaderboard.evaluations.results.objects import server_store
from leaderboard.planners import roles
from leaderboard.planners.kinds import kind_of
from leaderboard.queue.beside import serves_everybody
from leaderboard.queue.web.worker_api.attempts import DONE
from leaderboard.queue.web.worker_api.messages import answer, validated
from leaderboard.queue.web.worker_api.received_bundles import received_artefacts
from leaderboard.queue.workers.authentication import HasWorkerSession, WorkerAuthentication
from leaderboard.queue.workers.tokens import Holder
from leaderboard.workbench import leasing
from leaderboard.workbench.asking import history_of
from leaderboard.workbench.models import Run, RunFile
from leaderboard.workbench.web.live import announced

_ONLY_OPERATORS = "Only operators' workers that serve all evaluations run requests of the workbench."
_SECONDS = re.compile(r"[0-9]{1,2}(\.[0-9]{1,3})?", re.ASCII)
_OVER = {409: OpenApiResponse(description="The run has ended, or another worker has it.")}


class RunLeaseView(APIView):
    """Leases a run of the workbench to an operator's worker."""

    authentication_classes = [WorkerAuthentication]
    permission_classes = [HasWorkerSession]
    throttle_scope = None
    holder: Holder
    """Set by the permission."""

    @extend_schema(
        operation_id="worker_run_lease",
        request=LeaseRequest,
        responses={200: RunLease, 204: OpenApiResponse(description="No run waits.")},
    )
    def post(self, request: Request) -> HttpResponse | Response:
        message = validated(LeaseRequest, request.data)
        if not serves_everybody(self.holder):
            raise PermissionDenied(_ONLY_OPERATORS)
        leased = leasing.lease(worker=message.worker, token=message.token)
        if leased is None:
            return Response(status=status.HTTP_204_NO_CONTENT)
        return answer(_message_of(leased), headers={"Cache-Control": "no-store"})


def _message_of(leased: leasing.LeasedRun) -> RunLease:
    run = leased.run
    planner = None
    if run.plan is None:
        row = run.planner
        planner = (
            BundledPlanner(name=run.bundled_name)
            if row is None
            else roles.leased(kind_of(row).lease(planner=row, tasks=()), planner=row)
        )
    return RunLease(
        run=str(run.pk),
        token=leased.token,
        expires_in=leasing.LEASE_SECONDS,
        heartbeat_seconds=leasing.HEARTBEAT_SECONDS,
        suite=run.suite,
        profile=run.profile,
        request=run.text,
        files=tuple(
            SentFile(number=file.number, name=file.name, type=file.type, media_type=file.media_type)
            for file in run.files.all()
        ),
        marks=tuple(RunMark.model_validate(mark) for mark in run.marks),
        history=tuple(history_of(run)),
        planner=planner,
        plan=run.plan,
    )


class RunsAnnouncedView(APIView):
    """Answers an operator's worker as soon as a run waits, or after as many seconds as it waits at most."""

    authentication_classes = [WorkerAuthentication]
    permission_classes = [HasWorkerSession]
    throttle_scope = None
    holder: Holder
    """Set by the permission."""

    @extend_schema(
        operation_id="worker_runs_announced",
        parameters=[OpenApiParameter("seconds", OpenApiTypes.FLOAT, description="At most 20; by default 0.")],
        responses={200: RunsAnnounced},
    )
    def get(self, request: Request) -> HttpResponseBase:
        if not serves_everybody(self.holder):
            raise PermissionDenied(_ONLY_OPERATORS)
        text = request.query_params.get("seconds", "0")
        if not _SECONDS.fullmatch(text) or float(text) > LONGEST_WAIT_SECONDS:
            raise FieldValidationError({"seconds": [f"It must be a number from 0 to {LONGEST_WAIT_SECONDS:g}."]})
        return StreamingHttpResponse(announced(seconds=float(text)), content_type="application/json")


class HeldRunView(APIView):
    """Base class of the calls of a run."""

    authentication_classes = [WorkerAuthentication]
    permission_classes = []
    throttle_scope = None

    def held(self, request: Request, run_id: UUID) -> Run:
        """The run of the caller's credential."""
        return leasing.held(run_id=run_id, token=str(request.auth))


class RunFileView(HeldRunView):
    """Returns the bytes of a file."""

    @extend_schema(
        operation_id="worker_run_file", responses={(200, "application/octet-stream"): OpenApiTypes.BINARY, **_OVER}
    )
    def get(self, request: Request, run_id: UUID, number: int) -> HttpResponse:
        file = RunFile.objects.filter(run=self.held(request, run_id), number=number).first()
        if file is None:
            raise NotFound("This run has no such file.")
        if file.data is not None:
            data = bytes(file.data)
        else:
            try:
                data = server_store(split="").get(file.digest).data
            except (ObjectMissingError, ObjectDamagedError) as error:
                raise NotFound("The store has lost this file.") from error
        return HttpResponse(data, content_type="application/octet-stream")


class RunObjectsView(HeldRunView):
    """Stores artefacts of a run."""

    @extend_schema(
        operation_id="worker_run_objects",
        request={bundles.CONTENT_TYPE: OpenApiTypes.BINARY},
        responses={200: BundleTaken, **_OVER},
    )
    def post(self, request: Request, run_id: UUID) -> HttpResponse:
        self.held(request, run_id)
        artefacts, problems = received_artefacts(request)
        server_store(split="").put_all(artefacts)
        return answer(BundleTaken(kept=len(artefacts), refused=problems))


class RunEventsView(HeldRunView):
    """Stores events of a run."""

    @extend_schema(operation_id="worker_run_events", request=RunEvents, responses={204: DONE, **_OVER})
    def post(self, request: Request, run_id: UUID) -> Response:
        message = validated(RunEvents, request.data)
        leasing.take_events(run_id=run_id, token=str(request.auth), first=message.first, events=message.events)
        return Response(status=status.HTTP_204_NO_CONTENT)


class RunReturnView(HeldRunView):
    """Takes a run back from its worker."""

    @extend_schema(operation_id="worker_run_return", request=FailRequest, responses={204: DONE, **_OVER})
    def post(self, request: Request, run_id: UUID) -> Response:
        message = validated(FailRequest, request.data)
        leasing.give_back(run_id=run_id, token=str(request.auth), how=message.how, reason=message.reason)
        return Response(status=status.HTTP_204_NO_CONTENT)
