"""Shapes of what the API reads and writes. Writable fields are listed where they are; all others are read-only."""

from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from leaderboard.accounts.models import Team
from leaderboard.accounts.operators import is_operator
from leaderboard.accounts.scopes import DEFAULT_SCOPES, Scope
from leaderboard.accounts.services import DEFAULT_DAYS
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.conditions import HIDDEN_SPLIT
from leaderboard.evaluations.models import Evaluation, EvaluationState, Submission, TaskResult
from leaderboard.evaluations.transitions import FINAL
from leaderboard.planners.models import Planner, PlannerKind
from leaderboard.planners.services import BUNDLED_PLANNERS
from leaderboard.workers.comparing import Finding
from leaderboard.workers.models import Verification


class PlannerInput(serializers.Serializer[Any]):
    """A planner to enter. What its kind needs is checked by the service, so that the page gives the same answers."""

    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=PlannerKind.choices)
    bundled_name = serializers.CharField(
        required=False, allow_blank=True, default="", help_text=f"For `bundled`: {', '.join(BUNDLED_PLANNERS)}."
    )
    endpoint_url = serializers.CharField(
        required=False, allow_blank=True, default="", help_text="For `endpoint`: where one JSON POST per turn goes."
    )
    timeout_seconds = serializers.IntegerField(required=False, default=30, help_text="For the whole of one answer.")
    description = serializers.CharField(required=False, allow_blank=True, default="")


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
    own_worker = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Only workers with one of your own worker tokens evaluate it. It is then marked, and ranked when a "
        "worker of this site has run a sample of the tasks again and agrees.",
    )


class TokenInput(serializers.Serializer[Any]):
    """A personal token to make."""

    days = serializers.IntegerField(required=False, default=DEFAULT_DAYS, help_text="How long it lasts, 1 to 365.")
    scopes = serializers.ListField(
        child=serializers.ChoiceField(choices=Scope.choices),
        required=False,
        default=list(DEFAULT_SCOPES),
        help_text="What it is good for.",
    )


class TokenOutput(serializers.Serializer[Any]):
    """A personal token. Its text is shown once, when it is made."""

    id = serializers.CharField(source="token_key", read_only=True)
    created = serializers.DateTimeField(read_only=True)
    expires = serializers.DateTimeField(source="expiry", read_only=True)
    scopes = serializers.ListField(child=serializers.CharField(), source="granted.scopes", read_only=True, default=[])


class NewTokenOutput(serializers.Serializer[Any]):
    """A personal token that was just made."""

    id = serializers.CharField(read_only=True)
    token = serializers.CharField(read_only=True)
    expires = serializers.DateTimeField(read_only=True)
    scopes = serializers.ListField(child=serializers.CharField(), read_only=True)


class PlannerOutput(serializers.ModelSerializer[Planner]):
    """A planner. Its address is shown to its owner only."""

    owner = serializers.CharField(source="owner.username", read_only=True)
    endpoint_url = serializers.CharField(read_only=True, help_text="Empty for bundled planners.")

    class Meta:
        model = Planner
        fields = ["name", "kind", "bundled_name", "endpoint_url", "timeout_seconds", "description", "owner"]
        read_only_fields = fields

    def to_representation(self, instance: Planner) -> dict[str, Any]:
        shown = super().to_representation(instance)
        request = self.context.get("request")
        if request is None or request.user.pk != instance.owner_id:
            del shown["endpoint_url"], shown["timeout_seconds"]
        return shown


class EvaluationOutput(serializers.ModelSerializer[Evaluation]):
    """A submission on one suite."""

    suite = serializers.CharField(source="suite.slug", read_only=True)
    suite_version = serializers.CharField(source="suite.version", read_only=True)
    suite_digest = serializers.CharField(source="suite.digest", read_only=True)
    planner = PlannerOutput(source="submission.planner", read_only=True)
    state_label = serializers.CharField(source="get_state_display", read_only=True)
    final = serializers.SerializerMethodField()
    own_worker = serializers.SerializerMethodField(
        help_text="Whether its owner's own worker measured it. Such results are ranked when they are verified."
    )
    verified = serializers.SerializerMethodField(
        help_text="Of what an own worker measured: whether a worker of this site confirmed a sample. Else null."
    )
    verifies = serializers.PrimaryKeyRelatedField(
        read_only=True, allow_null=True, help_text="The evaluation of which this one runs a sample of tasks again."
    )
    team = serializers.CharField(
        source="submission.team.slug", read_only=True, default=None, allow_null=True, help_text="Slug of its team."
    )
    rerun_of = serializers.UUIDField(
        source="submission.rerun_of_id",
        read_only=True,
        allow_null=True,
        help_text="The evaluation that this one runs again.",
    )
    reruns = serializers.PrimaryKeyRelatedField[Submission](
        many=True, read_only=True, help_text="Submissions that run this evaluation again."
    )
    done = serializers.IntegerField(read_only=True, help_text="Tasks that have ended, `not_run` ones included.")
    url = serializers.SerializerMethodField()

    class Meta:
        model = Evaluation
        fields = [
            "id", "submission", "suite", "suite_version", "suite_digest", "profile", "profile_digest", "split",
            "samples", "planner", "state", "state_label", "final", "reason", "reason_text", "state_since",
            "tasks_total", "tasks_not_run", "done", "summary", "provenance", "created", "finished",
            "own_worker", "verified", "verifies", "team", "rerun_of", "reruns", "url",
        ]  # fmt: skip
        read_only_fields = fields

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


