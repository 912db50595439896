"""The API of an evaluation's page: results as JSON and as files, groups, failures, other planners, place in the
queue."""

import json
from collections.abc import Callable, Iterable, Set
from typing import Any
from uuid import UUID

from django.db.models import F, Q, QuerySet
from django.http import StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.functional import cached_property
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from evaluator.core.records import Outcome, Reason
from evaluator.execution.engine.store import ObjectDamagedError, ObjectMissingError
from evaluator.planners.named import offline_planners
from evaluator.scoring.metrics.statistics import LEAST_VALUES, NEEDED
from leaderboard.catalog.models import RELATED_CONDITIONS, Suite
from leaderboard.evaluations.causes import NOT_FOUND, RAN, VALUES
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.evaluations.results.filters import Parameter, one_of, read
from leaderboard.evaluations.results.objects import server_store, shown_record
from leaderboard.evaluations.results.stored_rows import facts_of, tasks_of
from leaderboard.evaluations.results.task_rows import TaskRow
from leaderboard.evaluations.visibility import (
    OF_EVALUATION,
    RELATED,
    Reader,
    check_tasks,
    not_shared,
    visible_runs,
    visible_to,
    withheld_from,
)
from leaderboard.evaluations.web.api.evaluations import ResultOutput, is_yes
from leaderboard.evaluations.web.gathering import gather, waiting_sentence
from leaderboard.evaluations.web.others import others_on
from leaderboard.evaluations.web.sharing.files import result_file, results_of
from leaderboard.people.web.api import LoggedInView
from leaderboard.platform.api.examples import ATTEMPT_ID, PLAN, example, example_of
from leaderboard.platform.api.shapes import Output
from leaderboard.platform.api.views import ApiView, ListView, Selected
from leaderboard.platform.http.downloads import DOWNLOADS
from leaderboard.queue.estimates import queue_now
from leaderboard.queue.place import WaitsFor, place_of


class ScoreGroupOutput(Output):
    """The scored tasks of one group."""

    facet = serializers.CharField(help_text="The facet that groups the tasks, such as `degradation`.")
    value = serializers.CharField()
    tasks = serializers.IntegerField()
    mean = serializers.FloatField(help_text="Mean score; a task with two degradations counts in both groups.")
    low = serializers.FloatField(
        allow_null=True,
        help_text=f"Lower end of the 95 % interval; null over fewer than {NEEDED}.",
    )
    high = serializers.FloatField(allow_null=True)
    faults = serializers.IntegerField(help_text="Planner faults among them, which count as 0.")


class IndicatorGroupOutput(Output):
    """One indicator over the judged tasks of one group."""

    facet = serializers.CharField()
    value = serializers.CharField()
    tasks = serializers.IntegerField()
    indicator = serializers.CharField()
    mean = serializers.FloatField(help_text="Share of the tasks.")
    undecided = serializers.FloatField(help_text="Share of undecided tasks, which count 0 in `mean`.")
    low = serializers.FloatField(
        allow_null=True, help_text=f"Lower end of Wilson's 95 % interval; null over fewer than {LEAST_VALUES} tasks."
    )
    high = serializers.FloatField(allow_null=True)


@example({
    "scores": [
        {
            "facet": "degradation", "value": "noise", "tasks": 80, "mean": 0.41, "low": 0.33, "high": 0.49,
            "faults": 4,
        }
    ],
    "indicators": [],
})  # fmt: skip
class BreakdownsOutput(Output):
    """An evaluation by groups of tasks."""

    scores = ScoreGroupOutput(many=True, help_text="For suites that execute plans; else empty.")
    indicators = IndicatorGroupOutput(many=True, help_text="For suites that judge plans; else empty.")


class CauseOutput(Output):
    """Tasks with the same cause."""

    key = serializers.CharField()
    count = serializers.IntegerField()
    sentence = serializers.CharField(help_text="The reason of the first task.")
    examples = serializers.ListField(
        child=serializers.CharField(),
        help_text="Keys of the first tasks; on hidden data that are not public, the ids in requests.",
    )


