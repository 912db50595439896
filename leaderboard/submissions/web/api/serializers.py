"""Submissions as the API reads and writes them."""

from typing import Any

from rest_framework import serializers

from leaderboard.evaluations.models import Submission
from leaderboard.evaluations.web.serializers import EvaluationOutput
from leaderboard.people.models import Team
from leaderboard.planners.web.serializers import PlannerInput, PlannerOutput
from leaderboard.platform.api.examples import EXAMPLE_SUITE, SUBMISSION_ID, WHEN, example, example_of
from leaderboard.platform.api.shapes import Input
from leaderboard.submissions.fields import BESIDE_THE_PLANNER, EMBARGO_UNTIL, VISIBILITY


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
    """Who sees a submission from now on."""

    visibility = VISIBILITY.api_field(required=True)
    embargo_until = EMBARGO_UNTIL.api_field()


@example({
    "id": SUBMISSION_ID, "planner": example_of(PlannerOutput), "version": "3f2a9c1", "submitted_by": "ada",
    "team": "plan-lab", "created": WHEN, "visibility": "public", "embargo_until": None, "rerun_of": None,
    "evaluations": [example_of(EvaluationOutput)],
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
            "evaluations",
        ]  # fmt: skip
        read_only_fields = fields
