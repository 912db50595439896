"""The API for people and pipelines. What happens is in the services; here it is only read and shown."""

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.db.models import Case, Count, F, OuterRef, Prefetch, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import generics, status
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.exceptions import ValidationError as FieldValidationError
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from evaluator.engine.store import ObjectDamagedError, ObjectMissingError
from evaluator.records import Outcome
from evaluator.suites.reference_rows import reference_digest, reference_tables
from leaderboard.accounts.operators import is_operator
from leaderboard.accounts.scopes import Scope
from leaderboard.accounts.services import create_token, revoke_token, tokens_of
from leaderboard.accounts.teams import teams_of
from leaderboard.api import serializers as shapes
from leaderboard.api.authentication import ApiTokenAuthentication, PasswordAuthentication
from leaderboard.api.permissions import LOGGED_IN
from leaderboard.api.selection import Selected
from leaderboard.boards.services import latest_snapshot
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations import services
from leaderboard.evaluations.acting import acted_on_by, may_act
from leaderboard.evaluations.conditions import HIDDEN_SPLIT
from leaderboard.evaluations.idempotency import submit_once
from leaderboard.evaluations.models import Evaluation, EvaluationState, Submission, TaskResult
from leaderboard.evaluations.objects import server_store
from leaderboard.evaluations.rerunning import rerun
from leaderboard.field_errors import FieldErrors
from leaderboard.planners.services import PlannerData
from leaderboard.quotas.services import quotas_of, quotas_of_teams
from leaderboard.workers import verification
from leaderboard.workers.models import Verification
from leaderboard.workers.own import submit_for_own_worker

_NEWEST_FIRST = ("-created", "-id")

_CONFLICT = OpenApiResponse(OpenApiTypes.OBJECT, description="The evaluation's state does not allow this now.")

_NO_QUOTA = OpenApiResponse(OpenApiTypes.OBJECT, description="The quota of today is used up; see `Retry-After`.")

_NOT_READY = OpenApiResponse(OpenApiTypes.OBJECT, description="The site cannot evaluate at present.")

_REUSED = OpenApiResponse(OpenApiTypes.OBJECT, description="The `Idempotency-Key` came before with another request.")

_KEY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description="Up to 255 characters of your own. The same request with the same key within 24 hours gives the first "
    "answer's submission, with `Idempotent-Replayed: true`, and submits nothing.",
)


def _evaluations() -> QuerySet[Evaluation]:
    related = Evaluation.objects.select_related(
        "suite", "submission__planner__owner", "submission__submitted_by", "submission__team", "own_worker_run"
    )
    return related.prefetch_related("reruns").annotate(done=_done()).order_by(*_NEWEST_FIRST)


def _done() -> Case:
    """How many tasks have ended. Of completed evaluations all have, so that only a page's others are counted."""
    results = TaskResult.objects.filter(evaluation=OuterRef("pk")).order_by().values("evaluation")
    counted = Coalesce(Subquery(results.annotate(rows=Count("pk")).values("rows")), Value(0))
    return Case(When(state=EvaluationState.COMPLETED, then=F("tasks_total")), default=counted)


class SubmissionsView(Selected, generics.ListCreateAPIView[Submission]):
    """Submit a planner, or list one's own submissions and those of one's teams."""

    serializer_class = shapes.SubmissionOutput
    permission_classes = LOGGED_IN
    scope = Scope.SUBMIT
    throttle_scope = "submissions"
    ordering = _NEWEST_FIRST

    def get_queryset(self) -> QuerySet[Submission]:
        if getattr(self, "swagger_fake_view", False):
            return Submission.objects.none()
        return _submissions().filter(acted_on_by(self.request.user))

    @extend_schema(
        parameters=[_KEY],
        request=shapes.SubmissionInput,
        responses={201: shapes.SubmissionOutput, 422: _REUSED, 429: _NO_QUOTA, 503: _NOT_READY},
    )
    def post(self, request: Request, *args: Any, **kwargs: Any) -> Response:  # noqa: ARG002 - the base class's
        body = shapes.SubmissionInput(data=request.data)
        body.is_valid(raise_exception=True)
        data = services.SubmissionData(
            planner=PlannerData(**body.validated_data["planner"]),
            suites=body.validated_data["suites"],
            team=body.validated_data["team"],
        )
        submit = submit_for_own_worker if body.validated_data["own_worker"] else services.submit
        try:
            return _submitted(
                request=request, asked=body.validated_data, submit=lambda: submit(user=request.user, data=data)
            )
        except FieldErrors as error:
            raise FieldValidationError(_nested(error)) from error


