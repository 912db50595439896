"""The API for entering planners, for submissions and who sees them, and for what an owner does with an evaluation."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.db.models import Prefetch, QuerySet
from django.shortcuts import get_object_or_404
from django.utils.crypto import salted_hmac
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.exceptions import NotAuthenticated, PermissionDenied
from rest_framework.exceptions import ValidationError as FieldValidationError
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.evaluations.models import Evaluation, Submission
from leaderboard.evaluations.visibility import (
    NEWEST_FIRST,
    Reader,
    acted_on_by,
    evaluations_for,
    may_act,
    rerun_of,
    runs_for,
    visible_to,
)
from leaderboard.evaluations.web.api.evaluations import EvaluationOutput
from leaderboard.people.authentication import LOGGED_IN, user_of
from leaderboard.people.models import Scope, Team, User
from leaderboard.planners.data import PlannerData
from leaderboard.planners.kinds import KINDS, SECRETS
from leaderboard.planners.kinds.language_models import ROLES
from leaderboard.planners.roles import asks_others
from leaderboard.planners.web.serializers import PlannerInput, PlannerOutput
from leaderboard.platform.api.errors import by_field
from leaderboard.platform.api.examples import (
    CONFLICT,
    EVALUATION_ID,
    EXAMPLE_SUITE,
    NO_QUOTA,
    NOT_READY,
    REUSED,
    SUBMISSION_ID,
    WHEN,
    example,
    example_of,
)
from leaderboard.platform.api.shapes import Input, Output
from leaderboard.platform.api.views import ApiView, ListView, RetrieveView, Selected
from leaderboard.platform.operators import is_operator
from leaderboard.platform.problems import FieldErrors
from leaderboard.queue import verification
from leaderboard.queue.models import Job
from leaderboard.queue.web.jobs_api import JOB_EXAMPLE, JobOutput, JobView, accepted
from leaderboard.submissions import services
from leaderboard.submissions.actions import rerun
from leaderboard.submissions.fields import BESIDE_THE_PLANNER, EMBARGO_UNTIL, VISIBILITY
from leaderboard.submissions.pending import (
    SUBMISSION,
    Prepared,
    accept_submission,
    submission_of,
    submit_once,
)
from leaderboard.submissions.regrading import Change, regrade, regrade_board
from leaderboard.submissions.releasing import set_visibility
from leaderboard.submissions.services import submit_for_own_worker


@example({
    "planner": example_of(PlannerInput), "suites": [EXAMPLE_SUITE],
    **{field.name: field.example for field in BESIDE_THE_PLANNER},
})  # fmt: skip
class SubmissionInput(Input):
    """A planner and the suites that it is entered for."""

    planner = PlannerInput()
    suites = serializers.ListField(
        child=serializers.CharField(), help_text=f"Slugs of suites, such as `{EXAMPLE_SUITE}`."
    )

    def get_fields(self) -> dict[str, Any]:
        """With what all submissions have."""
        return {**super().get_fields(), **{field.name: field.api_field() for field in BESIDE_THE_PLANNER}}


@example({"visibility": "embargo", "embargo_until": "2026-09-01T00:00:00Z"})
class VisibilityInput(Input):
    """The new visibility of a submission."""

    visibility = VISIBILITY.api_field(required=True)
    embargo_until = EMBARGO_UNTIL.api_field()


@example({
    "id": SUBMISSION_ID, "planner": example_of(PlannerOutput), "version": "3f2a9c1", "submitted_by": "ada",
    "team": "plan-lab", "created": WHEN, "visibility": "public", "embargo_until": None, "rerun_of": None,
    "deterministic": False, "asked_again": "tenth", "evaluations": [example_of(EvaluationOutput)],
})  # fmt: skip
class SubmissionOutput(serializers.ModelSerializer[Submission]):
    """A submission with its evaluations."""

    planner = PlannerOutput(read_only=True)
    submitted_by = serializers.CharField(source="submitted_by.username", read_only=True)
    team = serializers.SlugRelatedField[Team](slug_field="slug", read_only=True, allow_null=True)
    rerun_of = serializers.UUIDField(
        source="shown_rerun_of", read_only=True, allow_null=True, help_text="The evaluation that it runs again."
    )
    evaluations = EvaluationOutput(many=True, read_only=True)

    class Meta:
        model = Submission
        fields = [
            "id", "planner", "version", "submitted_by", "team", "created", "visibility", "embargo_until", "rerun_of",
            "deterministic", "asked_again", "evaluations",
        ]  # fmt: skip
        read_only_fields = fields


_STAYS_PUBLIC = OpenApiResponse(OpenApiTypes.OBJECT, description="A published snapshot contains it: it stays public.")


KEY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description="Up to 255 characters of your own. The same request with the same key within 24 hours gives the first "
    "answer's submission, with `Idempotent-Replayed: true`, and submits nothing.",
)


@example({**JOB_EXAMPLE, "result": example_of(SubmissionOutput)})
class PendingSubmissionOutput(JobOutput):
    """A submission that is being checked and, once it is done, the submission."""

    result = serializers.SerializerMethodField(help_text="Of a job that is done.")

    @extend_schema_field(SubmissionOutput(allow_null=True))
    def get_result(self, job: Job) -> dict[str, Any] | None:
        request: Request = self.context["request"]
        made = submissions_for(request.user).filter(pk=submission_of(job)).first() if job.result else None
        return dict(SubmissionOutput(made, context=self.context).data) if made else None

    def to_representation(self, instance: Any) -> dict[str, Any]:
        """With errors under the names of the fields in the body."""
        shown = super().to_representation(instance)
        if shown["problem"] is not None and "errors" in shown["problem"]:
            errors = dict(by_field(_nested(FieldErrors(shown["problem"]["errors"]))))
            detail = "; ".join(f"{name}: {' '.join(texts)}" for name, texts in errors.items())
            shown["problem"] = {**shown["problem"], "errors": errors, "detail": detail}
        return shown


class PendingSubmissionView(JobView):
    """One's own submission that is being checked."""

    kind = SUBMISSION
    output = PendingSubmissionOutput

    @extend_schema(responses=PendingSubmissionOutput)
    def get(self, request: Request, job_id: UUID) -> Response:
        """How far it is: ask again after `Retry-After` until `state` is `done` or `failed`."""
        return super().get(request, job_id)


