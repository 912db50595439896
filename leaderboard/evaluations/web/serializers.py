"""Evaluations as the API writes them."""

from django.urls import reverse
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from leaderboard.evaluations.models import Evaluation, EvaluationState, Submission
from leaderboard.evaluations.transitions import FINAL
from leaderboard.planners.web.serializers import PlannerOutput
from leaderboard.platform.api.examples import (
    DIGEST,
    EVALUATION_ID,
    EXAMPLE_SUITE,
    LATER,
    SUBMISSION_ID,
    SUMMARY,
    WHEN,
    example,
    example_of,
)
from leaderboard.platform.api.shapes import ModelOutput


@example({
    "id": EVALUATION_ID, "submission": SUBMISSION_ID, "suite": EXAMPLE_SUITE, "suite_version": "1",
    "suite_digest": DIGEST, "profile": "lilliput", "profile_digest": DIGEST, "split": "public", "samples": 8,
    "data_digest": DIGEST, "season": None,
    "planner": example_of(PlannerOutput), "state": "completed", "state_label": "Completed", "final": True,
    "reason": "published", "reason_text": "Completed and published.", "state_since": LATER, "tasks_total": 185,
    "tasks_not_run": 14, "done": 185, "summary": SUMMARY, "provenance": {"suite_digest": DIGEST, "workers": []},
    "created": WHEN, "finished": LATER, "own_worker": False,
    "verified": None, "verifies": None, "member_of": None, "perturbation": "", "repetition": 1,
    "team": "plan-lab", "visibility": "public", "embargo_until": None,
    "hidden": "", "rerun_of": None, "reruns": [],
    "url": f"https://planarena.example.org/evaluations/{EVALUATION_ID}/",
})  # fmt: skip
class EvaluationOutput(ModelOutput[Evaluation]):
    """A submission on one suite."""

    suite = serializers.CharField(source="suite.slug")
    suite_version = serializers.CharField(source="suite.version")
    suite_digest = serializers.CharField(source="suite.digest")
    season = serializers.SlugField(
        source="season_id", read_only=True, allow_null=True, help_text="The season of its hidden data; null: open data."
    )
    planner = PlannerOutput(source="submission.planner")
    state_label = serializers.CharField(source="get_state_display")
    final = serializers.SerializerMethodField()
    own_worker = serializers.SerializerMethodField(
        help_text="Whether a self-hosted worker measured it. Such results are ranked when they are verified."
    )
    verified = serializers.SerializerMethodField(
        help_text="For self-hosted evaluations: whether a worker of this site confirmed a sample. Else null."
    )
    verifies: serializers.PrimaryKeyRelatedField[Evaluation] = serializers.PrimaryKeyRelatedField(
        read_only=True, allow_null=True, help_text="The evaluation of which this one runs a sample of tasks again."
    )
    member_of: serializers.PrimaryKeyRelatedField[Evaluation] = serializers.PrimaryKeyRelatedField(
        read_only=True, allow_null=True, help_text="The evaluation whose reliability profile this one is part of."
    )
    team = serializers.CharField(
        source="submission.team.slug", default=None, allow_null=True, help_text="Slug of its team."
    )
    visibility = serializers.CharField(
        source="submission.visibility",
        help_text="`public`, `embargo` or `private`; what is not public is seen by who may act on it and by staff.",
    )
    embargo_until = serializers.DateTimeField(source="submission.embargo_until", allow_null=True)
    hidden = serializers.SerializerMethodField(help_text="Why an operator took it off the boards; empty if none did.")
    rerun_of = serializers.UUIDField(
        source="shown_rerun_of", allow_null=True, help_text="The evaluation that this one runs again."
    )
    reruns = serializers.PrimaryKeyRelatedField[Submission](
        many=True, read_only=True, help_text="Submissions that run this evaluation again."
    )
    done = serializers.IntegerField(
        help_text="Tasks that have ended. One that cannot run here counts; one that was left out does not: after "
        "the end of its evaluation, or because the planner could not be reached for others."
    )
    url = serializers.SerializerMethodField()

    class Meta:
        model = Evaluation
        fields = [
            "id", "submission", "suite", "suite_version", "suite_digest", "profile", "profile_digest", "split",
            "samples", "data_digest", "season", "planner", "state", "state_label", "final", "reason", "reason_text",
            "state_since",
            "tasks_total", "tasks_not_run", "done", "summary", "provenance", "created", "finished",
            "own_worker", "verified", "verifies", "member_of", "perturbation", "repetition", "team",
            "visibility", "embargo_until", "hidden", "rerun_of",
            "reruns", "url",
        ]  # fmt: skip

    def get_hidden(self, evaluation: Evaluation) -> str:
        return evaluation.hidden_reason

    def get_own_worker(self, evaluation: Evaluation) -> bool:
        return hasattr(evaluation, "own_worker_run")

    def get_verified(self, evaluation: Evaluation) -> bool | None:
        return evaluation.own_worker_run.verified_by_id is not None if self.get_own_worker(evaluation) else None

    def get_final(self, evaluation: Evaluation) -> bool:
        return EvaluationState(evaluation.state) in FINAL

    @extend_schema_field(serializers.URLField())
    def get_url(self, evaluation: Evaluation) -> str:
        path = reverse("evaluations:detail", kwargs={"evaluation_id": evaluation.pk})
        request = self.context.get("request")
        return path if request is None else request.build_absolute_uri(path)
