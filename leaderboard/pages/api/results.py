"""The API about results: how the tasks of an evaluation ended."""

import json
from typing import Any
from uuid import UUID

from django.db.models import F, QuerySet
from django.shortcuts import get_object_or_404
from django.utils.functional import cached_property
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics, serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from evaluator.causes.taxonomy import Cause
from evaluator.engine.store import ObjectDamagedError, ObjectMissingError
from evaluator.records import Outcome
from leaderboard.evaluations.gold import Withheld, not_shared, withheld_from
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.evaluations.visibility import OF_EVALUATION, visible_evaluations, visible_to
from leaderboard.results.cause_counts import VALUES
from leaderboard.results.causes import read_findings
from leaderboard.results.listing import filter_results
from leaderboard.results.objects import server_store
from leaderboard.results.shown_records import shown_record
from leaderboard.site.api.examples import DIGEST, PLAN, example, example_of
from leaderboard.site.api.selection import Selected
from leaderboard.site.api.shapes import ModelOutput, Output

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


@example({
    **example_of(ResultOutput),
    "record": {"version": "result/1", "task": "14", "plan": PLAN, "score": 0.71},
})  # fmt: skip
class RecordOutput(ResultOutput):
    """How one task ended, with the whole record `result/1`; null if the task never ran."""

    record = serializers.JSONField(allow_null=True)

    class Meta(ResultOutput.Meta):
        fields = [*ResultOutput.Meta.fields, "record"]


@extend_schema(
    parameters=[
        OpenApiParameter("outcome", str, enum=[outcome.value for outcome in Outcome]),
        OpenApiParameter("why", str, enum=VALUES, description="A cause why tasks are below the gold score."),
        OpenApiParameter("metric", str, description="Of suites that execute plans: the tasks' metric."),
        OpenApiParameter("reason", str, description="The reason of a fault, as results have it."),
        OpenApiParameter("structure", str, description="The structure of the tasks' gold plans."),
        OpenApiParameter("base", str, description="Of suites that execute plans: the base task."),
        OpenApiParameter("degradation", str, description="Of suites that execute plans: one of the degradations."),
        OpenApiParameter("language", str, description="Of suites that execute plans: the language."),
        OpenApiParameter("undecided", str, enum=["1"], description="Those on which the judge is undecided."),
        OpenApiParameter("q", str, description="Text in the request or the plan's summary."),
        OpenApiParameter("level", str, description="Of suites that judge plans: `easy`, `medium` or `hard`."),
        OpenApiParameter("group", str, description="Of suites that judge plans: the group of requests."),
    ]
)
class ResultsView(Selected, generics.ListAPIView[TaskResult]):
    """How the tasks of an evaluation ended, in the suite's order."""

    serializer_class = ResultOutput
    ordering = ("position",)

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The results; kept by no cache where operators see more."""
        response = super().list(request, *args, **kwargs)
        not_shared(response, suite=self._evaluation.suite, split=self._evaluation.split)
        return response

    @cached_property
    def _evaluation(self) -> Evaluation:
        related = visible_evaluations(self.request.user).select_related("suite", "submission__planner")
        return get_object_or_404(related, pk=self.kwargs["evaluation_id"])

    def get_queryset(self) -> QuerySet[TaskResult]:
        evaluation = self._evaluation
        found = TaskResult.objects.filter(evaluation=evaluation).select_related(
            "task", "evaluation__suite", "evaluation__submission__planner"
        )
        found = found.annotate(position=F("task__position"))
        return filter_results(
            found, evaluation=evaluation, parameters=self.request.query_params, reader=self.request.user
        )


class RecordView(APIView):
    """How one task ended, with its whole record. While a split is hidden, its samples, digests and gold plans are for
    staff only: then `samples` and `explanations` of the record are empty, and of a planner that answers with the gold
    plans, its plans too."""

    @extend_schema(responses=RecordOutput)
    def get(self, request: Request, evaluation_id: UUID, task_key: str) -> Response:
        visible = TaskResult.objects.filter(visible_to(request.user, prefix=f"evaluation__{OF_EVALUATION}"))
        related = visible.select_related("task", "evaluation__suite", "evaluation__submission__planner")
        result = get_object_or_404(related, evaluation=evaluation_id, task__key=task_key)
        shown = dict(ResultOutput(result, context={"request": request}).data)
        withheld = withheld_from(reader=request.user, evaluation=result.evaluation)
        response = Response({**shown, "record": _record(result, withheld=withheld)})
        not_shared(response, suite=result.evaluation.suite, split=result.evaluation.split)
        return response


def _record(result: TaskResult, *, withheld: Withheld) -> Any:
    """The record without what is withheld."""
    if not result.record_digest:
        return None
    store = server_store(split=result.evaluation.split)
    try:
        return json.loads(shown_record(digest=result.record_digest, store=store, withheld=withheld))
    except (ObjectMissingError, ObjectDamagedError) as error:
        raise NotFound("The record of this task is not in the store any more.") from error