def _submitted(*, request: Request, asked: Any, submit: Callable[[], Submission]) -> Response:
    """Submit once for each `Idempotency-Key`, and answer with the submission."""
    once = submit_once(
        user=request.user, key=request.headers.get("Idempotency-Key"), request=[request.path, asked], submit=submit
    )
    shown = shapes.SubmissionOutput(_submissions().get(pk=once.submission.pk), context={"request": request})
    headers = {"Idempotent-Replayed": "true"} if once.repeated else {}
    return Response(shown.data, status=status.HTTP_201_CREATED, headers=headers)


def _nested(error: FieldErrors) -> dict[str, Any]:
    """The errors under the names that the fields have in the body: most are the planner's."""
    outside = {field: texts for field, texts in error.errors.items() if field in {"suites", "own_worker", "team"}}
    planner = {field: texts for field, texts in error.errors.items() if field not in outside}
    return {**({"planner": planner} if planner else {}), **outside}


def _submissions() -> QuerySet[Submission]:
    return Submission.objects.select_related("planner__owner", "submitted_by", "team").prefetch_related(
        Prefetch("evaluations", queryset=_evaluations().filter(verifies=None))
    )


class SubmissionView(Selected, generics.RetrieveAPIView[Submission]):
    """One submission. Public, but for the planner's address."""

    serializer_class = shapes.SubmissionOutput
    lookup_url_kwarg = "submission_id"

    def get_queryset(self) -> QuerySet[Submission]:
        return _submissions()


@extend_schema(
    parameters=[
        OpenApiParameter("suite", str, description="Slug of a suite."),
        OpenApiParameter("state", str, enum=EvaluationState.values),
        OpenApiParameter("mine", bool, description="Only the caller's own and their teams'."),
    ]
)
class EvaluationsView(Selected, generics.ListAPIView[Evaluation]):
    """All evaluations, newest first. Verifications are listed with what they verify."""

    serializer_class = shapes.EvaluationOutput
    ordering = _NEWEST_FIRST

    def get_queryset(self) -> QuerySet[Evaluation]:
        found = _evaluations().filter(verifies=None)
        if suite := self.request.query_params.get("suite"):
            found = found.filter(suite__slug=_choice("suite", suite, list(_suite_slugs())))
        if state := self.request.query_params.get("state"):
            found = found.filter(state=_choice("state", state, EvaluationState.values))
        if self.request.query_params.get("mine", "").lower() in {"1", "true"}:
            mine = Submission.objects.filter(acted_on_by(self.request.user)) if self.request.user.pk else ()
            found = found.filter(submission__in=mine)
        return found


class EvaluationView(Selected, generics.RetrieveAPIView[Evaluation]):
    """One evaluation."""

    serializer_class = shapes.EvaluationOutput
    lookup_url_kwarg = "evaluation_id"

    def get_queryset(self) -> QuerySet[Evaluation]:
        return _evaluations()


@extend_schema(
    parameters=[
        OpenApiParameter("outcome", str, enum=[outcome.value for outcome in Outcome]),
        OpenApiParameter("metric", str, description="Of suites that execute plans: the tasks' metric."),
        OpenApiParameter("level", str, description="Of suites that judge plans: `easy`, `medium` or `hard`."),
        OpenApiParameter("group", str, description="Of suites that judge plans: the group of requests."),
    ]
)
class ResultsView(Selected, generics.ListAPIView[TaskResult]):
    """How the tasks of an evaluation ended, in the suite's order."""

    serializer_class = shapes.ResultOutput
    ordering = ("position",)

    def get_queryset(self) -> QuerySet[TaskResult]:
        evaluation = get_object_or_404(Evaluation, pk=self.kwargs["evaluation_id"])
        found = TaskResult.objects.filter(evaluation=evaluation).select_related("task", "evaluation")
        found = found.annotate(position=F("task__position"))
        if outcome := self.request.query_params.get("outcome"):
            found = found.filter(outcome=_choice("outcome", outcome, [known.value for known in Outcome]))
        if metric := self.request.query_params.get("metric"):
            found = found.filter(task__metric=_task_choice(evaluation, "metric", metric))
        for name in ("level", "group"):
            if value := self.request.query_params.get(name):
                found = found.filter(
                    **{f"task__attributes__{name}": _task_choice(evaluation, f"attributes__{name}", value)}
                )
        return found


