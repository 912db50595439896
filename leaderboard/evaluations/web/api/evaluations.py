"""The API of evaluations: lists, verifications, and expected waiting and running times."""

import re
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evaluator.scoring.causes.taxonomy import Cause
from leaderboard.catalog.models import Suite
from leaderboard.catalog.web.api import CONDITION_FIELDS, CONDITIONS_EXAMPLE, ConditionsOutput
from leaderboard.catalog.web.named import suite_named
from leaderboard.evaluations.causes import read_findings
from leaderboard.evaluations.models import Evaluation, EvaluationState, Submission, TaskResult
from leaderboard.evaluations.results.filters import Parameter, one_of, read, whole_number
from leaderboard.evaluations.states import FINAL
from leaderboard.evaluations.visibility import (
    NEWEST_FIRST,
    Reader,
    acted_on_by,
    evaluations_for,
    runs_for,
    visible_evaluations,
    visible_runs,
    withheld_from,
)
from leaderboard.people.authentication import user_of
from leaderboard.people.web.api import LoggedInView
from leaderboard.planners.web.serializers import PlannerOutput
from leaderboard.platform.api.examples import (
    DIGEST,
    EVALUATION_ID,
    EXAMPLE_SUITE,
    LATER,
    ROW_ID,
    SUBMISSION_ID,
    SUMMARY,
    WHEN,
    example,
    example_of,
)
from leaderboard.platform.api.shapes import ModelOutput, Output
from leaderboard.platform.api.views import ApiView, ListView, RetrieveView, Selected
from leaderboard.queue.comparing import Finding
from leaderboard.queue.estimates import Expectation, expected, expected_of_new
from leaderboard.queue.models import Verification
from leaderboard.submissions.fields import PRIORITIES

_DIGITS = re.compile(r"[0-9a-f]{4,32}")


def suite_slugs() -> QuerySet[Suite, str]:
    """Slugs of all suites."""
    return Suite.objects.order_by("slug").values_list("slug", flat=True).distinct()


def is_yes(text: str) -> bool:
    return text.lower() in {"1", "true"}


def beginning_of_id(text: str) -> str:
    """Parse at least four hexadecimal digits of an id, with or without hyphens."""
    digits = text.lower().replace("-", "")
    if not _DIGITS.fullmatch(digits):
        raise ValueError(f"{text!r} is not the beginning of an id: 4 to 32 hexadecimal digits.")
    return digits


def _begins(field: str, *, digits: str) -> Q:
    """Condition that an id has this prefix, as a range, for which the index can be used."""
    first, last = (UUID(hex=digits.ljust(32, filler)) for filler in "0f")
    return Q(**{f"{field}__gte": first, f"{field}__lte": last})


_EVALUATIONS = (
    Parameter("id", beginning_of_id),
    Parameter("suite", one_of(suite_slugs)),
    Parameter("state", one_of(EvaluationState.values)),
    Parameter("planner", whole_number),
    Parameter("version", str),
    Parameter("mine", is_yes),
)


def filter_evaluations(evaluations: QuerySet[Evaluation], *, parameters: Any, reader: Reader) -> QuerySet[Evaluation]:
    """Apply the filters of a query string: `suite`, `state`, `planner`, `version`, `id` as a prefix of the id of an
    evaluation or a submission, and `mine=1` for evaluations that the reader may act on.

    Raises:
        FieldErrors: a parameter has an invalid value.
    """
    values = read(parameters=parameters, declared=_EVALUATIONS).checked()
    columns = {
        "suite": "suite__slug",
        "state": "state",
        "planner": "submission__planner",
        "version": "submission__version",
    }
    evaluations = evaluations.filter(**{column: values[name] for name, column in columns.items() if values[name] != ""})
    if digits := values["id"]:
        evaluations = evaluations.filter(_begins("pk", digits=digits) | _begins("submission", digits=digits))
    if values["mine"]:
        mine = Submission.objects.filter(acted_on_by(reader)) if reader.pk else ()
        evaluations = evaluations.filter(submission__in=mine)
    return evaluations