@example({
    "outcome": "planner_fault", "reason": "invalid_plan", "count": 6, "further": 0,
    "causes": [
        {"key": "9b27625e46", "count": 6, "sentence": "The plan calls an unknown tool.", "examples": ["14"]}
    ],
})  # fmt: skip
class FailureOutput(Output):
    """Tasks without a normal score that share a reason."""

    outcome = serializers.ChoiceField(choices=[outcome.value for outcome in Outcome])
    reason = serializers.CharField()
    count = serializers.IntegerField()
    causes = CauseOutput(many=True, help_text="The most frequent first.")
    further = serializers.IntegerField(help_text="Number of causes that are not listed.")


class OtherOutput(Output):
    """The result of another planner on the task."""

    evaluation = serializers.UUIDField()
    planner = serializers.CharField()
    owner = serializers.CharField()
    outcome = serializers.CharField()
    score = serializers.FloatField(allow_null=True)
    plan = serializers.CharField(help_text="Names of the called tools.")


@example({
    "count": 33, "better": 4, "equal": 1, "worse": 28, "unscored": 0,
    "best": [
        {
            "evaluation": ATTEMPT_ID, "planner": "other-planner", "owner": "bea", "outcome": "scored",
            "score": 0.93, "plan": "Image Denoising, Image Classification",
        }
    ],
})  # fmt: skip
class OthersOutput(Output):
    """The results of the other planners of the board on a task."""

    count = serializers.IntegerField()
    better = serializers.IntegerField()
    equal = serializers.IntegerField()
    worse = serializers.IntegerField()
    unscored = serializers.IntegerField()
    best = OtherOutput(many=True)


@example({
    "place": 2, "evaluations_before": 1, "shards_before": 12, "waits_for": "turn",
    "why": "One evaluation is ahead.",
})  # fmt: skip
class PlaceOutput(Output):
    """The current place of a waiting evaluation in the queue. All fields are null if it does not wait; `why` is also
    set for a blocked running evaluation, for example while the disk is full."""

    place = serializers.IntegerField(allow_null=True, help_text="1: it is served next.")
    evaluations_before = serializers.IntegerField(allow_null=True)
    shards_before = serializers.IntegerField(allow_null=True)
    waits_for = serializers.ChoiceField(choices=[one.value for one in WaitsFor], allow_null=True)
    why = serializers.CharField(allow_null=True)


@example({"evaluations": 3, "shards": 40, "leased": 2})
class QueueOutput(Output):
    """The current length of the queue of the site's workers."""

    evaluations = serializers.IntegerField()
    shards = serializers.IntegerField(help_text="Shards that are not done.")
    leased = serializers.IntegerField(help_text="Shards that are leased by a worker.")


@example({
    "name": "gold", "group": "Anchors", "description": "Answers with the gold plan.", "suites": [],
    "lacking": ["arc-111"],
})  # fmt: skip
class BundledPlannerOutput(Output):
    """A planner bundled with PlanArena."""

    name = serializers.CharField(help_text="Value for `bundled_name` of a submission.")
    group = serializers.CharField()
    description = serializers.CharField()
    suites = serializers.ListField(
        child=serializers.CharField(), help_text="Supported suites; empty: all except those in `lacking`."
    )
    lacking = serializers.ListField(
        child=serializers.CharField(), help_text="Suites without gold plans, for planners that need them."
    )


class BreakdownsView(ApiView):
    """Mean scores, or shares of the indicators, by structure, degradation, language, difficulty and group."""

    @extend_schema(responses=BreakdownsOutput)
    def get(self, request: Request, evaluation_id: UUID) -> Response:
        gathered = gather(_evaluation(request=request, evaluation_id=evaluation_id))
        scores = [
            {
                "facet": part.facet, "value": row.value, "tasks": row.interval.count, "mean": row.interval.mean,
                "low": row.interval.low, "high": row.interval.high, "faults": row.faults,
            }
            for part in gathered.score_breakdowns
            for row in part.rows
        ]  # fmt: skip
        indicators = [
            {
                "facet": part.facet, "value": row.value, "tasks": row.count, "indicator": share.name,
                "mean": share.interval.mean, "undecided": share.undecided, "low": share.interval.low,
                "high": share.interval.high,
            }
            for part in gathered.breakdowns
            for row in part.rows
            for share in row.shares
        ]  # fmt: skip
        return Response({"scores": scores, "indicators": indicators})


