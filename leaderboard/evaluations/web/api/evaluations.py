"""The API about evaluations: lists, verifications, and how long they wait and run."""

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
from leaderboard.evaluations.causes import read_findings
from leaderboard.evaluations.gold import withheld_from
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
    """Slugs of all suites that there are."""
    return Suite.objects.order_by("slug").values_list("slug", flat=True).distinct()


def is_yes(text: str) -> bool:
    return text.lower() in {"1", "true"}


def beginning_of_id(text: str) -> str:
    """At least four hexadecimal digits of an id, with or without its hyphens."""
    digits = text.lower().replace("-", "")
    if not _DIGITS.fullmatch(digits):
        raise ValueError(f"{text!r} is not the beginning of an id: 4 to 32 hexadecimal digits.")
    return digits


def _begins(field: str, *, digits: str) -> Q:
    """Whether an id begins so, as a range, which an index answers."""
    first, last = (UUID(hex=digits.ljust(32, filler)) for filler in "0f")
    return Q(**{f"{field}__gte": first, f"{field}__lte": last})


_EVALUATIONS = (
    Parameter("id", beginning_of_id),
    Parameter("suite", one_of(suite_slugs)),
    Parameter("state", one_of(EvaluationState.values)),
    Parameter("planner", whole_number),
    Parameter("mine", is_yes),
)


def filter_evaluations(found: QuerySet[Evaluation], *, parameters: Any, reader: Reader) -> QuerySet[Evaluation]:
    """The evaluations that a query string asks for: `suite`, `state`, `planner`, `id` as the beginning of an
    evaluation's or a submission's id, and with `mine=1` those that the reader may act on.

    Raises:
        FieldErrors: a parameter has a value that it cannot have.
    """
    values = read(parameters=parameters, declared=_EVALUATIONS).checked()
    columns = {"suite": "suite__slug", "state": "state", "planner": "submission__planner"}
    found = found.filter(**{column: values[name] for name, column in columns.items() if values[name] != ""})
    if digits := values["id"]:
        found = found.filter(_begins("pk", digits=digits) | _begins("submission", digits=digits))
    if values["mine"]:
        mine = Submission.objects.filter(acted_on_by(reader)) if reader.pk else ()
        found = found.filter(submission__in=mine)
    return found


