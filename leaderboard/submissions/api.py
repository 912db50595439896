"""The API for people and pipelines. What happens is in the services; here it is only read and shown."""

import json
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.db.models import Case, Count, F, OuterRef, Prefetch, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce
from django.shortcuts import get_object_or_404
from django.utils.crypto import salted_hmac
from django.utils.functional import cached_property
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import generics, status
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import NotAuthenticated, NotFound, PermissionDenied
from rest_framework.exceptions import ValidationError as FieldValidationError
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from evaluator.engine.store import ObjectDamagedError, ObjectMissingError
from evaluator.records import Outcome, Reason
from evaluator.suites.reference_rows import reference_digest, reference_tables
from leaderboard.accounts.models import User
from leaderboard.accounts.operators import is_operator
from leaderboard.accounts.scopes import Scope
from leaderboard.accounts.services import create_token, revoke_token, tokens_of
from leaderboard.accounts.teams import teams_of
from leaderboard.boards.services import latest_snapshot
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.acting import acted_on_by, may_act
from leaderboard.evaluations.gold import Withheld, not_shared, withheld_from
from leaderboard.evaluations.models import Evaluation, EvaluationState, Submission, TaskResult
from leaderboard.evaluations.unfinished import NEVER_RAN
from leaderboard.evaluations.visibility import OF_EVALUATION, Reader, visible_evaluations, visible_to
from leaderboard.pages.expecting import Expectation, expected, expected_of_new
from leaderboard.planners import secret_headers
from leaderboard.planners.data import PlannerData
from leaderboard.planners.fields import SeenBy
from leaderboard.planners.kinds import FIELDS, KINDS
from leaderboard.planners.models import Planner, PlannerKind
from leaderboard.queue import verification
from leaderboard.queue.models import Verification
from leaderboard.queue.workers.own import submit_for_own_worker
from leaderboard.quotas.services import quotas_of, quotas_of_teams
from leaderboard.results.objects import server_store
from leaderboard.site.api.authentication import ApiTokenAuthentication, PasswordAuthentication
from leaderboard.site.api.permissions import LOGGED_IN
from leaderboard.site.api.selection import Selected
from leaderboard.site.field_errors import FieldErrors
from leaderboard.submissions import serializers as shapes
from leaderboard.submissions import services
from leaderboard.submissions.endpoint_tests import try_endpoint
from leaderboard.submissions.idempotency import submit_once
from leaderboard.submissions.releasing import set_visibility
from leaderboard.submissions.rerunning import rerun

_NEWEST_FIRST = ("-created", "-id")

_CONFLICT = OpenApiResponse(OpenApiTypes.OBJECT, description="The evaluation's state does not allow this now.")

_NO_QUOTA = OpenApiResponse(OpenApiTypes.OBJECT, description="The quota of today is used up; see `Retry-After`.")

_NOT_READY = OpenApiResponse(OpenApiTypes.OBJECT, description="The site cannot evaluate at present.")

_REUSED = OpenApiResponse(OpenApiTypes.OBJECT, description="The `Idempotency-Key` came before with another request.")

_STAYS_PUBLIC = OpenApiResponse(OpenApiTypes.OBJECT, description="A published snapshot holds it: it stays public.")

_KEY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description="Up to 255 characters of your own. The same request with the same key within 24 hours gives the first "
    "answer's submission, with `Idempotent-Replayed: true`, and submits nothing.",
)


def _evaluations(reader: Reader) -> QuerySet[Evaluation]:
    """The evaluations that the reader sees, with no word of those that they do not."""
    related = visible_evaluations(reader).select_related(
        "suite",
        "submission__planner__owner",
        "submission__planner__secret",
        "submission__submitted_by",
        "submission__team",
        "own_worker_run",
    )
    reruns = Prefetch("reruns", Submission.objects.filter(visible_to(reader)))
    shown = related.prefetch_related(reruns).annotate(done=_done(), shown_rerun_of=_rerun_of(reader, "submission__"))
    return shown.order_by(*_NEWEST_FIRST)


def _rerun_of(reader: Reader, prefix: str = "") -> Subquery:
    """The evaluation that was run again, if the reader sees it."""
    return Subquery(visible_evaluations(reader).filter(pk=OuterRef(f"{prefix}rerun_of")).values("pk"))


