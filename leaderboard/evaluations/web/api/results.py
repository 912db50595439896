"""The API about results: how the tasks of an evaluation ended, as JSON and as files."""

import json
from collections.abc import Callable, Iterable, Set
from functools import partial
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
from leaderboard.catalog.models import RELATED_CONDITIONS, Suite
from leaderboard.evaluations.causes import NOT_FOUND, RAN, VALUES
from leaderboard.evaluations.gold import RELATED, Withheld, check_tasks, not_shared, withheld_from
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.evaluations.results.filters import Parameter, one_of, read
from leaderboard.evaluations.results.objects import server_store, shown_record
from leaderboard.evaluations.results.task_rows import TaskRow, facts_of
from leaderboard.evaluations.visibility import OF_EVALUATION, Reader, visible_runs, visible_to
from leaderboard.evaluations.web.api.evaluations import ResultOutput, is_yes
from leaderboard.evaluations.web.sharing.files import result_file, results_of
from leaderboard.platform.api.examples import PLAN, example, example_of
from leaderboard.platform.api.views import ApiView, ListView, Selected
from leaderboard.platform.http.downloads import DOWNLOADS


def filter_results(
    found: QuerySet[TaskResult], *, evaluation: Evaluation, parameters: Any, reader: Reader
) -> QuerySet[TaskResult]:
    """The results of an evaluation that a query string asks for: by outcome, reason, cause, words and whether they
    are undecided, and by each facet of the suite that does not follow from gold plans.

    Raises:
        FieldErrors: a parameter has a value that no task has, or is a facet of other suites only.
    """
    tasks = facts_of(evaluation.suite)
    getters: dict[str, Callable[[TaskRow], tuple[str, ...]]] = {"metric": lambda row: (row.metric,)}
    for facet in evaluation.suite.facets.filters:
        if not facet.tells_gold:
            getters[facet.name] = partial(_raw, name=facet.name)
    # Facets of other suites, which no task of this one has: a query if there are any that may be.
    if unknown := parameters.keys() - getters.keys() - _COMMON:
        getters |= dict.fromkeys(sorted(unknown & facet_names()), lambda _: ())
    declared = (
        Parameter("outcome", one_of([known.value for known in Outcome])),
        Parameter("reason", one_of([known.value for known in Reason])),
        Parameter("why", one_of(VALUES)),
        Parameter("q", lambda text: text.replace("\0", "").strip()),
        Parameter("undecided", is_yes),
        *(Parameter(name, one_of(_known(get=get, tasks=tasks))) for name, get in getters.items()),
    )
    values = read(parameters=parameters, declared=declared).checked()
    found = found.filter(**{name: values[name] for name in ("outcome", "reason") if values[name]})
    if cause := values["why"]:
        found = (
            found.filter(causes__isnull=True, outcome__in=RAN)
            if cause == NOT_FOUND
            else found.filter(causes__contains=[{"cause": cause}])
        )
    if chosen := {name: values[name] for name in getters if values[name]}:
        rows = [row.pk for row in tasks if all(value in getters[name](row) for name, value in chosen.items())]
        found = found.filter(task__in=rows)
    if values["undecided"]:
        key = evaluation.suite.ranking_column.undecided
        found = found.filter(**{f"indicators__{key}__gt": 0}) if key else found.none()
    if text := values["q"]:
        in_request, in_plan = Q(task__text__icontains=text), Q(plan_summary__icontains=text)
        # A reader who may not see a plan may not search in it.
        withheld = withheld_from(reader=reader, evaluation=evaluation)
        found = found.filter(in_request if withheld.plan else in_request | in_plan)
    return found


_COMMON = frozenset({"outcome", "reason", "why", "q", "undecided", "fields", "cursor", "page_size", "format"})
"""Parameters of the list that are no facets of suites."""


def facet_names() -> Set[str]:
    """The facets of some suite by which results can be listed."""
    suites = Suite.objects.only("task_facets")
    return {facet.name for suite in suites for facet in suite.facets.filters if not facet.tells_gold}


def _raw(row: TaskRow, *, name: str) -> tuple[str, ...]:
    return row.attributes.get(name, ())


def _known(*, get: Callable[[TaskRow], tuple[str, ...]], tasks: tuple[TaskRow, ...]) -> Callable[[], list[str]]:
    return lambda: sorted({value for row in tasks for value in get(row) if value})


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
    responses={
        (200, "application/json"): ResultOutput(many=True),
        **{(200, kind.media_type): OpenApiTypes.BINARY for kind in DOWNLOADS.values()},
    },
)
class ResultsView(Selected, ListView[TaskResult]):
    """How the tasks of an evaluation ended, in the suite's order. While hidden data are not public, only operators get
    them; others get 403."""

    serializer_class = ResultOutput
    renderer_classes = (JSONRenderer, *DOWNLOADS.values())
    parameters = [
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
        OpenApiParameter(
            "format", str, enum=["json", *DOWNLOADS], description="`csv` and `parquet`: all rows as a file."
        ),
    ]
    ordering = ("position",)

    def list(  # type: ignore[override]  # a stream is no response of DRF's
        self, request: Request, *args: Any, **kwargs: Any
    ) -> Response | StreamingHttpResponse:
        """The results; kept by no cache where operators see more. As CSV and Parquet they are one file with all
        columns, and causes as in the list."""
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
        """With the facets of suites, which the schema does not list."""
        known = list(super().parameters_of(request))
        yield from known
        if request.query_params.keys() - {parameter.name for parameter in known}:
            yield from (OpenApiParameter(name) for name in sorted(facet_names()))

    @cached_property
    def _evaluation(self) -> Evaluation:
        related = visible_runs(self.request.user).select_related(*RELATED, "submission__planner__owner")
        return get_object_or_404(related, pk=self.kwargs["evaluation_id"])

    def get_queryset(self) -> QuerySet[TaskResult]:
        evaluation = self._evaluation
        check_tasks(reader=self.request.user, of=evaluation)
        found = TaskResult.objects.filter(evaluation=evaluation).select_related(
            "task", "evaluation__suite", f"evaluation__{RELATED_CONDITIONS}", "evaluation__submission__planner"
        )
        found = found.annotate(position=F("task__position"))
        return filter_results(
            found, evaluation=evaluation, parameters=self.request.query_params, reader=self.request.user
        )


class RecordView(ApiView):
    """How one task ended, with its whole record. While a split is hidden, its samples, digests and gold plans are for
    staff only: then `samples` and `explanations` of the record are empty, and of a planner that answers with the gold
    plans, its plans too."""

    @extend_schema(responses=RecordOutput)
    def get(self, request: Request, evaluation_id: UUID, task_key: str) -> Response:
        visible = TaskResult.objects.filter(visible_to(request.user, prefix=f"evaluation__{OF_EVALUATION}"))
        related = visible.select_related(
            "task", "evaluation__suite", f"evaluation__{RELATED_CONDITIONS}", "evaluation__submission__planner"
        )
        result = get_object_or_404(related, evaluation=evaluation_id, task__key=task_key)
        check_tasks(reader=request.user, of=result.evaluation)
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
