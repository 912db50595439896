"""The API for what an evaluation's owner does with it."""

from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.evaluations.acting import may_act
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.reading import evaluations_for
from leaderboard.evaluations.web.serializers import EvaluationOutput
from leaderboard.people.scopes import Scope
from leaderboard.people.signed_in import user_of
from leaderboard.people.web.api.permissions import LOGGED_IN
from leaderboard.platform.api.responses import CONFLICT, NO_QUOTA, NOT_READY, REUSED
from leaderboard.platform.api.views import ApiView
from leaderboard.platform.operators import is_operator
from leaderboard.queue import verification
from leaderboard.submissions import services
from leaderboard.submissions.rerunning import rerun
from leaderboard.submissions.web.api.serializers import SubmissionOutput
from leaderboard.submissions.web.api.submitting import KEY, submitted


class MayAct(BasePermission):
    """The caller may act on the evaluation, as `evaluations.acting` says."""

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
        evaluation = get_object_or_404(evaluations_for(request.user), pk=evaluation_id)
        self.check_object_permissions(request, evaluation)
        self.act(evaluation)
        after = evaluations_for(request.user).get(pk=evaluation_id)
        return Response(EvaluationOutput(after, context={"request": request}).data)


class ResumeView(_ActionView):
    """Run the tasks again that failed for reasons that are not the planner's."""

    def act(self, evaluation: Evaluation) -> None:
        services.resume(evaluation, by=user_of(self.request))


class AcceptView(_ActionView):
    """Let these tasks count as faults of the planner."""

    def act(self, evaluation: Evaluation) -> None:
        services.accept(evaluation, by=user_of(self.request))


class CancelView(_ActionView):
    """End the evaluation."""

    def act(self, evaluation: Evaluation) -> None:
        services.cancel(evaluation, by=user_of(self.request))


class RerunView(ApiView):
    """Submit the planner of an evaluation that has ended once more, for the same suite under today's conditions."""

    permission_classes = [*LOGGED_IN, MayAct]
    scope = Scope.SUBMIT
    throttle_scope = "submissions"

    @extend_schema(
        parameters=[KEY],
        responses={201: SubmissionOutput, 409: CONFLICT, 422: REUSED, 429: NO_QUOTA, 503: NOT_READY},
    )
    def post(self, request: Request, evaluation_id: UUID) -> Response:
        """Its evaluation names this one in `rerun_of`; it is charged to the quota like any other."""
        evaluation = get_object_or_404(evaluations_for(request.user), pk=evaluation_id)
        self.check_object_permissions(request, evaluation)
        return submitted(
            request=request,
            asked=None,
            prepare=lambda: evaluation,
            submit=lambda evaluation: rerun(evaluation, by=user_of(request)),
        )


class MayActOrIsStaff(MayAct):
    """The caller may act on the evaluation, or is of the staff."""

    def has_object_permission(self, request: Request, view: Any, obj: Evaluation) -> bool:
        return is_operator(request.user) or super().has_object_permission(request, view, obj)


class VerifyView(_ActionView):
    """Have a sample of the tasks run again by a worker of this site: for what one's own worker measured, where this
    could not be done before. Staff may order it at any time."""

    permission_classes = [*LOGGED_IN, MayActOrIsStaff]

    def act(self, evaluation: Evaluation) -> None:
        verification.order(user=user_of(self.request), evaluation=evaluation)
