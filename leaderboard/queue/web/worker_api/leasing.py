"""Sessions and leases."""

import time

from django.conf import settings
from django.db.models import Q
from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from evaluator.core.suites.base import Panel
from evaluator.core.suites.hidden import HIDDEN
from gpu_jobs.contract import (
    RUNS_WAIT_HEADER,
    WORK_LEFT_HEADER,
    GivenUp,
    Lease,
    LeaseRequest,
    RecordedPlanner,
    Session,
    SessionRequest,
)
from gpu_jobs.tracing.spans import traceparent
from leaderboard.catalog.hidden_data import FACTS
from leaderboard.catalog.library import NotReadyError
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.results.recorded_answers import AnswersLostError, answers_for
from leaderboard.planners import roles
from leaderboard.planners.kinds import KINDS, kind_of
from leaderboard.planners.secret_headers import HeaderUnreadableError
from leaderboard.platform.tracing.evaluations import lease_span
from leaderboard.queue import beside
from leaderboard.queue.leasing import leases, next_shard
from leaderboard.queue.shards import asks_submitted_planner
from leaderboard.queue.web.worker_api.messages import answer, validated
from leaderboard.queue.workers.authentication import HasWorkerSession, IsEnrolled, WorkerAuthentication
from leaderboard.queue.workers.sessions import open_session
from leaderboard.queue.workers.tokens import Holder, note_lease

_SLICED_HEARTBEAT_SECONDS = 5
_WITHOUT_ROLES = Q(submission__planner__role_kinds=[])
"""Evaluations whose planners have no models of roles."""
_WITHOUT_ENDPOINT_ROLES = ~(
    Q(submission__planner__role_kinds__overlap=[kind for kind in KINDS if KINDS[kind].is_new_in_roles])
    | Q(submission__planner__kind__in=[kind for kind in KINDS if not KINDS[kind].has_main_model])
)
"""Evaluations whose planners have no endpoints as models of roles, and a main model."""
_ASKS_PLANNER = Q(submission__is_regrade=False)
"""Evaluations that do not score stored answers again."""
_WHOLE_PLANS = ~Q(suite__panels__contains=[Panel.TRANSCRIPT])
"""Evaluations of suites whose planners answer once."""
_HEARTBEATS_PER_SLICE = 4
"""Limits the excess over a time slice to a quarter."""
_WORK_LEFT = OpenApiParameter(
    WORK_LEFT_HEADER,
    str,
    OpenApiParameter.HEADER,
    response=[204],
    enum=["0", "1"],
    description="If the request names an evaluation: `1` while it has unfinished shards, else `0`.",
)


class LeaseView(APIView):
    """Leases a shard to a worker."""

    authentication_classes = [WorkerAuthentication]
    permission_classes = [HasWorkerSession]
    throttle_scope = None
    holder: Holder
    """Set by the permission."""

    @extend_schema(
        operation_id="worker_lease",
        parameters=[_WORK_LEFT],
        request=LeaseRequest,
        responses={200: Lease, 204: OpenApiResponse(description="No shard may be leased now.")},
    )
    def post(self, request: Request) -> HttpResponse | Response:
        message = validated(LeaseRequest, request.data)
        lease = next_lease(holder=self.holder, request=message)
        if lease is not None:
            return answer(lease)
        headers = {}
        if message.evaluation is not None:
            # In the holder's scope, so that nothing leaks about evaluations that the worker may not lease.
            left = leases.is_work_left(evaluation_id=message.evaluation, suites=message.suites, scope=self.holder.scope)
            headers[WORK_LEFT_HEADER] = "1" if left else "0"
        elif _may_run(message) and beside.has_work_for(self.holder):
            headers[RUNS_WAIT_HEADER] = "1"
        return Response(status=status.HTTP_204_NO_CONTENT, headers=headers)


class OwnersSecretError(Exception):
    """Only workers of its owner and of operators may get a planner's secrets."""

    def __init__(self) -> None:
        super().__init__("only a worker of its planner's owner may run this, since it gets the planner's secrets")