def _done() -> Case:
    """How many tasks have ended. Of completed evaluations all have, so that only a page's others are counted."""
    ended = TaskResult.objects.filter(evaluation=OuterRef("pk")).exclude(NEVER_RAN)
    results = ended.order_by().values("evaluation")
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
        return _submissions(self.request.user).filter(acted_on_by(self.request.user))

    @extend_schema(
        parameters=[_KEY],
        request=shapes.SubmissionInput,
        responses={201: shapes.SubmissionOutput, 422: _REUSED, 429: _NO_QUOTA, 503: _NOT_READY},
    )
    def post(self, request: Request, *args: Any, **kwargs: Any) -> Response:  # noqa: ARG002 - the base class's
        body = shapes.SubmissionInput(data=request.data)
        body.is_valid(raise_exception=True)
        asked = body.validated_data
        try:
            beside = {name: value for name, value in asked.items() if name not in {"planner", "own_worker"}}
            data = services.SubmissionData(planner=_received(asked["planner"], user=request.user), **beside)
            submit = submit_for_own_worker if asked["own_worker"] else services.submit
            return _submitted(
                request=request,
                asked=_as_json(asked),
                submit=lambda: submit(services.validate(user=request.user, data=data)),
            )
        except FieldErrors as error:
            raise FieldValidationError(_nested(error)) from error


def _received(entered: Mapping[str, Any], *, user: User) -> PlannerData:
    """The planner as it was entered; content that came with it is kept."""
    values = {name: value for name, value in entered.items() if name != "kind"}
    data = PlannerData(kind=entered["kind"], values=values)
    return KINDS[data.kind].received(data=data, owner=user)


def _submitted(*, request: Request, asked: Any, submit: Callable[[], Submission]) -> Response:
    """Submit once for each `Idempotency-Key`, and answer with the submission."""
    once = submit_once(
        user=request.user, key=request.headers.get("Idempotency-Key"), request=[request.path, asked], submit=submit
    )
    found = _submissions(request.user).get(pk=once.submission.pk)
    shown = shapes.SubmissionOutput(found, context={"request": request})
    headers = {"Idempotent-Replayed": "true"} if once.repeated else {}
    return Response(shown.data, status=status.HTTP_201_CREATED, headers=headers)


