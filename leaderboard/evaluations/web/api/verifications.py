"""The API about verifications."""

from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from leaderboard.evaluations.visibility import visible_evaluations
from leaderboard.platform.api.examples import LATER, ROW_ID, WHEN, example
from leaderboard.platform.api.selection import Selected
from leaderboard.platform.api.shapes import ModelOutput, Output
from leaderboard.platform.api.views import ListView
from leaderboard.queue.comparing import Finding
from leaderboard.queue.models import Verification


class ComparedTaskOutput(Output):
    """One task of a verification's sample."""

    task = serializers.CharField()
    finding = serializers.ChoiceField(choices=[finding.value for finding in Finding])
    contradicts = serializers.BooleanField(help_text="Whether it contradicts the owner's results.")
    own_outcome = serializers.CharField(help_text="What the owner's worker sent.")
    own_score = serializers.FloatField()
    outcome = serializers.CharField(help_text="What a worker of this site measured.")
    score = serializers.FloatField()
    samples = serializers.IntegerField(help_text="Samples of the same plan that were compared.")
    differing = serializers.IntegerField(help_text="How many of them scored differently.")


@example({
    "evaluation": ROW_ID, "state": "completed", "tasks": ["14"], "verdict": "agrees",
    "detail": "1 of 1 tasks agree.", "ordered_by": None, "created": WHEN, "settled_at": LATER, "p_value": 1.0,
    "compared": [],
})  # fmt: skip
class VerificationOutput(ModelOutput[Verification]):
    """A sample of tasks that a worker of this site runs again."""

    evaluation = serializers.UUIDField(source="evaluation_id", help_text="The one that runs them.")
    state = serializers.CharField(source="evaluation.state")
    ordered_by = serializers.CharField(
        source="ordered_by.username", default=None, allow_null=True, help_text="Null: it followed from the results."
    )
    p_value = serializers.SerializerMethodField(
        help_text="Of the test whether the owner's scores are better than chance explains; null while it is open."
    )
    compared = serializers.SerializerMethodField()

    class Meta:
        model = Verification
        fields = [
            "evaluation", "state", "tasks", "verdict", "detail", "ordered_by", "created", "settled_at", "p_value",
            "compared",
        ]  # fmt: skip

    def get_p_value(self, verification: Verification) -> float | None:
        return (verification.comparison or {}).get("p_value")

    @extend_schema_field(ComparedTaskOutput(many=True))
    def get_compared(self, verification: Verification) -> list[dict[str, Any]]:
        compared: list[dict[str, Any]] = (verification.comparison or {}).get("tasks", [])
        return compared


class VerificationsView(Selected, ListView[Verification]):
    """The verifications of an evaluation, newest first, with what was compared."""

    serializer_class = VerificationOutput
    ordering = ("-created", "-pk")

    def get_queryset(self) -> QuerySet[Verification]:
        evaluation = get_object_or_404(visible_evaluations(self.request.user), pk=self.kwargs["evaluation_id"])
        found = Verification.objects.filter(evaluation__verifies=evaluation)
        return found.select_related("evaluation", "ordered_by")