def next_lease(*, holder: Holder, request: LeaseRequest) -> Lease | None:
    """The next lease for a worker; None if nothing is due that it may run, or other work comes first."""
    started = time.time_ns()
    if _may_run(request) and beside.comes_first(holder=holder, worker=holder.name(request.worker)):
        return None
    leased = leases.lease(
        worker=holder.name(request.worker),
        suites=request.suites,
        evaluation_id=request.evaluation,
        scope=_scope_of(holder, request=request),
        token=request.token,
        pool=holder.pool(suites=request.suites, evaluation_id=request.evaluation),
    )
    if leased is None or not note_lease(attempt_id=leased.attempt.pk, holder=holder):
        return None
    try:
        with lease_span(leased.attempt, evaluation=leased.evaluation.pk, started=started):
            return _message_of(leased, holder=holder)
    except (AnswersLostError, HeaderUnreadableError, OwnersSecretError, NotReadyError) as error:
        leases.give_up(attempt_id=leased.attempt.pk, how=GivenUp.FAILED, detail=str(error))
        return None


def _scope_of(holder: Holder, *, request: LeaseRequest) -> Q:
    """The evaluations whose leases a worker of this release understands."""
    scope = holder.scope if request.knows_roles else holder.scope & _WITHOUT_ROLES
    scope = scope if request.knows_endpoint_roles else scope & _WITHOUT_ENDPOINT_ROLES
    if not request.knows_records:
        return scope & _ASKS_PLANNER
    return scope if request.knows_recorded_turns else scope & (_ASKS_PLANNER | _WHOLE_PLANS)


def _may_run(request: LeaseRequest) -> bool:
    """Whether a worker takes runs of the workbench."""
    return request.knows_runs and request.evaluation is None and request.suites is None


def _message_of(lease: next_shard.Lease, *, holder: Holder) -> Lease:
    evaluation, planner = lease.evaluation, lease.evaluation.submission.planner
    is_regrade = evaluation.submission.is_regrade
    if not is_regrade and roles.has_secret(planner) and holder.owner_id not in {None, planner.owner_id}:
        raise OwnersSecretError
    return Lease(
        attempt=str(lease.attempt.pk),
        token=lease.token,
        expires_in=settings.LEASE_SECONDS,
        heartbeat_seconds=_heartbeat_seconds(evaluation),
        evaluation=str(evaluation.pk),
        suite=evaluation.suite.slug,
        suite_digest=evaluation.suite.digest,
        profile=evaluation.profile,
        profile_digest=evaluation.profile_digest,
        split=evaluation.split,
        samples=evaluation.samples,
        data_digest=evaluation.data_digest,
        **{name: evaluation.provenance.get(name, "") for name in FACTS},
        needs_seed=evaluation.split == HIDDEN,
        perturbation=evaluation.perturbation,
        repetition=evaluation.repetition,
        planner=RecordedPlanner(records=answers_for(evaluation, tasks=lease.tasks))
        if is_regrade
        else roles.leased(kind_of(planner).lease(planner=planner, tasks=lease.tasks), planner=planner),
        tasks=tuple(lease.tasks),
        traceparent=traceparent(),
    )


def _heartbeat_seconds(evaluation: Evaluation) -> int:
    """Interval of heartbeats. It is short for submitted planners, which give way at heartbeats (`time_slices`)."""
    seconds = min(settings.HEARTBEAT_SECONDS, settings.LEASE_SECONDS // 4)
    if asks_submitted_planner(evaluation.submission):
        seconds = min(seconds, _SLICED_HEARTBEAT_SECONDS)
        if settings.SLICE_SECONDS:
            seconds = min(seconds, settings.SLICE_SECONDS // _HEARTBEATS_PER_SLICE)
    return max(1, seconds)


class SessionView(APIView):
    """Opens a session for an enrolled worker."""

    authentication_classes = [WorkerAuthentication]
    permission_classes = [IsEnrolled]
    throttle_scope = None

    @extend_schema(operation_id="worker_session", request=SessionRequest, responses={201: Session})
    def post(self, request: Request) -> HttpResponse:
        message = validated(SessionRequest, request.data)
        session = open_session(
            enrolment=str(request.auth), evaluation_id=message.evaluation, suites=message.suites,
            gpu_memory_bytes=message.gpu_memory_bytes,
        )  # fmt: skip
        return answer(session, code=status.HTTP_201_CREATED)
