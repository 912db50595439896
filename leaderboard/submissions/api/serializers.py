"""Submissions as the API reads and writes them."""

from typing import Any

from rest_framework import serializers

from leaderboard.accounts.models import Team
from leaderboard.evaluations.models import Submission, Visibility
from leaderboard.evaluations.serializers import EvaluationOutput
from leaderboard.planners.serializers import PlannerInput, PlannerOutput
from leaderboard.site.api.examples import SUBMISSION_ID, WHEN, example, example_of
from leaderboard.submissions.services import PRIORITIES


@example({
    "planner": example_of(PlannerInput), "suites": ["openagi"], "team": "plan-lab", "own_worker": False,
    "priority": "normal", "visibility": "public", "embargo_until": None,
})  # fmt: skip
class SubmissionInput(serializers.Serializer[Any]):
    """A planner and the suites that it is entered for."""

    planner = PlannerInput()
    suites = serializers.ListField(child=serializers.CharField(), help_text="Slugs of suites, such as `openagi`.")
    team = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        help_text="Slug of a team of yours that it is for: charged for it too, and its members may act on it.",
    )
    priority = serializers.ChoiceField(
        choices=list(PRIORITIES),
        required=False,
        default="normal",
        help_text="Among your own evaluations; it moves nobody else's.",
    )
    own_worker = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Only workers with one of your own worker tokens evaluate it. It is then marked, and ranked when a "
        "worker of this site has run a sample of the tasks again and agrees.",
    )
    visibility = serializers.ChoiceField(
        choices=Visibility.choices,
        required=False,
        default=Visibility.PUBLIC.value,
        help_text="Who sees it: everybody, only you, your team and staff (`private`), or these until a date "
        "(`embargo`). Only what is public is on boards.",
    )
    embargo_until = serializers.DateTimeField(
        required=False,
        allow_null=True,
        default=None,
        help_text="With `embargo`, when it ends: at most a year from now. It is public and ranked by itself then.",
    )


@example({"visibility": "embargo", "embargo_until": "2026-09-01T00:00:00Z"})
class VisibilityInput(serializers.Serializer[Any]):
    """Who sees a submission from now on."""

    visibility = serializers.ChoiceField(choices=Visibility.choices)
    embargo_until = serializers.DateTimeField(
        required=False,
        allow_null=True,
        default=None,
        help_text="With `embargo`, when it ends: at most a year from now.",
    )


@example({
    "id": SUBMISSION_ID, "planner": example_of(PlannerOutput), "submitted_by": "ada", "team": "plan-lab",
    "created": WHEN, "visibility": "public", "embargo_until": None, "rerun_of": None,
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
            "id", "planner", "submitted_by", "team", "created", "visibility", "embargo_until", "rerun_of",
            "evaluations",
        ]  # fmt: skip
        read_only_fields = fields