class RecordView(APIView):
    """How one task ended, with its whole record. Samples and digest of the hidden split are for staff only."""

    @extend_schema(responses=shapes.RecordOutput)
    def get(self, request: Request, evaluation_id: UUID, task_key: str) -> Response:
        result = get_object_or_404(
            TaskResult.objects.select_related("task", "evaluation"), evaluation=evaluation_id, task__key=task_key
        )
        shown = dict(shapes.ResultOutput(result, context={"request": request}).data)
        withheld = result.evaluation.split == HIDDEN_SPLIT and not is_operator(request.user)
        return Response({**shown, "record": _record(result, withheld=withheld)})


def _record(result: TaskResult, *, withheld: bool) -> Any:
    """The record; without what tells about the data, if these are withheld."""
    if not result.record_digest:
        return None
    try:
        record = json.loads(server_store(split=result.evaluation.split).get(result.record_digest).data)
    except (ObjectMissingError, ObjectDamagedError) as error:
        raise NotFound("The record of this task is not in the store any more.") from error
    return {**record, "samples": []} if withheld else record


class MayAct(BasePermission):
    """The caller may act on the evaluation, as `evaluations.acting` says."""

    message = "Only the owner of an evaluation may do this."

    def has_object_permission(self, request: Request, view: Any, obj: Evaluation) -> bool:  # noqa: ARG002
        return may_act(user=request.user, submission=obj.submission)


class _ActionView(APIView):
    """Something that an evaluation's owner does."""

    permission_classes = [*LOGGED_IN, MayAct]
    scope = Scope.SUBMIT

    def act(self, evaluation: Evaluation) -> None:
        raise NotImplementedError

    @extend_schema(request=None, responses={200: shapes.EvaluationOutput, 409: _CONFLICT})
    def post(self, request: Request, evaluation_id: UUID) -> Response:
        evaluation = get_object_or_404(_evaluations(), pk=evaluation_id)
        self.check_object_permissions(request, evaluation)
        self.act(evaluation)
        after = _evaluations().get(pk=evaluation_id)
        return Response(shapes.EvaluationOutput(after, context={"request": request}).data)


class ResumeView(_ActionView):
    """Run the tasks again that failed for reasons that are not the planner's."""

    def act(self, evaluation: Evaluation) -> None:
        services.resume(evaluation, by=self.request.user)


class AcceptView(_ActionView):
    """Let these tasks count as faults of the planner."""

    def act(self, evaluation: Evaluation) -> None:
        services.accept(evaluation, by=self.request.user)


class CancelView(_ActionView):
    """End the evaluation."""

    def act(self, evaluation: Evaluation) -> None:
        services.cancel(evaluation, by=self.request.user)


class RerunView(APIView):
    """Submit the planner of an evaluation that has ended once more, for the same suite under today's conditions."""

    permission_classes = [*LOGGED_IN, MayAct]
    scope = Scope.SUBMIT
    throttle_scope = "submissions"

    @extend_schema(
        parameters=[_KEY],
        request=None,
        responses={201: shapes.SubmissionOutput, 409: _CONFLICT, 422: _REUSED, 429: _NO_QUOTA, 503: _NOT_READY},
    )
    def post(self, request: Request, evaluation_id: UUID) -> Response:
        """Its evaluation names this one in `rerun_of`; it is charged to the quota like any other."""
        evaluation = get_object_or_404(_evaluations(), pk=evaluation_id)
        self.check_object_permissions(request, evaluation)
        return _submitted(request=request, asked=None, submit=lambda: rerun(evaluation, by=request.user))


class MayActOrIsStaff(MayAct):
    """The caller may act on the evaluation, or is of the staff."""

    def has_object_permission(self, request: Request, view: Any, obj: Evaluation) -> bool:
        return is_operator(request.user) or super().has_object_permission(request, view, obj)


class VerifyView(_ActionView):
    """Have a sample of the tasks run again by a worker of this site: for what one's own worker measured, where this
    could not be done before. Staff may order it at any time."""

    permission_classes = [*LOGGED_IN, MayActOrIsStaff]

    def act(self, evaluation: Evaluation) -> None:
        verification.order(user=self.request.user, evaluation=evaluation)


class VerificationsView(Selected, generics.ListAPIView[Verification]):
    """The verifications of an evaluation, newest first, with what was compared."""

    serializer_class = shapes.VerificationOutput
    ordering = ("-created", "-pk")

    def get_queryset(self) -> QuerySet[Verification]:
        evaluation = get_object_or_404(Evaluation, pk=self.kwargs["evaluation_id"])
        found = Verification.objects.filter(evaluation__verifies=evaluation)
        return found.select_related("evaluation", "ordered_by")