class FailuresView(ApiView):
    """The tasks without a normal score, by outcome and reason and within these by cause, the most frequent first."""

    @extend_schema(responses=FailureOutput(many=True))
    def get(self, request: Request, evaluation_id: UUID) -> Response:
        groups = gather(_evaluation(request=request, evaluation_id=evaluation_id)).failures
        return Response(
            [{**group._asdict(), "causes": [cause._asdict() for cause in group.causes]} for group in groups]
        )


class OthersView(ApiView):
    """The results of the other planners of the evaluation's board on one task. All counts are 0 if none has a score."""

    @extend_schema(responses=OthersOutput)
    def get(self, request: Request, evaluation_id: UUID, task_key: str) -> Response:
        evaluation = _evaluation(request=request, evaluation_id=evaluation_id)
        task = get_object_or_404(tasks_of(evaluation), key=task_key)
        check_tasks(reader=request.user, of=evaluation)
        result = TaskResult.objects.filter(evaluation=evaluation, task=task).first()
        score = result.score if result else None
        others = others_on(evaluation=evaluation, task=task, score=score, reader=request.user)
        names = ("count", "better", "equal", "worse", "unscored")
        response = Response(
            {
                **{name: getattr(others, name) if others else 0 for name in names},
                "best": [other._asdict() for other in others.best] if others else [],
            }
        )
        not_shared(response, suite=evaluation.suite, split=evaluation.split)
        return response


class PlaceView(ApiView):
    """The place of an evaluation in the queue, and why it waits."""

    @extend_schema(responses=PlaceOutput)
    def get(self, request: Request, evaluation_id: UUID) -> Response:
        evaluation = _evaluation(request=request, evaluation_id=evaluation_id)
        place = place_of(evaluation)
        return Response(
            {
                "place": place and place.number,
                "evaluations_before": place and place.before.evaluations,
                "shards_before": place and place.before.shards,
                "waits_for": place and place.waits_for.value,
                "why": waiting_sentence(evaluation=evaluation, place=place) or None,
            }
        )


class QueueView(LoggedInView):
    """The current length of the queue of the site's workers."""

    @extend_schema(responses=QueueOutput)
    def get(self, request: Request) -> Response:  # noqa: ARG002 - the base class's
        return Response(queue_now()._asdict())


class BundledPlannersView(ApiView):
    """The planners bundled with PlanArena."""

    @extend_schema(responses=BundledPlannerOutput(many=True))
    def get(self, request: Request) -> Response:  # noqa: ARG002 - the base class's
        names = ("name", "group", "description")
        return Response(
            [
                {name: getattr(planner, name) for name in names}
                | {"suites": list(planner.suites), "lacking": list(planner.lacking)}
                for planner in offline_planners().values()
            ]
        )


def _evaluation(*, request: Request, evaluation_id: UUID) -> Evaluation:
    """The evaluation; 404 unless the caller sees it."""
    related = visible_runs(request.user).select_related(
        *RELATED, "submission__planner__owner", "submission__submitted_by", "own_worker_run"
    )
    return get_object_or_404(related, pk=evaluation_id)