class ComparedTaskOutput(serializers.Serializer[Any]):
    """One task of a verification's sample."""

    task = serializers.CharField(read_only=True)
    finding = serializers.ChoiceField(choices=[finding.value for finding in Finding], read_only=True)
    contradicts = serializers.BooleanField(read_only=True, help_text="Whether it contradicts the owner's results.")
    own_outcome = serializers.CharField(read_only=True, help_text="What the owner's worker sent.")
    own_score = serializers.FloatField(read_only=True)
    outcome = serializers.CharField(read_only=True, help_text="What a worker of this site measured.")
    score = serializers.FloatField(read_only=True)
    samples = serializers.IntegerField(read_only=True, help_text="Samples of the same plan that were compared.")
    differing = serializers.IntegerField(read_only=True, help_text="How many of them scored differently.")


class VerificationOutput(serializers.ModelSerializer[Verification]):
    """A sample of tasks that a worker of this site runs again."""

    evaluation = serializers.UUIDField(source="evaluation_id", read_only=True, help_text="The one that runs them.")
    state = serializers.CharField(source="evaluation.state", read_only=True)
    ordered_by = serializers.CharField(
        source="ordered_by.username",
        read_only=True,
        default=None,
        allow_null=True,
        help_text="Null: it followed from the results.",
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
        read_only_fields = fields

    def get_p_value(self, verification: Verification) -> float | None:
        return (verification.comparison or {}).get("p_value")

    @extend_schema_field(ComparedTaskOutput(many=True))
    def get_compared(self, verification: Verification) -> list[dict[str, Any]]:
        return (verification.comparison or {}).get("tasks", [])


class SubmissionOutput(serializers.ModelSerializer[Submission]):
    """A submission with its evaluations."""

    planner = PlannerOutput(read_only=True)
    submitted_by = serializers.CharField(source="submitted_by.username", read_only=True)
    team = serializers.SlugRelatedField[Team](slug_field="slug", read_only=True, allow_null=True)
    evaluations = EvaluationOutput(many=True, read_only=True)

    class Meta:
        model = Submission
        fields = ["id", "planner", "submitted_by", "team", "created", "rerun_of", "evaluations"]
        read_only_fields = fields


class ResultOutput(serializers.ModelSerializer[TaskResult]):
    """How one task ended."""

    task = serializers.CharField(source="task.key", read_only=True)
    metric = serializers.CharField(source="task.metric", read_only=True)
    indicators = serializers.DictField(
        child=serializers.FloatField(),
        read_only=True,
        help_text="Of suites that judge plans: each indicator of the plan, in [0, 1].",
    )

    class Meta:
        model = TaskResult
        fields = [
            "task", "metric", "outcome", "reason", "reason_text", "score", "indicators", "seconds", "plan_summary",
            "accepted", "record_digest",
        ]  # fmt: skip
        read_only_fields = fields

    def to_representation(self, instance: TaskResult) -> dict[str, Any]:
        shown = super().to_representation(instance)
        request = self.context.get("request")
        withheld = instance.evaluation.split == HIDDEN_SPLIT and not (request and is_operator(request.user))
        if withheld and "record_digest" in shown:
            shown["record_digest"] = ""
        return shown


class RecordOutput(ResultOutput):
    """How one task ended, with the whole record `result/1`; null if the task never ran."""

    record = serializers.JSONField(read_only=True, allow_null=True)

    class Meta(ResultOutput.Meta):
        fields = [*ResultOutput.Meta.fields, "record"]
        read_only_fields = fields


class SuiteOutput(serializers.ModelSerializer[Suite]):
    """A suite."""

    tasks = serializers.IntegerField(source="task_count", read_only=True)

    class Meta:
        model = Suite
        fields = ["slug", "version", "digest", "kind", "title", "description", "metrics", "tasks"]
        read_only_fields = fields


class TaskOutput(serializers.ModelSerializer[Task]):
    """One request of a suite."""

    class Meta:
        model = Task
        fields = ["key", "position", "text", "structure", "metric", "attributes", "gold"]
        read_only_fields = fields


class BoardOutput(serializers.Serializer[Any]):
    """The newest published state of a board."""

    suite = serializers.CharField(read_only=True)
    number = serializers.IntegerField(read_only=True)
    digest = serializers.CharField(read_only=True)
    created = serializers.DateTimeField(read_only=True)
    profile = serializers.CharField(read_only=True)
    profile_digest = serializers.CharField(read_only=True)
    split = serializers.CharField(read_only=True)
    samples = serializers.IntegerField(read_only=True)
    content = serializers.JSONField(read_only=True, help_text='`{"rows": [...], "coverage": {"run", "total"}}`')
    reference = serializers.JSONField(
        read_only=True,
        help_text="Tables of papers that report figures for this suite: `source`, `name`, `title`, what `differs`, "
        "`columns` (`board_column` is the metric that means the same, or null) and `rows` with `figures` by column. "
        "Not run here, never ranked, no part of the snapshot.",
    )


class QuotaOutput(serializers.Serializer[Any]):
    """What a user or team has used today."""

    team = serializers.CharField(read_only=True, help_text="Slug; empty: the user's own quota.")
    suite = serializers.CharField(read_only=True)
    limit = serializers.IntegerField(read_only=True, allow_null=True, help_text="Null: any number.")
    used = serializers.IntegerField(read_only=True)
    free_at = serializers.DateTimeField(read_only=True)
