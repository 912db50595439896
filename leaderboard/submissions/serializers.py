"""Shapes of what the API reads and writes. Writable fields are listed where they are; all others are read-only."""

from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from evaluator.metrics.aggregate import with_shown_interval
from leaderboard.accounts.models import Team
from leaderboard.accounts.scopes import DEFAULT_SCOPES, Scope
from leaderboard.accounts.services import DEFAULT_DAYS
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.gold import open_attributes, sees_gold, withheld_from
from leaderboard.evaluations.models import Evaluation, EvaluationState, Submission, TaskResult, Visibility
from leaderboard.evaluations.transitions import FINAL
from leaderboard.planners import secret_headers
from leaderboard.planners.call_fields import ENDPOINT_URL, HEADER_NAME, HEADER_VALUE
from leaderboard.planners.data import NAME, TIMEOUT
from leaderboard.planners.fields import SeenBy
from leaderboard.planners.kinds import FIELDS, kinds_with
from leaderboard.planners.models import Planner, PlannerKind
from leaderboard.queue.comparing import Finding
from leaderboard.queue.models import Verification
from leaderboard.submissions.services import PRIORITIES


class PlannerInput(serializers.Serializer[Any]):
    """A planner to enter. What its kind needs is checked by the service, so that the page gives the same answers."""

    name = NAME.api_field()
    kind = serializers.ChoiceField(choices=PlannerKind.choices)

    def get_fields(self) -> dict[str, Any]:
        """With the fields of all kinds."""
        others = {field.name: field.api_field(kinds=kinds_with(field)) for field in FIELDS if field.in_api}
        return {**super().get_fields(), **others}


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


class VisibilityInput(serializers.Serializer[Any]):
    """Who sees a submission from now on."""

    visibility = serializers.ChoiceField(choices=Visibility.choices)
    embargo_until = serializers.DateTimeField(
        required=False,
        allow_null=True,
        default=None,
        help_text="With `embargo`, when it ends: at most a year from now.",
    )


class TokenInput(serializers.Serializer[Any]):
    """A personal token to make."""

    name = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=80,
        help_text="What you call it, such as the pipeline that uses it.",
    )
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
    name = serializers.CharField(source="granted.name", read_only=True, default="", help_text="Empty if it has none.")
    created = serializers.DateTimeField(read_only=True)
    expires = serializers.DateTimeField(source="expiry", read_only=True)
    last_used = serializers.DateTimeField(
        source="granted.last_used", read_only=True, allow_null=True, default=None, help_text="To the minute."
    )
    scopes = serializers.ListField(child=serializers.CharField(), source="granted.scopes", read_only=True, default=[])


class NewTokenOutput(serializers.Serializer[Any]):
    """A personal token that was just made."""

    id = serializers.CharField(read_only=True)
    name = serializers.CharField(read_only=True)
    token = serializers.CharField(read_only=True)
    expires = serializers.DateTimeField(read_only=True)
    scopes = serializers.ListField(child=serializers.CharField(), read_only=True)


class HeaderInput(serializers.Serializer[Any]):
    """A secret header to keep in the place of the one before."""

    name = HEADER_NAME.api_field(required=True)
    value = HEADER_VALUE.api_field(
        required=True, help_text="Kept encrypted, sent to the endpoint only, not shown again."
    )


class HeaderOutput(serializers.Serializer[Any]):
    """A secret header that is kept."""

    name = serializers.CharField(read_only=True)
    ends_in = serializers.CharField(read_only=True, help_text="Empty where the last characters would tell too much.")


OF_OWNER = frozenset({"header", *(field.name for field in FIELDS if field.seen_by is SeenBy.OWNER)})
"""What of a planner is shown to its owner only."""


class PlannerOutput(serializers.ModelSerializer[Planner]):
    """A planner. Its address, and whether a secret header is kept for it, are shown to its owner only."""

    owner = serializers.CharField(source="owner.username", read_only=True)
    endpoint_url = serializers.CharField(read_only=True, help_text="Empty for planners of other kinds.")
    header = serializers.SerializerMethodField(
        help_text="The secret header that is kept: its name, and the last characters of its value if they are told."
    )

    class Meta:
        model = Planner
        fields = [
            "kind", *(field.name for field in FIELDS if field.is_kept), "header", "commit", "weights_bytes", "licence",
            "owner",
        ]  # fmt: skip
        read_only_fields = fields

    @extend_schema_field(HeaderOutput(allow_null=True))
    def get_header(self, planner: Planner) -> dict[str, str] | None:
        kept = secret_headers.kept_header(planner) if self._is_owners(planner) else None
        return None if kept is None else {"name": kept.name, "ends_in": kept.ending}

    def to_representation(self, instance: Planner) -> dict[str, Any]:
        shown = super().to_representation(instance)
        if not self._is_owners(instance):
            for name in OF_OWNER:
                # The caller may have selected other fields only.
                shown.pop(name, None)
        return shown

    def _is_owners(self, planner: Planner) -> bool:
        request = self.context.get("request")
        return request is not None and request.user.pk == planner.owner_id


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
    visibility = serializers.CharField(
        source="submission.visibility",
        read_only=True,
        help_text="`public`, `embargo` or `private`; what is not public is seen by who may act on it and by staff.",
    )
    embargo_until = serializers.DateTimeField(source="submission.embargo_until", read_only=True, allow_null=True)
    hidden = serializers.SerializerMethodField(help_text="Why an operator took it off the boards; empty if none did.")
    rerun_of = serializers.UUIDField(
        source="shown_rerun_of",
        read_only=True,
        allow_null=True,
        help_text="The evaluation that this one runs again.",
    )
    reruns = serializers.PrimaryKeyRelatedField[Submission](
        many=True, read_only=True, help_text="Submissions that run this evaluation again."
    )
    done = serializers.IntegerField(
        read_only=True,
        help_text="Tasks that have ended. One that cannot run here counts; one that the end of its evaluation left out "
        "does not.",
    )
    url = serializers.SerializerMethodField()

    class Meta:
        model = Evaluation
        fields = [
            "id", "submission", "suite", "suite_version", "suite_digest", "profile", "profile_digest", "split",
            "samples", "planner", "state", "state_label", "final", "reason", "reason_text", "state_since",
            "tasks_total", "tasks_not_run", "done", "summary", "provenance", "created", "finished",
            "own_worker", "verified", "verifies", "team", "visibility", "embargo_until", "hidden", "rerun_of",
            "reruns", "url",
        ]  # fmt: skip
        read_only_fields = fields

    def get_hidden(self, evaluation: Evaluation) -> str:
        return evaluation.hidden_reason

    def to_representation(self, instance: Evaluation) -> dict[str, Any]:
        shown = super().to_representation(instance)
        if shown.get("summary"):
            metrics = (shown["summary"].get("metrics") or {}).items()
            open_metrics = {key: value and with_shown_interval(value) for key, value in metrics}
            shown["summary"] = {**shown["summary"], "metrics": open_metrics}
        return shown

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