class SubmissionsView(Selected, ListView[Submission]):
    """Submit a planner, or list one's own submissions and those of one's teams."""

    serializer_class = SubmissionOutput
    permission_classes = LOGGED_IN
    scope = Scope.SUBMIT
    throttle_scope = "submissions"
    bodies = {"POST": SubmissionInput}
    ordering = NEWEST_FIRST

    def get_queryset(self) -> QuerySet[Submission]:
        if getattr(self, "swagger_fake_view", False):
            return Submission.objects.none()
        return submissions_for(self.request.user).filter(acted_on_by(user_of(self.request)))

    @extend_schema(
        parameters=[KEY],
        responses={
            201: SubmissionOutput, 202: PendingSubmissionOutput, 422: REUSED, 429: NO_QUOTA, 503: NOT_READY,
        },
    )  # fmt: skip
    def post(self, request: Request, *args: Any, **kwargs: Any) -> Response:  # noqa: ARG002 - the base class's
        """Of a model of a hub, which is asked first, 202 with the address of a job whose result is the submission."""
        asked = self.read(request)
        try:
            beside = {name: value for name, value in asked.items() if name not in {"planner", "own_worker"}}
            data = services.SubmissionData(planner=_received(asked["planner"], user=user_of(request)), **beside)
            if asks_others(data.planner):
                return self._accepted(request, data=data, asked=asked)
            submit = submit_for_own_worker if asked["own_worker"] else services.submit
            return submitted(
                request=request,
                asked=_as_json(asked),
                prepare=lambda: services.validate(user=user_of(request), data=data),
                submit=submit,
            )
        except FieldErrors as error:
            raise FieldValidationError(_nested(error)) from error

    def _accepted(self, request: Request, *, data: services.SubmissionData, asked: Mapping[str, Any]) -> Response:
        found = accept_submission(
            user=user_of(request),
            data=data,
            own_worker=asked["own_worker"],
            key=request.headers.get("Idempotency-Key"),
            asked=[request.path, _as_json(asked)],
        )
        if isinstance(found, Submission):
            return _made(request, submission=found, replayed=True)
        shown = dict(PendingSubmissionOutput(found, context={"request": request}).data)
        return accepted(found, shown=shown, route="api:pending-submission")


def _received(entered: Mapping[str, Any], *, user: User) -> PlannerData:
    """The planner as entered; its content is stored."""
    values = {name: value for name, value in entered.items() if name != "kind"}
    data = PlannerData(kind=entered["kind"], values=values)
    return KINDS[data.kind].received(data=data, owner=user)


def submitted(
    *, request: Request, asked: Any, prepare: Callable[[], Prepared], submit: Callable[[Prepared], Submission]
) -> Response:  # fmt: skip
    """Submit once for each `Idempotency-Key`, and answer with the submission."""
    once = submit_once(
        user=user_of(request),
        key=request.headers.get("Idempotency-Key"),
        request=[request.path, asked],
        prepare=prepare,
        submit=submit,
    )
    return _made(request, submission=once.submission, replayed=once.repeated)