def _as_json(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What was asked for, so that it can be known again: its digest is kept, from which no secret must be guessed."""
    until = asked["embargo_until"]
    secrets = {field.name for field in FIELDS if field.seen_by is SeenBy.NOBODY}
    planner = {name: _sealed(value) if name in secrets else value for name, value in asked["planner"].items()}
    return {**asked, "embargo_until": until and until.isoformat(), "planner": planner}


def _sealed(secret: str) -> str:
    return secret and salted_hmac("planarena.api.submissions", secret, algorithm="sha256").hexdigest()


_BESIDE_THE_PLANNER = frozenset({"suites", "own_worker", "team", "priority", "visibility", "embargo_until"})


def _nested(error: FieldErrors) -> dict[str, Any]:
    """The errors under the names that the fields have in the body: most are the planner's."""
    outside = {field: texts for field, texts in error.errors.items() if field in _BESIDE_THE_PLANNER}
    planner = {field: texts for field, texts in error.errors.items() if field not in outside}
    return {**({"planner": planner} if planner else {}), **outside}


def _submissions(reader: Reader) -> QuerySet[Submission]:
    """The submissions that the reader sees."""
    shown = Submission.objects.filter(visible_to(reader)).annotate(shown_rerun_of=_rerun_of(reader))
    return shown.select_related("planner__owner", "planner__secret", "submitted_by", "team").prefetch_related(
        Prefetch("evaluations", queryset=_evaluations(reader).filter(verifies=None))
    )


class EndpointTestsView(APIView):
    """Call an endpoint once, as a worker would, before anything is submitted. Nothing is kept."""

    permission_classes = LOGGED_IN
    scope = Scope.SUBMIT
    throttle_scope = "endpoint-tests"

    @extend_schema(request=shapes.EndpointTestInput, responses={200: shapes.EndpointTestOutput, 503: _NOT_READY})
    def post(self, request: Request) -> Response:
        """200 whatever the endpoint did: `passed` says whether its answer is good. Redirects are not followed, and
        only public addresses are called."""
        body = shapes.EndpointTestInput(data=request.data)
        body.is_valid(raise_exception=True)
        fields = dict(body.validated_data)
        suite = fields.pop("suite")
        trial = try_endpoint(user=request.user, data=PlannerData(kind=PlannerKind.ENDPOINT, values=fields), suite=suite)
        shown = {name: getattr(trial, name) for name in shapes.EndpointTestOutput().fields if name != "request"}
        return Response(shapes.EndpointTestOutput({**shown, "request": trial.request.model_dump(mode="json")}).data)


class HeaderView(APIView):
    """The secret header of a submission's planner, for its owner. It holds for all submissions of the planner, also for
    what runs already."""

    permission_classes = LOGGED_IN
    scope = Scope.SUBMIT

    @extend_schema(request=shapes.HeaderInput, responses={200: shapes.HeaderOutput})
    def put(self, request: Request, submission_id: UUID) -> Response:
        """Replace it."""
        planner = self._planner(request, submission_id)
        body = shapes.HeaderInput(data=request.data)
        body.is_valid(raise_exception=True)
        try:
            secret_headers.replace(planner=planner, **body.validated_data, by=request.user)
        except FieldErrors as error:
            named = {field.removeprefix("header_"): texts for field, texts in error.errors.items()}
            raise FieldValidationError(named) from error
        kept = secret_headers.kept_header(Planner.objects.get(pk=planner.pk))
        assert kept is not None
        return Response(shapes.HeaderOutput({"name": kept.name, "ends_in": kept.ending}).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, submission_id: UUID) -> Response:
        """Forget it."""
        if not secret_headers.take_away(planner=self._planner(request, submission_id), by=request.user):
            raise NotFound("No secret header is kept for this planner.")
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _planner(self, request: Request, submission_id: UUID) -> Planner:
        return get_object_or_404(Planner, submissions=submission_id, owner=request.user)


class WaitView(APIView):
    """How long an evaluation will probably wait and run. `known` is false too once it has ended, while it waits for its
    owner, and where its owner's own worker runs it."""

    @extend_schema(responses=shapes.WaitOutput)
    def get(self, request: Request, evaluation_id: UUID) -> Response:
        evaluation = get_object_or_404(_evaluations(request.user), pk=evaluation_id)
        return Response(shapes.WaitOutput(_wait_json(expected(evaluation))).data)


class NewWaitView(APIView):
    """How long an evaluation would probably wait and run if the caller submitted it now."""

    permission_classes = LOGGED_IN

    @extend_schema(
        parameters=[
            OpenApiParameter("suite", str, required=True, description="Slug of a suite."),
            OpenApiParameter("priority", str, enum=list(services.PRIORITIES)),
        ],
        responses=shapes.WaitOutput,
    )
    def get(self, request: Request) -> Response:
        slug = _choice("suite", request.query_params.get("suite", ""), list(_suite_slugs()))
        priority = _choice("priority", request.query_params.get("priority", "normal"), list(services.PRIORITIES))
        suite = get_object_or_404(Suite, slug=slug, current=True)
        return Response(
            shapes.WaitOutput(_wait_json(expected_of_new(user=request.user, suite=suite, priority=priority))).data
        )


def _wait_json(found: Expectation | None) -> dict[str, Any]:
    known = found is not None and found.begins is not None
    return {
        "known": known,
        "begins_in_minutes": [round(minutes, 1) for minutes in found.begins] if known else None,
        "ends_in_minutes": [round(minutes, 1) for minutes in found.ends] if known else None,
        "measured_shards": found.shards if found else 0,
        "in_words": found.in_words() if found else "",
    }


class SubmissionView(Selected, generics.RetrieveAPIView[Submission]):
    """One submission, but for the planner's address. What is not public is seen by who may act on it and by staff."""

    serializer_class = shapes.SubmissionOutput
    lookup_url_kwarg = "submission_id"
    scope = Scope.SUBMIT

    def get_queryset(self) -> QuerySet[Submission]:
        return _submissions(self.request.user)

    @extend_schema(request=shapes.VisibilityInput, responses={200: shapes.SubmissionOutput, 409: _STAYS_PUBLIC})
    def patch(self, request: Request, submission_id: UUID) -> Response:
        """Say who sees it from now on. Everything may be made public at any time; what a published snapshot of a board
        holds stays public."""
        if not request.user.is_authenticated:
            raise NotAuthenticated
        submission = get_object_or_404(_submissions(request.user), pk=submission_id)
        if not may_act(user=request.user, submission=submission):
            raise PermissionDenied("Only who may act on a submission may do this.")
        body = shapes.VisibilityInput(data=request.data)
        body.is_valid(raise_exception=True)
        try:
            set_visibility(submission, **body.validated_data, by=request.user)
        except FieldErrors as error:
            raise FieldValidationError(error.errors) from error
        after = _submissions(request.user).get(pk=submission_id)
        return Response(shapes.SubmissionOutput(after, context={"request": request}).data)


@extend_schema(
    parameters=[
        OpenApiParameter("suite", str, description="Slug of a suite."),
        OpenApiParameter("state", str, enum=EvaluationState.values),
        OpenApiParameter("planner", int, description="Id of a planner."),
        OpenApiParameter("mine", bool, description="Only the caller's own and their teams'."),
    ]
)
class EvaluationsView(Selected, generics.ListAPIView[Evaluation]):
    """All evaluations that the caller sees, newest first. Verifications are listed with what they verify."""

    serializer_class = shapes.EvaluationOutput
    ordering = _NEWEST_FIRST

    def get_queryset(self) -> QuerySet[Evaluation]:
        found = visible_evaluations(self.request.user).filter(verifies=None).only("pk", "created")
        if suite := self.request.query_params.get("suite"):
            found = found.filter(suite__slug=_choice("suite", suite, list(_suite_slugs())))
        if state := self.request.query_params.get("state"):
            found = found.filter(state=_choice("state", state, EvaluationState.values))
        if planner := self.request.query_params.get("planner"):
            found = found.filter(submission__planner=_whole_number("planner", planner))
        if self.request.query_params.get("mine", "").lower() in {"1", "true"}:
            mine = Submission.objects.filter(acted_on_by(self.request.user)) if self.request.user.pk else ()
            found = found.filter(submission__in=mine)
        return found.order_by(*_NEWEST_FIRST)

    def paginate_queryset(self, queryset: QuerySet[Evaluation]) -> list[Evaluation]:
        """Everything else is read of the page's rows only: joined to all rows that filters and order look at, it would
        take tens of times as long where few of many rows are wanted (`mine`)."""
        page = super().paginate_queryset(queryset) or []
        whole = {one.pk: one for one in _evaluations(self.request.user).filter(pk__in=[row.pk for row in page])}
        return [whole[row.pk] for row in page if row.pk in whole]


class EvaluationView(Selected, generics.RetrieveAPIView[Evaluation]):
    """One evaluation."""

    serializer_class = shapes.EvaluationOutput
    lookup_url_kwarg = "evaluation_id"

    def get_queryset(self) -> QuerySet[Evaluation]:
        return _evaluations(self.request.user)


@extend_schema(
    parameters=[
        OpenApiParameter("outcome", str, enum=[outcome.value for outcome in Outcome]),
        OpenApiParameter("metric", str, description="Of suites that execute plans: the tasks' metric."),
        OpenApiParameter("reason", str, description="The reason of a fault, as results have it."),
        OpenApiParameter("structure", str, description="The structure of the tasks' gold plans."),
        OpenApiParameter("base", str, description="Of suites that execute plans: the base task."),
        OpenApiParameter("degradation", str, description="Of suites that execute plans: one of the degradations."),
        OpenApiParameter("language", str, description="Of suites that execute plans: the language."),
        OpenApiParameter("q", str, description="Text that the request or the plan's summary must hold."),
        OpenApiParameter("level", str, description="Of suites that judge plans: `easy`, `medium` or `hard`."),
        OpenApiParameter("group", str, description="Of suites that judge plans: the group of requests."),
    ]
)
class ResultsView(Selected, generics.ListAPIView[TaskResult]):
    """How the tasks of an evaluation ended, in the suite's order."""

    serializer_class = shapes.ResultOutput
    ordering = ("position",)

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The results; kept by no cache where operators see more."""
        response = super().list(request, *args, **kwargs)
        not_shared(response, suite=self._evaluation.suite, split=self._evaluation.split)
        return response

    @cached_property
    def _evaluation(self) -> Evaluation:
        related = visible_evaluations(self.request.user).select_related("suite", "submission__planner")
        return get_object_or_404(related, pk=self.kwargs["evaluation_id"])

    def get_queryset(self) -> QuerySet[TaskResult]:
        evaluation = self._evaluation
        found = TaskResult.objects.filter(evaluation=evaluation).select_related(
            "task", "evaluation__suite", "evaluation__submission__planner"
        )
        found = found.annotate(position=F("task__position"))
        if outcome := self.request.query_params.get("outcome"):
            found = found.filter(outcome=_choice("outcome", outcome, [known.value for known in Outcome]))
        if metric := self.request.query_params.get("metric"):
            found = found.filter(task__metric=_task_choice(evaluation, "metric", metric))
        if structure := self.request.query_params.get("structure"):
            found = found.filter(task__structure=_task_choice(evaluation, "structure", structure))
        if reason := self.request.query_params.get("reason"):
            found = found.filter(reason=_choice("reason", reason, [known.value for known in Reason]))
        if degradation := self.request.query_params.get("degradation"):
            known = _degradations(evaluation)
            found = found.filter(task__attributes__degradations__contains=_choice("degradation", degradation, known))
        if text := self.request.query_params.get("q", "").replace("\0", "").strip():
            in_request, in_plan = Q(task__text__icontains=text), Q(plan_summary__icontains=text)
            # Whoever may not read a plan may not search it either.
            withheld = withheld_from(reader=self.request.user, evaluation=evaluation)
            found = found.filter(in_request if withheld.plan else in_request | in_plan)
        for name in ("level", "group", "base", "language"):
            if value := self.request.query_params.get(name):
                found = found.filter(
                    **{f"task__attributes__{name}": _task_choice(evaluation, f"attributes__{name}", value)}
                )
        return found


class RecordView(APIView):
    """How one task ended, with its whole record. While a split is hidden, its samples, digests and gold plans are for
    staff only: then `samples` and `explanations` of the record are empty, and of a planner that answers with the gold
    plans, its plans too."""

    @extend_schema(responses=shapes.RecordOutput)
    def get(self, request: Request, evaluation_id: UUID, task_key: str) -> Response:
        visible = TaskResult.objects.filter(visible_to(request.user, prefix=f"evaluation__{OF_EVALUATION}"))
        related = visible.select_related("task", "evaluation__suite", "evaluation__submission__planner")
        result = get_object_or_404(related, evaluation=evaluation_id, task__key=task_key)
        shown = dict(shapes.ResultOutput(result, context={"request": request}).data)
        withheld = withheld_from(reader=request.user, evaluation=result.evaluation)
        response = Response({**shown, "record": _record(result, withheld=withheld)})
        not_shared(response, suite=result.evaluation.suite, split=result.evaluation.split)
        return response


def _record(result: TaskResult, *, withheld: Withheld) -> Any:
    """The record without what is withheld."""
    if not result.record_digest:
        return None
    try:
        record = json.loads(server_store(split=result.evaluation.split).get(result.record_digest).data)
    except (ObjectMissingError, ObjectDamagedError) as error:
        raise NotFound("The record of this task is not in the store any more.") from error
    return {**record, **withheld.without()}


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
        evaluation = get_object_or_404(_evaluations(request.user), pk=evaluation_id)
        self.check_object_permissions(request, evaluation)
        self.act(evaluation)
        after = _evaluations(request.user).get(pk=evaluation_id)
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
        evaluation = get_object_or_404(_evaluations(request.user), pk=evaluation_id)
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
        evaluation = get_object_or_404(visible_evaluations(self.request.user), pk=self.kwargs["evaluation_id"])
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


class SuiteView(Selected, generics.RetrieveAPIView[Suite]):
    """The current version of one suite."""

    serializer_class = shapes.SuiteOutput
    lookup_field = "slug"

    def get_queryset(self) -> QuerySet[Suite]:
        return Suite.objects.filter(current=True).annotate(task_count=Count("tasks"))


class TasksView(Selected, generics.ListAPIView[Task]):
    """The tasks of a suite, in order. While the site evaluates a hidden split, what tells about gold plans is for staff
    only: `gold` is null, and `attributes` lacks what was derived from it."""

    serializer_class = shapes.TaskOutput
    ordering = ("position",)

    def get_queryset(self) -> QuerySet[Task]:
        return Task.objects.filter(suite=self._suite).select_related("suite")

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The tasks; kept by no cache where operators see more."""
        response = super().list(request, *args, **kwargs)
        not_shared(response, suite=self._suite)
        return response

    @cached_property
    def _suite(self) -> Suite:
        return get_object_or_404(Suite, slug=self.kwargs["slug"], current=True)


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


def _degradations(evaluation: Evaluation) -> list[str]:
    """Every degradation that a task of the evaluation's suite has."""
    lists = Task.objects.filter(suite=evaluation.suite_id).values_list("attributes__degradations", flat=True)
    return sorted({name for names in lists for name in names or ()})


def _whole_number(field: str, text: str) -> int:
    if not text.isascii() or not text.isdecimal():
        raise FieldValidationError({field: [f"{text!r} is no whole number."]})
    return int(text)


def _choice(field: str, value: str, known: list[str]) -> str:
    if value not in known:
        raise FieldValidationError({field: [f"{value!r} is none of: {', '.join(known)}."]})
    return value