@example({
    "id": EVALUATION_ID, "submission": SUBMISSION_ID, "suite": EXAMPLE_SUITE, "suite_version": "1",
    "suite_digest": DIGEST, **CONDITIONS_EXAMPLE,
    "planner": example_of(PlannerOutput), "version": "3f2a91c", "state": "completed",
    "state_label": "Completed", "final": True,
    "reason": "published", "reason_text": "Completed and published.", "state_since": LATER, "tasks_total": 185,
    "tasks_not_run": 14, "done": 185, "summary": SUMMARY, "provenance": {"suite_digest": DIGEST, "workers": []},
    "created": WHEN, "finished": LATER, "own_worker": False,
    "verified": None, "verifies": None, "member_of": None, "is_further_run": False,
    "perturbation": "", "repetition": 1, "team": "plan-lab", "visibility": "public", "embargo_until": None,
    "hidden": "", "rerun_of": None, "reruns": [],
    "url": f"https://planarena.example.org/evaluations/{EVALUATION_ID}/",
})  # fmt: skip
class EvaluationOutput(ConditionsOutput, ModelOutput[Evaluation]):
    """A submission on one suite."""

    suite = serializers.CharField(source="suite.slug")
    suite_version = serializers.CharField(source="suite.version")
    suite_digest = serializers.CharField(source="suite.digest")
    planner = PlannerOutput(source="submission.planner")
    state_label = serializers.CharField(source="get_state_display")
    final = serializers.SerializerMethodField()
    version = serializers.CharField(
        source="submission.version", help_text="The submitter's name for the planner's version, such as a commit."
    )
    own_worker = serializers.SerializerMethodField(
        help_text="Whether a self-hosted worker measured it. Such results are ranked once they are verified."
    )
    verified = serializers.SerializerMethodField(
        help_text="For self-hosted evaluations: whether a worker of this site confirmed a sample. Else null."
    )
    verifies: serializers.PrimaryKeyRelatedField[Evaluation] = serializers.PrimaryKeyRelatedField(
        read_only=True, allow_null=True, help_text="The evaluation of which this one repeats a sample of tasks."
    )
    member_of: serializers.PrimaryKeyRelatedField[Evaluation] = serializers.PrimaryKeyRelatedField(
        read_only=True,
        allow_null=True,
        help_text="The evaluation to whose reliability profile this one belongs, or of which it is a further run.",
    )
    team = serializers.CharField(
        source="submission.team.slug", default=None, allow_null=True, help_text="Slug of its team."
    )
    visibility = serializers.CharField(
        source="submission.visibility",
        help_text="`public`, `embargo` or `private`; if not public, it is visible to its owner, its team and staff.",
    )
    embargo_until = serializers.DateTimeField(source="submission.embargo_until", allow_null=True)
    hidden = serializers.SerializerMethodField(help_text="Why an operator removed it from the boards; else empty.")
    rerun_of = serializers.UUIDField(
        source="shown_rerun_of", allow_null=True, help_text="The evaluation that this one reruns."
    )
    reruns = serializers.PrimaryKeyRelatedField[Submission](
        many=True, read_only=True, help_text="Submissions that rerun this evaluation."
    )
    done = serializers.IntegerField(
        help_text="Number of ended tasks, including those that cannot run here, but without those that were left out "
        "because the evaluation ended or the planner was unavailable."
    )
    url = serializers.SerializerMethodField()

    class Meta:
        model = Evaluation
        fields = [
            "id", "submission", "suite", "suite_version", "suite_digest", *CONDITION_FIELDS,
            "planner", "version", "state", "state_label", "final", "reason", "reason_text",
            "state_since",
            "tasks_total", "tasks_not_run", "done", "summary", "provenance", "created", "finished",
            "own_worker", "verified", "verifies", "member_of", "is_further_run", "perturbation", "repetition",
            "team", "visibility", "embargo_until", "hidden", "rerun_of",
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


FINDING = {"cause": "wrong_tool", "step": "s1", "tool": "Image Denoising", "wanted": "Image Super Resolution"}


@example(FINDING, may_lack=("step", "tool", "input", "wanted", "given", "where"))
class FindingOutput(Output):
    """One cause of a score below the gold score, with its details. Fields that do not apply are absent."""

    cause = serializers.ChoiceField(choices=[cause.value for cause in Cause])
    step = serializers.CharField(required=False, help_text="Id of the planner's step; in turns, its number.")
    tool = serializers.CharField(required=False, help_text="Tool of that step, or the missing or invented tool.")
    input = serializers.CharField(required=False, help_text="Argument of the tool.")
    wanted = serializers.CharField(required=False, help_text="The right value.")
    given = serializers.CharField(required=False, help_text="The planner's value.")
    where = serializers.CharField(required=False, help_text="Position in an unreadable text, or the text's form.")


@example({
    "task": "14", "metric": "vit", "outcome": "scored", "reason": "", "reason_text": "", "score": 0.71,
    "indicators": {}, "seconds": 1.8, "plan_summary": "Image Denoising, Image Classification", "accepted": False,
    "record_digest": DIGEST, "episodes": None,
    "causes": [FINDING],
})  # fmt: skip
class ResultOutput(ModelOutput[TaskResult]):
    """How one task ended."""

    task = serializers.CharField(source="task.key")
    metric = serializers.CharField(source="task.metric")
    indicators = serializers.DictField(
        child=serializers.FloatField(),
        help_text="Indicators of the plan and of its answers by the key of their column, in [0, 1].",
    )

    episodes = serializers.JSONField(
        allow_null=True,
        help_text="The task's episodes, for suites in turns: `ends` (each with `stop`, `turns` and `score`) and "
        "`problems` of actions (each with `tool`, `problem` and `count`). Null for other suites and withheld plans.",
    )

    causes = FindingOutput(
        many=True,
        allow_null=True,
        help_text="Why the task is below the gold score; empty at the gold score, and for tasks that never ran. Null: "
        "not known yet. If gold plans are withheld, findings quote only the planner's own plan; if plans are, they "
        "have only the cause.",
    )

    class Meta:
        model = TaskResult
        fields = [
            "task", "metric", "outcome", "reason", "reason_text", "score", "indicators", "seconds", "plan_summary",
            "accepted", "record_digest", "episodes", "causes",
        ]  # fmt: skip

    def to_representation(self, instance: TaskResult) -> dict[str, Any]:
        shown = super().to_representation(instance)
        request = self.context.get("request")
        withheld = withheld_from(reader=request.user if request else None, evaluation=instance.evaluation)
        empty = {"record_digest"} if withheld.data else set()
        if withheld.plan:
            empty |= {"record_digest", "plan_summary", "reason_text"}
        if "causes" in shown:
            findings = read_findings(instance.causes, withheld=withheld)
            shown["causes"] = None if findings is None else [finding.to_json() for finding in findings]
        if "episodes" in shown and (withheld.plan or not shown["episodes"]):
            shown["episodes"] = None
        return {**shown, **dict.fromkeys(empty & shown.keys(), "")}


class EvaluationsView(Selected, ListView[Evaluation]):
    """All evaluations that the caller sees, newest first. Verifications have a separate list per evaluation."""

    serializer_class = EvaluationOutput
    parameters = [
        OpenApiParameter("suite", str, description="Slug of a suite."),
        OpenApiParameter("state", str, enum=EvaluationState.values),
        OpenApiParameter("planner", int, description="Id of a planner."),
        OpenApiParameter("version", str, description="Version of the planner, as its submitter named it."),
        OpenApiParameter("id", str, description="Prefix of the id of the evaluation or of its submission."),
        OpenApiParameter("mine", bool, description="Only evaluations of the caller and their teams."),
    ]
    ordering = NEWEST_FIRST

    def get_queryset(self) -> QuerySet[Evaluation]:
        reader = self.request.user
        visible = visible_evaluations(reader).only("pk", "created")
        selected = filter_evaluations(visible, parameters=self.request.query_params, reader=reader)
        return selected.order_by(*NEWEST_FIRST)

    def paginate_queryset(self, queryset: QuerySet[Any, Any] | Sequence[Any]) -> list[Any]:
        """Read related rows only for the page: joining them to all filtered rows takes tens of times as long for
        selective filters such as `mine`."""
        page = super().paginate_queryset(queryset) or []
        rows = evaluations_for(self.request.user).in_bulk([row.pk for row in page])
        return [rows[row.pk] for row in page if row.pk in rows]


class EvaluationView(Selected, RetrieveView[Evaluation]):
    """One evaluation."""

    serializer_class = EvaluationOutput
    lookup_url_kwarg = "evaluation_id"

    def get_queryset(self) -> QuerySet[Evaluation]:
        return runs_for(self.request.user)


class DifferingStepOutput(Output):
    """A step whose output differs by more than is allowed."""

    sample = serializers.IntegerField(help_text="Position of the sample, from 0.")
    step = serializers.CharField()
    tool = serializers.CharField()
    expert = serializers.CharField()
    difference = serializers.FloatField(
        help_text="In [0, 1]: of levels of pictures, letters of texts, sides of boxes, pixels of masks."
    )
    tolerance = serializers.FloatField(help_text="What is allowed: 0 on one class of devices.")


class ComparedTaskOutput(Output):
    """One task of a verification's sample."""

    task = serializers.CharField()
    finding = serializers.ChoiceField(choices=[finding.value for finding in Finding])
    contradicts = serializers.BooleanField(help_text="Whether it contradicts the owner's results.")
    own_outcome = serializers.CharField(help_text="Outcome on the owner's worker.")
    own_score = serializers.FloatField()
    outcome = serializers.CharField(help_text="Outcome on a worker of this site.")
    score = serializers.FloatField()
    samples = serializers.IntegerField(help_text="Number of compared samples of the same plan.")
    differing = serializers.IntegerField(help_text="Number of samples with different outputs or scores.")
    exact = serializers.IntegerField(
        required=False, help_text="Number of samples that must be equal, since the devices are of one class."
    )
    exact_differing = serializers.IntegerField(required=False, help_text="Number of these that differ.")
    step = DifferingStepOutput(
        required=False, allow_null=True, help_text="The first step whose output differs by more than is allowed."
    )


@example({
    "one_class": False, "own": ["NVIDIA H100, driver 570.86.15, CUDA 12.8"], "again": ["CPU (GenuineIntel)"],
})  # fmt: skip
class RuleOutput(Output):
    """How samples of equal plans were compared."""

    one_class = serializers.BooleanField(
        help_text="Whether both workers computed on one class of devices, so that outputs and scores must be equal. If "
        "not, outputs may differ by the tolerance of their expert."
    )
    own = serializers.ListField(child=serializers.CharField(), help_text="Devices of the owner's worker.")
    again = serializers.ListField(child=serializers.CharField(), help_text="Devices of this site's worker.")


@example({
    "evaluation": ROW_ID, "state": "completed", "tasks": ["14"], "verdict": "agrees",
    "detail": "1 of 1 tasks agree.", "ordered_by": None, "created": WHEN, "settled_at": LATER, "p_value": 1.0,
    "rule": None, "compared": [],
})  # fmt: skip
class VerificationOutput(ModelOutput[Verification]):
    """A sample of tasks that a worker of this site repeats."""

    evaluation = serializers.UUIDField(source="evaluation_id", help_text="The evaluation that repeats them.")
    state = serializers.CharField(source="evaluation.state")
    ordered_by = serializers.CharField(
        source="ordered_by.username", default=None, allow_null=True, help_text="Null: started automatically."
    )
    p_value = serializers.SerializerMethodField(
        help_text="P-value of the test whether the owner's scores are significantly higher; null until it is settled."
    )
    rule = serializers.SerializerMethodField(
        help_text="How samples were compared; null where nothing was executed, and until it is settled."
    )
    compared = serializers.SerializerMethodField()

    class Meta:
        model = Verification
        fields = [
            "evaluation", "state", "tasks", "verdict", "detail", "ordered_by", "created", "settled_at", "p_value",
            "rule", "compared",
        ]  # fmt: skip

    def get_p_value(self, verification: Verification) -> float | None:
        return (verification.comparison or {}).get("p_value")

    @extend_schema_field(RuleOutput(allow_null=True))
    def get_rule(self, verification: Verification) -> dict[str, Any] | None:
        return (verification.comparison or {}).get("rule")

    @extend_schema_field(ComparedTaskOutput(many=True))
    def get_compared(self, verification: Verification) -> list[dict[str, Any]]:
        compared: list[dict[str, Any]] = (verification.comparison or {}).get("tasks", [])
        return compared


class VerificationsView(Selected, ListView[Verification]):
    """The verifications of an evaluation, newest first, with the compared tasks."""

    serializer_class = VerificationOutput
    ordering = ("-created", "-pk")

    def get_queryset(self) -> QuerySet[Verification]:
        evaluation = get_object_or_404(visible_runs(self.request.user), pk=self.kwargs["evaluation_id"])
        verifications = Verification.objects.filter(evaluation__verifies=evaluation)
        return verifications.select_related("evaluation", "ordered_by")


_NEW_WAIT = (
    Parameter("suite", one_of(suite_slugs), is_required=True),
    Parameter("priority", one_of(PRIORITIES), default="normal"),
)


@example({
    "known": True, "begins_in_minutes": [2.1, 4.8], "ends_in_minutes": [9.5, 21.7], "measured_shards": 40,
    "in_words": "Begins in 2 to 5 minutes, ends in 9 to 22 minutes",
})  # fmt: skip
class WaitOutput(Output):
    """Expected time until an evaluation begins and ends, from the work of the last hour."""

    known = serializers.BooleanField(help_text="False: too little ran in the last hour for an estimate.")
    begins_in_minutes = serializers.ListField(
        child=serializers.FloatField(), allow_null=True, help_text="`[low, high]`."
    )
    ends_in_minutes = serializers.ListField(child=serializers.FloatField(), allow_null=True, help_text="`[low, high]`.")
    measured_shards = serializers.IntegerField()
    in_words = serializers.CharField()


class WaitView(ApiView):
    """Expected waiting and running time of an evaluation. `known` is also false if it has ended, waits for its owner,
    or runs on a self-hosted worker."""

    @extend_schema(responses=WaitOutput)
    def get(self, request: Request, evaluation_id: UUID) -> Response:
        evaluation = get_object_or_404(runs_for(request.user), pk=evaluation_id)
        return Response(WaitOutput(_wait_json(expected(evaluation))).data)


class NewWaitView(LoggedInView):
    """Expected waiting and running time of an evaluation that the caller would submit now."""

    parameters = [
        OpenApiParameter("suite", str, required=True, description="Slug of a suite."),
        OpenApiParameter("priority", str, enum=list(PRIORITIES)),
    ]

    @extend_schema(responses=WaitOutput)
    def get(self, request: Request) -> Response:
        values = read(parameters=request.query_params, declared=_NEW_WAIT).checked()
        suite = suite_named(values["suite"])
        expectation = expected_of_new(user=user_of(request), suite=suite, priority=values["priority"])
        return Response(WaitOutput(_wait_json(expectation)).data)


def _wait_json(expectation: Expectation | None) -> dict[str, Any]:
    begins = None if expectation is None else expectation.begins
    ends = None if expectation is None else expectation.ends
    return {
        "known": begins is not None,
        "begins_in_minutes": None if begins is None else [round(minutes, 1) for minutes in begins],
        "ends_in_minutes": None if ends is None else [round(minutes, 1) for minutes in ends],
        "measured_shards": expectation.shards if expectation else 0,
        "in_words": expectation.in_words() if expectation else "",
    }