def _made(request: Request, *, submission: Submission, replayed: bool) -> Response:
    shown = SubmissionOutput(submissions_for(request.user).get(pk=submission.pk), context={"request": request})
    headers = {"Idempotent-Replayed": "true"} if replayed else {}
    return Response(shown.data, status=status.HTTP_201_CREATED, headers=headers)


def _as_json(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The request, to compare it with repeated ones. Secrets are keyed hashes, since a digest of it is stored."""
    until = asked["embargo_until"]
    planner = _with_sealed(asked["planner"])
    models = {role: _with_sealed(model) for role, model in (planner[ROLES.name] or {}).items()}
    return {**asked, "embargo_until": until and until.isoformat(), "planner": {**planner, ROLES.name: models}}


def _with_sealed(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _sealed(value) if name in SECRETS else value for name, value in values.items()}


def _sealed(secret: str) -> str:
    return secret and salted_hmac("planarena.api.submissions", secret, algorithm="sha256").hexdigest()


_OUTSIDE = frozenset({"suites", "Idempotency-Key", *(field.name for field in BESIDE_THE_PLANNER)})


def _nested(error: FieldErrors) -> dict[str, Any]:
    """The errors under the names of the fields in the body, most of them the planner's."""
    outside = {field: texts for field, texts in error.errors.items() if field in _OUTSIDE}
    planner = {field: texts for field, texts in error.errors.items() if field not in outside}
    return {**({"planner": planner} if planner else {}), **outside}


def submissions_for(reader: Reader) -> QuerySet[Submission]:
    """The submissions that the reader sees."""
    shown = Submission.objects.filter(visible_to(reader)).annotate(shown_rerun_of=rerun_of(reader=reader))
    return shown.select_related("planner__owner", "planner__secret", "submitted_by", "team").prefetch_related(
        "planner__role_secrets", Prefetch("evaluations", queryset=evaluations_for(reader))
    )


class SubmissionView(Selected, RetrieveView[Submission]):
    """One submission, but for the planner's address. What is not public is seen by who may act on it and by staff."""

    serializer_class = SubmissionOutput
    lookup_url_kwarg = "submission_id"
    scope = Scope.SUBMIT
    bodies = {"PATCH": VisibilityInput}

    def get_queryset(self) -> QuerySet[Submission]:
        return submissions_for(self.request.user)

    @extend_schema(responses={200: SubmissionOutput, 409: _STAYS_PUBLIC})
    def patch(self, request: Request, submission_id: UUID) -> Response:
        """Say who sees it from now on. Everything may be made public at any time; what a published snapshot of a board
        holds stays public."""
        if not request.user.is_authenticated:
            raise NotAuthenticated
        submission = get_object_or_404(submissions_for(request.user), pk=submission_id)
        if not may_act(user=request.user, submission=submission):
            raise PermissionDenied("You may not act on this submission.")
        entered = self.read(request)
        try:
            set_visibility(submission, **entered, by=request.user)
        except FieldErrors as error:
            raise FieldValidationError(error.errors) from error
        after = submissions_for(request.user).get(pk=submission_id)
        return Response(SubmissionOutput(after, context={"request": request}).data)


class MayAct(BasePermission):
    """The caller may act on the evaluation, as `evaluations.visibility` says."""

    message = "Only the owner of an evaluation may do this."

    def has_object_permission(self, request: Request, view: Any, obj: Evaluation) -> bool:  # noqa: ARG002
        return may_act(user=request.user, submission=obj.submission)


class _ActionView(ApiView):
    """Something that an evaluation's owner does."""

    permission_classes = [*LOGGED_IN, MayAct]
    scope = Scope.SUBMIT

    def act(self, evaluation: Evaluation) -> None:
        raise NotImplementedError

    @extend_schema(responses={200: EvaluationOutput, 409: CONFLICT})
    def post(self, request: Request, evaluation_id: UUID) -> Response:
        evaluation = get_object_or_404(runs_for(request.user), pk=evaluation_id)
        self.check_object_permissions(request, evaluation)
        self.act(evaluation)
        after = runs_for(request.user).get(pk=evaluation_id)
        return Response(EvaluationOutput(after, context={"request": request}).data)


class ResumeView(_ActionView):
    """Repeat the tasks that failed for reasons other than the planner."""

    def act(self, evaluation: Evaluation) -> None:
        services.resume(evaluation, by=user_of(self.request))


class AcceptView(_ActionView):
    """Count these tasks as faults of the planner."""

    def act(self, evaluation: Evaluation) -> None:
        services.accept(evaluation, by=user_of(self.request))


class CancelView(_ActionView):
    """Cancel the evaluation."""

    def act(self, evaluation: Evaluation) -> None:
        services.cancel(evaluation, by=user_of(self.request))


class RerunView(ApiView):
    """Submit the planner of a finished evaluation again, for the same suite under today's conditions."""

    permission_classes = [*LOGGED_IN, MayAct]
    scope = Scope.SUBMIT
    throttle_scope = "submissions"

    @extend_schema(
        parameters=[KEY],
        responses={201: SubmissionOutput, 409: CONFLICT, 422: REUSED, 429: NO_QUOTA, 503: NOT_READY},
    )
    def post(self, request: Request, evaluation_id: UUID) -> Response:
        """The new evaluation names this one in `rerun_of`, and counts towards the quota."""
        evaluation = get_object_or_404(runs_for(request.user), pk=evaluation_id)
        self.check_object_permissions(request, evaluation)
        return submitted(
            request=request,
            asked=None,
            prepare=lambda: evaluation,
            submit=lambda evaluation: rerun(evaluation, by=user_of(request)),
        )


class MayActOrIsStaff(MayAct):
    """The caller may act on the evaluation, or is staff."""

    def has_object_permission(self, request: Request, view: Any, obj: Evaluation) -> bool:
        return is_operator(request.user) or super().has_object_permission(request, view, obj)


class VerifyView(_ActionView):
    """Have a worker of this site repeat a sample of the tasks of a self-hosted evaluation that could not be verified
    before. Staff may request it at any time."""

    permission_classes = [*LOGGED_IN, MayActOrIsStaff]

    def act(self, evaluation: Evaluation) -> None:
        verification.order(user=user_of(self.request), evaluation=evaluation)


class IsOperator(BasePermission):
    """The caller is staff, with the second factor that the site requires of staff."""

    message = "Only operators of this site may do this."

    def has_permission(self, request: Request, view: Any) -> bool:  # noqa: ARG002
        return is_operator(request.user)


@example({"allow": ["judge"]})
class RegradeInput(Input):
    """What a regrade may change."""

    allow = serializers.ListField(
        child=serializers.ChoiceField(choices=[change.value for change in Change]),
        default=list,
        help_text="What may differ from the first run; empty: all of them.",
    )


class RegradeView(ApiView):
    """Score the stored plans of a completed evaluation under today's rules, as a new evaluation."""

    permission_classes = [*LOGGED_IN, IsOperator]
    scope = Scope.SUBMIT
    bodies = {"POST": RegradeInput}

    @extend_schema(responses={201: EvaluationOutput, 409: CONFLICT, 503: NOT_READY})
    def post(self, request: Request, evaluation_id: UUID) -> Response:
        """The new evaluation names the one that asked the planner in `rerun_of`; nobody is charged."""
        evaluation = get_object_or_404(runs_for(request.user), pk=evaluation_id)
        allowed = [Change(name) for name in self.read(request)["allow"]] or list(Change)
        again = regrade(evaluation, by=user_of(request), allowed=allowed)
        made = runs_for(request.user).get(pk=again.pk)
        return Response(EvaluationOutput(made, context={"request": request}).data, status=status.HTTP_201_CREATED)


@example({"skip": [EVALUATION_ID]})
class RegradeBoardInput(Input):
    """Evaluations to leave out."""

    skip = serializers.ListField(
        child=serializers.UUIDField(), default=list, max_length=1000, help_text="Those that earlier calls refused."
    )


@example({"evaluation": EVALUATION_ID, "why": "Its planner was asked in turns."})
class RegradeRefusedOutput(Output):
    """An evaluation that cannot be regraded."""

    evaluation = serializers.UUIDField()
    why = serializers.CharField()


@example({
    "queued": [EVALUATION_ID], "left": 12,
    "refused": [{"evaluation": EVALUATION_ID, "why": "Its planner was asked in turns."}],
})  # fmt: skip
class RegradeBoardOutput(Output):
    """The progress of a board's regrading."""

    queued = serializers.ListField(child=serializers.UUIDField(), help_text="New evaluations.")
    refused = RegradeRefusedOutput(many=True)
    left = serializers.IntegerField(help_text="Further evaluations, for the next call.")


class RegradeBoardView(ApiView):
    """Regrade the published evaluations of a suite that were scored under other rules than today's."""

    permission_classes = [*LOGGED_IN, IsOperator]
    scope = Scope.SUBMIT
    bodies = {"POST": RegradeBoardInput}

    @extend_schema(responses={200: RegradeBoardOutput, 409: CONFLICT, 503: NOT_READY})
    def post(self, request: Request, slug: str) -> Response:
        """Queues a bounded number of them: repeat the call while `left` is not 0."""
        done = regrade_board(slug, by=user_of(request), skip=self.read(request)["skip"])
        return Response(
            {
                "queued": [one.pk for one in done.queued],
                "refused": [{"evaluation": one.pk, "why": why} for one, why in done.refused],
                "left": done.left,
            }
        )