@example({
    "id": EVALUATION_ID, "submission": SUBMISSION_ID, "suite": EXAMPLE_SUITE, "suite_version": "1",
    "suite_digest": DIGEST, **CONDITIONS_EXAMPLE,
    "planner": example_of(PlannerOutput), "state": "completed", "state_label": "Completed", "final": True,
    "reason": "published", "reason_text": "Completed and published.", "state_since": LATER, "tasks_total": 185,
    "tasks_not_run": 14, "done": 185, "summary": SUMMARY, "provenance": {"suite_digest": DIGEST, "workers": []},
    "created": WHEN, "finished": LATER, "own_worker": False,
    "verified": None, "verifies": None, "member_of": None, "perturbation": "", "repetition": 1,
    "team": "plan-lab", "visibility": "public", "embargo_until": None,
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
            "id", "submission", "suite", "suite_version", "suite_digest", *CONDITION_FIELDS,
            "planner", "state", "state_label", "final", "reason", "reason_text",
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


FINDING = {"cause": "wrong_tool", "step": "s1", "tool": "Image Denoising", "wanted": "Image Super Resolution"}


@example(FINDING, may_lack=("step", "tool", "input", "wanted", "given", "where"))
class FindingOutput(Output):
    """One cause why a task is below the gold score, with what it is about. What does not apply is absent."""

    cause = serializers.ChoiceField(choices=[cause.value for cause in Cause])
    step = serializers.CharField(required=False, help_text="Id of the planner's step; in turns, its number.")
    tool = serializers.CharField(required=False, help_text="Of that step, or the one that is missing or invented.")
    input = serializers.CharField(required=False, help_text="Argument of the tool.")
    wanted = serializers.CharField(required=False, help_text="What would be right.")
    given = serializers.CharField(required=False, help_text="What the planner gave.")
    where = serializers.CharField(required=False, help_text="Place in a text that could not be read, or its form.")


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
        help_text="Of suites in turns, how the task's episodes went: `ends` (for each `stop`, `turns` and `score`) and "
        "`problems` (of actions: `tool`, `problem` and `count`). Null elsewhere, and where the plan is withheld.",
    )

    causes = FindingOutput(
        many=True,
        allow_null=True,
        help_text="Why the task is below the gold score; empty at the gold score, and for tasks that never ran. Null: "
        "not found yet. Where gold plans are withheld, only the planner's own plan is named; where plans are, only "
        "the cause.",
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
            found = read_findings(instance.causes, withheld=withheld)
            shown["causes"] = None if found is None else [one.to_json() for one in found]
        if "episodes" in shown and (withheld.plan or not shown["episodes"]):
            shown["episodes"] = None
        return {**shown, **dict.fromkeys(empty & shown.keys(), "")}


class EvaluationsView(Selected, ListView[Evaluation]):
    """All evaluations that the caller sees, newest first. Verifications are listed with what they verify."""

    serializer_class = EvaluationOutput
    parameters = [
        OpenApiParameter("suite", str, description="Slug of a suite."),
        OpenApiParameter("state", str, enum=EvaluationState.values),
        OpenApiParameter("planner", int, description="Id of a planner."),
        OpenApiParameter("id", str, description="How the id of the evaluation or of its submission begins."),
        OpenApiParameter("mine", bool, description="Only the caller's own and their teams'."),
    ]
    ordering = NEWEST_FIRST

    def get_queryset(self) -> QuerySet[Evaluation]:
        found = visible_evaluations(self.request.user).only("pk", "created")
        found = filter_evaluations(found, parameters=self.request.query_params, reader=self.request.user)
        return found.order_by(*NEWEST_FIRST)

    def paginate_queryset(self, queryset: QuerySet[Any, Any] | Sequence[Any]) -> list[Any]:
        """Everything else is read of the page's rows only: joined to all rows that filters and order look at, it would
        take tens of times as long where few of many rows are wanted (`mine`)."""
        page = super().paginate_queryset(queryset) or []
        whole = {one.pk: one for one in evaluations_for(self.request.user).filter(pk__in=[row.pk for row in page])}
        return [whole[row.pk] for row in page if row.pk in whole]


class EvaluationView(Selected, RetrieveView[Evaluation]):
    """One evaluation."""

    serializer_class = EvaluationOutput
    lookup_url_kwarg = "evaluation_id"

    def get_queryset(self) -> QuerySet[Evaluation]:
        return runs_for(self.request.user)


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
        evaluation = get_object_or_404(visible_runs(self.request.user), pk=self.kwargs["evaluation_id"])
        found = Verification.objects.filter(evaluation__verifies=evaluation)
        return found.select_related("evaluation", "ordered_by")


_NEW_WAIT = (
    Parameter("suite", one_of(suite_slugs), is_required=True),
    Parameter("priority", one_of(PRIORITIES), default="normal"),
)


@example({
    "known": True, "begins_in_minutes": [2.1, 4.8], "ends_in_minutes": [9.5, 21.7], "measured_shards": 40,
    "in_words": "Begins in 2 to 5 minutes, ends in 9 to 22 minutes",
})  # fmt: skip
class WaitOutput(Output):
    """How long an evaluation will probably take to begin and to end, from what workers did in the last hour."""

    known = serializers.BooleanField(help_text="False: too little ran in the last hour to tell.")
    begins_in_minutes = serializers.ListField(
        child=serializers.FloatField(), allow_null=True, help_text="`[low, high]`."
    )
    ends_in_minutes = serializers.ListField(child=serializers.FloatField(), allow_null=True, help_text="`[low, high]`.")
    measured_shards = serializers.IntegerField()
    in_words = serializers.CharField()


class WaitView(ApiView):
    """How long an evaluation will probably wait and run. `known` is false too once it has ended, while it waits for its
    owner, and where its owner's own worker runs it."""

    @extend_schema(responses=WaitOutput)
    def get(self, request: Request, evaluation_id: UUID) -> Response:
        evaluation = get_object_or_404(runs_for(request.user), pk=evaluation_id)
        return Response(WaitOutput(_wait_json(expected(evaluation))).data)


class NewWaitView(LoggedInView):
    """How long an evaluation would probably wait and run if the caller submitted it now."""

    parameters = [
        OpenApiParameter("suite", str, required=True, description="Slug of a suite."),
        OpenApiParameter("priority", str, enum=list(PRIORITIES)),
    ]

    @extend_schema(
        responses=WaitOutput,
    )
    def get(self, request: Request) -> Response:
        asked = read(parameters=request.query_params, declared=_NEW_WAIT).checked()
        slug, priority = asked["suite"], asked["priority"]
        suite = get_object_or_404(Suite, slug=slug, current=True)
        return Response(
            WaitOutput(_wait_json(expected_of_new(user=user_of(request), suite=suite, priority=priority))).data
        )


def _wait_json(found: Expectation | None) -> dict[str, Any]:
    begins = None if found is None else found.begins
    ends = None if found is None else found.ends
    return {
        "known": begins is not None,
        "begins_in_minutes": None if begins is None else [round(minutes, 1) for minutes in begins],
        "ends_in_minutes": None if ends is None else [round(minutes, 1) for minutes in ends],
        "measured_shards": found.shards if found else 0,
        "in_words": found.in_words() if found else "",
    }