def filter_results(
    results: QuerySet[TaskResult], *, evaluation: Evaluation, parameters: Any, reader: Reader
) -> QuerySet[TaskResult]:
    """Apply the filters of a query string: outcome, reason, cause, text, undecided results, and each facet of the suite
    that does not follow from gold plans.

    Raises:
        FieldErrors: a parameter has a value that no task has, or is a facet of other suites only.
    """
    tasks = facts_of(evaluation.suite)

    def raw(name: str) -> Callable[[TaskRow], tuple[str, ...]]:
        return lambda row: row.attributes.get(name, ())

    def known(get: Callable[[TaskRow], tuple[str, ...]]) -> Callable[[], list[str]]:
        return lambda: sorted({value for row in tasks for value in get(row) if value})

    getters: dict[str, Callable[[TaskRow], tuple[str, ...]]] = {"metric": lambda row: (row.metric,)}
    for facet in evaluation.suite.facets.filters:
        if not facet.tells_gold:
            getters[facet.name] = raw(facet.name)
    # Facets of other suites, which no task of this one has. Takes a query only if there are unknown parameters.
    if unknown := parameters.keys() - getters.keys() - _COMMON:
        getters |= dict.fromkeys(sorted(unknown & facet_names()), lambda _: ())
    declared = (
        Parameter("outcome", one_of([outcome.value for outcome in Outcome])),
        Parameter("reason", one_of([reason.value for reason in Reason])),
        Parameter("why", one_of(VALUES)),
        Parameter("q", lambda text: text.replace("\0", "").strip()),
        Parameter("undecided", is_yes),
        *(Parameter(name, one_of(known(get))) for name, get in getters.items()),
    )
    values = read(parameters=parameters, declared=declared).checked()
    results = results.filter(**{name: values[name] for name in ("outcome", "reason") if values[name]})
    if values["why"] == NOT_FOUND:
        results = results.filter(causes__isnull=True, outcome__in=RAN)
    elif cause := values["why"]:
        results = results.filter(causes__contains=[{"cause": cause}])
    if chosen := {name: values[name] for name in getters if values[name]}:
        rows = [row.pk for row in tasks if all(value in getters[name](row) for name, value in chosen.items())]
        results = results.filter(task__in=rows)
    if values["undecided"]:
        key = evaluation.suite.ranking_column.undecided
        results = results.filter(**{f"indicators__{key}__gt": 0}) if key else results.none()
    if text := values["q"]:
        in_request, in_plan = Q(task__text__icontains=text), Q(plan_summary__icontains=text)
        # A reader who may not see a plan may not search in it.
        withheld = withheld_from(reader=reader, evaluation=evaluation)
        results = results.filter(in_request if withheld.plan else in_request | in_plan)
    return results


_COMMON = frozenset({"outcome", "reason", "why", "q", "undecided", "fields", "cursor", "page_size", "format"})
"""Parameters of the list that are not facets of suites."""


def facet_names() -> Set[str]:
    """The facets of all suites by which results can be filtered."""
    suites = Suite.objects.only("task_facets")
    return {facet.name for suite in suites for facet in suite.facets.filters if not facet.tells_gold}


@example({
    **example_of(ResultOutput),
    "record": {"version": "result/1", "task": "14", "plan": PLAN, "score": 0.71},
})  # fmt: skip
class RecordOutput(ResultOutput):
    """The result of one task, with the whole record `result/1`; null if the task never ran."""

    record = serializers.JSONField(allow_null=True)

    class Meta(ResultOutput.Meta):
        fields = [*ResultOutput.Meta.fields, "record"]