class WaitOutput(serializers.Serializer[Any]):
    """How long an evaluation will probably take to begin and to end, from what workers did in the last hour."""

    known = serializers.BooleanField(read_only=True, help_text="False: too little ran in the last hour to tell.")
    begins_in_minutes = serializers.ListField(
        child=serializers.FloatField(), read_only=True, allow_null=True, help_text="`[low, high]`."
    )
    ends_in_minutes = serializers.ListField(
        child=serializers.FloatField(), read_only=True, allow_null=True, help_text="`[low, high]`."
    )
    measured_shards = serializers.IntegerField(read_only=True)
    in_words = serializers.CharField(read_only=True)


class EndpointTestInput(serializers.Serializer[Any]):
    """An endpoint to call once."""

    endpoint_url = ENDPOINT_URL.api_field(required=True, help_text="Where one JSON POST goes.")
    timeout_seconds = TIMEOUT.api_field(help_text="At most 15 are waited.")
    suite = serializers.CharField(
        required=False, allow_blank=True, default="", help_text="Slug of the suite whose request is sent."
    )
    header_name = HEADER_NAME.api_field()
    header_value = HEADER_VALUE.api_field()
    name = NAME.api_field(
        required=False,
        default=NAME.default,
        help_text="Of a planner of yours with this address, whose kept header is sent if none is given here.",
    )


class EndpointTestOutput(serializers.Serializer[Any]):
    """What was sent, what came back, and how it was read."""

    passed = serializers.BooleanField(
        read_only=True, help_text="Whether the answer would be executed or judged, and has a plan with steps."
    )
    suite = serializers.CharField(read_only=True)
    task = serializers.CharField(read_only=True)
    request = serializers.JSONField(read_only=True, help_text="The body that was sent, `planner/1`.")
    status = serializers.IntegerField(read_only=True, allow_null=True, help_text="HTTP status; null: no answer.")
    seconds = serializers.FloatField(read_only=True)
    answer = serializers.CharField(read_only=True, help_text="Its beginning, without the secret header.")
    answer_bytes = serializers.IntegerField(read_only=True)
    reason = serializers.CharField(read_only=True, allow_null=True)
    problem = serializers.CharField(read_only=True, help_text="What is wrong, as a sentence; empty: nothing.")
    plan = serializers.JSONField(read_only=True, allow_null=True, help_text="As it was read, `plan/1`.")
    tolerated = serializers.ListField(child=serializers.CharField(), read_only=True)
    problems = serializers.ListField(child=serializers.CharField(), read_only=True)
    example = serializers.JSONField(
        read_only=True,
        allow_null=True,
        help_text="Where the plan has no steps: one that shows the form and does not answer the request; else null.",
    )
    alternatives = serializers.IntegerField(read_only=True)


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
        withheld = withheld_from(reader=request.user if request else None, evaluation=instance.evaluation)
        empty = {"record_digest"} if withheld.data else set()
        if withheld.plan:
            empty |= {"record_digest", "plan_summary", "reason_text"}
        return {**shown, **dict.fromkeys(empty & shown.keys(), "")}


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
        fields = ["slug", "version", "digest", "title", "description", "conditions", "metrics", "tasks"]
        read_only_fields = fields


class TaskOutput(serializers.ModelSerializer[Task]):
    """One request of a suite."""

    class Meta:
        model = Task
        fields = ["key", "position", "text", "structure", "metric", "attributes", "gold"]
        read_only_fields = fields

    def to_representation(self, instance: Task) -> dict[str, Any]:
        shown = super().to_representation(instance)
        request = self.context.get("request")
        if sees_gold(reader=request.user if request else None, suite=instance.suite):
            return shown
        open_fields = {"gold": None, "attributes": open_attributes(instance.attributes)}
        return {name: open_fields.get(name, value) for name, value in shown.items()}


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