class QuotaView(APIView):
    """What the caller may still submit today, and for each of their teams (`team`): of all suites together (`suite` is
    empty), and of each."""

    permission_classes = LOGGED_IN

    @extend_schema(responses=shapes.QuotaOutput(many=True))
    def get(self, request: Request) -> Response:
        suites = list(Suite.objects.filter(current=True).order_by("slug").values_list("slug", flat=True))
        own = quotas_of(user=request.user, suites=suites)
        of_teams = quotas_of_teams(teams=list(teams_of(request.user)), suites=suites)
        return Response(shapes.QuotaOutput([*own, *of_teams], many=True).data)


class SuitesView(Selected, generics.ListAPIView[Suite]):
    """The current suites."""

    serializer_class = shapes.SuiteOutput
    ordering = ("slug",)

    def get_queryset(self) -> QuerySet[Suite]:
        return Suite.objects.filter(current=True).annotate(task_count=Count("tasks"))


class TasksView(Selected, generics.ListAPIView[Task]):
    """The tasks of a suite, in order."""

    serializer_class = shapes.TaskOutput
    ordering = ("position",)

    def get_queryset(self) -> QuerySet[Task]:
        suite = get_object_or_404(Suite, slug=self.kwargs["slug"], current=True)
        return Task.objects.filter(suite=suite)


class BoardView(APIView):
    """The newest published state of a suite's board."""

    @extend_schema(responses=shapes.BoardOutput)
    def get(self, request: Request, slug: str) -> Response:
        suite = get_object_or_404(Suite, slug=slug, current=True)
        snapshot = latest_snapshot(suite=suite)
        if snapshot is None:
            raise NotFound(f"Nothing was published on the board {slug} yet.")
        etag = f'"{snapshot.digest}{reference_digest(slug)[:12]}"'
        if request.headers.get("If-None-Match") == etag:
            return Response(status=status.HTTP_304_NOT_MODIFIED, headers={"ETag": etag})
        fields = ("number", "digest", "created", "profile", "profile_digest", "split", "samples", "content")
        board = {
            "suite": slug,
            **{field: getattr(snapshot, field) for field in fields},
            "reference": [table.model_dump(mode="json") for table in reference_tables(slug)],
        }
        return Response(shapes.BoardOutput(board).data, headers={"ETag": etag})


class TokensView(APIView):
    """One's own tokens; making one needs a session, or user name and password by HTTP Basic."""

    authentication_classes = [ApiTokenAuthentication, SessionAuthentication, PasswordAuthentication]
    permission_classes = LOGGED_IN
    throttle_scope = "tokens"

    @extend_schema(responses=shapes.TokenOutput(many=True))
    def get(self, request: Request) -> Response:
        return Response(shapes.TokenOutput(tokens_of(request.user), many=True).data)

    @extend_schema(request=shapes.TokenInput, responses={201: shapes.NewTokenOutput})
    def post(self, request: Request) -> Response:
        if request.auth is not None:
            # A token that leaks must not be able to outlive itself.
            raise PermissionDenied("A token cannot make tokens: log in, or send user name and password.")
        body = shapes.TokenInput(data=request.data)
        body.is_valid(raise_exception=True)
        made = create_token(user=request.user, **body.validated_data)
        return Response(shapes.NewTokenOutput(made).data, status=status.HTTP_201_CREATED)


class TokenView(APIView):
    """One of one's own tokens."""

    authentication_classes = TokensView.authentication_classes
    permission_classes = LOGGED_IN

    @extend_schema(responses={204: None})
    def delete(self, request: Request, token_id: str) -> Response:
        if not revoke_token(user=request.user, token_id=token_id):
            raise NotFound("You have no such token.")
        return Response(status=status.HTTP_204_NO_CONTENT)


@extend_schema(exclude=True)
class NowhereView(APIView):
    """Every address that there is not, so that pipelines read a problem document there too."""

    authentication_classes: list[Any] = []
    permission_classes: list[Any] = []

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:  # noqa: ARG002 - the base class's
        raise NotFound(f"There is nothing under {request.path}; all addresses stand in the schema.")


def _suite_slugs() -> QuerySet[Suite, str]:
    return Suite.objects.order_by("slug").values_list("slug", flat=True).distinct()


def _task_choice(evaluation: Evaluation, field: str, value: str) -> str:
    """The value, if a task of the evaluation's suite has it."""
    known = Task.objects.filter(suite=evaluation.suite_id).order_by(field).values_list(field, flat=True).distinct()
    return _choice(field.removeprefix("attributes__"), value, [text for text in known if text])


def _choice(field: str, value: str, known: list[str]) -> str:
    if value not in known:
        raise FieldValidationError({field: [f"{value!r} is none of: {', '.join(known)}."]})
    return value