@extend_schema(
    responses={
        (200, "application/json"): ResultOutput(many=True),
        **{(200, kind.media_type): OpenApiTypes.BINARY for kind in DOWNLOADS.values()},
    },
)
class ResultsView(Selected, ListView[TaskResult]):
    """The results of an evaluation's tasks, in the suite's order. Until hidden data are public, only operators may read
    them; others get 403."""

    serializer_class = ResultOutput
    renderer_classes = (JSONRenderer, *DOWNLOADS.values())
    parameters = [
        OpenApiParameter("outcome", str, enum=[outcome.value for outcome in Outcome]),
        OpenApiParameter("why", str, enum=VALUES, description="A cause of scores below the gold score."),
        OpenApiParameter("metric", str, description="For suites that execute plans: the tasks' metric."),
        OpenApiParameter("reason", str, description="The reason of a fault."),
        OpenApiParameter("structure", str, description="The structure of the tasks' gold plans."),
        OpenApiParameter("base", str, description="For suites that execute plans: the base task."),
        OpenApiParameter("degradation", str, description="For suites that execute plans: one of the degradations."),
        OpenApiParameter("language", str, description="For suites that execute plans: the language."),
        OpenApiParameter("undecided", str, enum=["1"], description="Only tasks on which the judge is undecided."),
        OpenApiParameter("q", str, description="Text in the request or the plan's summary."),
        OpenApiParameter("level", str, description="For suites that judge plans: `easy`, `medium` or `hard`."),
        OpenApiParameter("group", str, description="For suites that judge plans: the group of requests."),
        OpenApiParameter(
            "format", str, enum=["json", *DOWNLOADS], description="`csv` and `parquet`: all rows as a file."
        ),
    ]
    ordering = ("position",)

    def list(  # type: ignore[override]  # a stream is not one of DRF's responses
        self, request: Request, *args: Any, **kwargs: Any
    ) -> Response | StreamingHttpResponse:
        """The results; not cached if operators see more. CSV and Parquet files have all rows and all columns."""
        if (ending := request.accepted_renderer.format) in DOWNLOADS:
            return self._file(request, ending=ending)
        response = super().list(request, *args, **kwargs)
        not_shared(response, suite=self._evaluation.suite, split=self._evaluation.split)
        return response

    def _file(self, request: Request, *, ending: str) -> StreamingHttpResponse:
        if "fields" in request.query_params:
            raise ValidationError({"fields": [f"A file of the format {ending} has all fields."]})
        evaluation = self._evaluation
        address = request.build_absolute_uri(reverse("evaluations:detail", args=[evaluation.pk]))
        chosen = self.get_queryset()
        results = results_of(evaluation=evaluation, reader=request.user, address=address, chosen=chosen)
        return result_file(request=request._request, results=results, ending=ending)

    def parameters_of(self, request: Request) -> Iterable[OpenApiParameter]:
        """Add the facets of suites, which the schema does not list."""
        known = list(super().parameters_of(request))
        yield from known
        if request.query_params.keys() - {parameter.name for parameter in known}:
            yield from (OpenApiParameter(name) for name in sorted(facet_names()))

    @cached_property
    def _evaluation(self) -> Evaluation:
        related = visible_runs(self.request.user).select_related(*RELATED, "submission__planner__owner")
        return get_object_or_404(related, pk=self.kwargs["evaluation_id"])

    def get_queryset(self) -> QuerySet[TaskResult]:
        evaluation, reader = self._evaluation, self.request.user
        check_tasks(reader=reader, of=evaluation)
        results = TaskResult.objects.filter(evaluation=evaluation).select_related(*_RELATED)
        results = results.annotate(position=F("task__position"))
        return filter_results(results, evaluation=evaluation, parameters=self.request.query_params, reader=reader)


class RecordView(ApiView):
    """The result of one task, with its whole record. While a split is hidden, its samples, digests and gold plans are
    for staff only: `samples` and `explanations` of the record are empty, and so are the plans of a planner that answers
    with the gold plans."""

    @extend_schema(responses=RecordOutput)
    def get(self, request: Request, evaluation_id: UUID, task_key: str) -> Response:
        visible = TaskResult.objects.filter(visible_to(request.user, prefix=f"evaluation__{OF_EVALUATION}"))
        result = get_object_or_404(visible.select_related(*_RELATED), evaluation=evaluation_id, task__key=task_key)
        evaluation = result.evaluation
        check_tasks(reader=request.user, of=evaluation)
        record = None
        if result.record_digest:
            store = server_store(split=evaluation.split)
            withheld = withheld_from(reader=request.user, evaluation=evaluation)
            try:
                record = json.loads(shown_record(digest=result.record_digest, store=store, withheld=withheld))
            except (ObjectMissingError, ObjectDamagedError) as error:
                raise NotFound("The store has lost the record of this task.") from error
        response = Response({**ResultOutput(result, context={"request": request}).data, "record": record})
        not_shared(response, suite=evaluation.suite, split=evaluation.split)
        return response


_RELATED = "task", "evaluation__suite", f"evaluation__{RELATED_CONDITIONS}", "evaluation__submission__planner"
