"""The API of reliability profiles."""

from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.visibility import Reader, visible_runs
from leaderboard.people.authentication import LOGGED_IN, user_of
from leaderboard.people.models import Scope
from leaderboard.platform.api.examples import (
    CONFLICT,
    EVALUATION_ID,
    LATER,
    NO_QUOTA,
    NOT_READY,
    ROW_ID,
    WHEN,
    example,
    example_of,
)
from leaderboard.platform.api.shapes import ModelOutput, Output
from leaderboard.platform.api.views import ApiView
from leaderboard.reliability.models import ReliabilityProfile
from leaderboard.reliability.services import cancel_profile, request_profile
from leaderboard.submissions.web.api import MayAct

_INTERVAL = {"mean": 0.75, "low": 0.67, "high": 0.82, "count": 120}


@example({
    "id": ROW_ID, "perturbation": "framed", "repetition": 1, "state": "completed",
    "reason_text": "Completed as part of a reliability profile. No board shows it.", "tasks_total": 120,
})  # fmt: skip
class ProfileMemberOutput(ModelOutput[Evaluation]):
    """A run of a profile."""

    perturbation = serializers.CharField(help_text="The perturbation of its requests; empty for unchanged requests.")
    repetition = serializers.IntegerField(
        help_text="Number of the run; the evaluation itself is the first one on unchanged requests."
    )

    class Meta:
        model = Evaluation
        fields = ["id", "perturbation", "repetition", "state", "reason_text", "tasks_total"]


@example({"perturbation": "", "repetition": 5, "why": "Cancelled by its owner."})
class GapOutput(Output):
    """A run without figures in the profile."""

    perturbation = serializers.CharField()
    repetition = serializers.IntegerField()
    why = serializers.CharField()


@example({
    "evaluation": EVALUATION_ID, "state": "measured", "requested_at": WHEN, "measured_at": LATER,
    "members": [example_of(ProfileMemberOutput)], "gaps": [],
    "profile": {"version": "reliability/5", "runs": 5, "tasks": 120, "dimensions": {"success": _INTERVAL}},
})  # fmt: skip
class ReliabilityOutput(ModelOutput[ReliabilityProfile]):
    """The reliability profile of an evaluation's planner."""

    evaluation = serializers.UUIDField(source="evaluation_id")
    state = serializers.SerializerMethodField(
        help_text="`measuring` until every run has ended and the figures are computed, then `measured`."
    )
    members = ProfileMemberOutput(many=True, source="evaluation.members")
    gaps = GapOutput(many=True, help_text="Runs without figures; another request runs only these.")
    profile = serializers.JSONField(
        source="figures",
        help_text="The figures in the format of `planarena evaluate --reliability`; null: not computed yet.",
    )

    class Meta:
        model = ReliabilityProfile
        fields = ["evaluation", "state", "requested_at", "measured_at", "members", "gaps", "profile"]

    @extend_schema_field(serializers.ChoiceField(choices=["measuring", "measured"]))
    def get_state(self, profile: ReliabilityProfile) -> str:
        return "measuring" if profile.measured_at is None else "measured"


class ReliabilityView(ApiView):
    """The reliability profile of an evaluation's planner."""

    scope = Scope.SUBMIT

    def get_permissions(self) -> list[Any]:
        if self.request.method == "POST":
            return [permission() for permission in (*LOGGED_IN, MayAct)]
        return list(super().get_permissions())

    def get_throttles(self) -> list[Any]:
        self.throttle_scope = "submissions" if self.request.method == "POST" else None
        return list(super().get_throttles())

    @extend_schema(responses=ReliabilityOutput)
    def get(self, request: Request, evaluation_id: UUID) -> Response:
        """404 if it was not requested."""
        return Response(_output(reader=request.user, evaluation_id=evaluation_id))

    @extend_schema(responses={201: ReliabilityOutput, 409: CONFLICT, 429: NO_QUOTA, 503: NOT_READY})
    def post(self, request: Request, evaluation_id: UUID) -> Response:
        """Run the planner again on the same and on perturbed requests. Each run counts towards the quota like a
        submission; none is ranked. If a profile has gaps, only these are run again."""
        evaluation = _evaluation(reader=request.user, evaluation_id=evaluation_id)
        self.check_object_permissions(request, evaluation)
        request_profile(evaluation, by=user_of(request))
        return Response(_output(reader=request.user, evaluation_id=evaluation_id), status=status.HTTP_201_CREATED)


class CancelReliabilityView(ApiView):
    """Cancel the unfinished runs of a profile."""

    permission_classes = [*LOGGED_IN, MayAct]
    scope = Scope.SUBMIT

    @extend_schema(responses={200: ReliabilityOutput, 409: CONFLICT})
    def post(self, request: Request, evaluation_id: UUID) -> Response:
        """Ended runs are measured; the others are gaps."""
        evaluation = _evaluation(reader=request.user, evaluation_id=evaluation_id)
        self.check_object_permissions(request, evaluation)
        cancel_profile(evaluation, by=user_of(request))
        return Response(_output(reader=request.user, evaluation_id=evaluation_id))


def _evaluation(*, reader: Reader, evaluation_id: UUID) -> Evaluation:
    related = visible_runs(reader).select_related(
        "suite", "submission__planner", "submission__submitted_by", "submission__team"
    )
    return get_object_or_404(related, pk=evaluation_id)


def _output(*, reader: Reader, evaluation_id: UUID) -> dict[str, Any]:
    visible = ReliabilityProfile.objects.filter(evaluation__in=visible_runs(reader)).select_related("evaluation")
    output: dict[str, Any] = ReliabilityOutput(get_object_or_404(visible, pk=evaluation_id)).data
    return output
