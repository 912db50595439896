"""API of boards: their rows with the filters and sort orders of the page, their plots as numbers, and all snapshots."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from math import isnan
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from evaluator.core.suites.reference_rows import reference_digest, reference_tables
from leaderboard.boards.contents import all_content, content_of
from leaderboard.boards.groups import Groups, best_by_group
from leaderboard.boards.matrix import DECIMALS, MOST_PLANNERS, Solved, matrix_of
from leaderboard.boards.models import Snapshot
from leaderboard.boards.selecting import (
    KINDS,
    PAGE_SIZES,
    PER_PAGE,
    SIZES,
    WEIGHTS,
    read_selection,
    select_rows,
)
from leaderboard.boards.services import latest_snapshot
from leaderboard.boards.signing.services import signature_of
from leaderboard.boards.web.plots import COSTS, Sample, bests, cost_samples, pareto_front, sign_of, time_samples
from leaderboard.catalog.models import CONDITION_COLUMNS, Suite
from leaderboard.catalog.services import primary_metric
from leaderboard.catalog.web.api import CONDITION_FIELDS, CONDITIONS_EXAMPLE, ConditionsOutput
from leaderboard.catalog.web.named import no_suite, suite_named
from leaderboard.evaluations.results.filters import written
from leaderboard.platform.api.examples import (
    DIGEST,
    ENVELOPE,
    EVALUATION_ID,
    EXAMPLE_SUITE,
    LATER,
    ROW,
    example,
    example_of,
)
from leaderboard.platform.api.shapes import ModelOutput, Output
from leaderboard.platform.api.views import ApiView, ListView, Selected
from leaderboard.platform.http.caching import not_modified, shareable

_UNPUBLISHED = OpenApiResponse(OpenApiTypes.OBJECT, description="There is no such board or snapshot.")
_ROW = (
    "Documented in `leaderboard/boards/ranking.py`: rank with its range, planner, `runs`, `metrics` with intervals, "
    "`outcomes`, `usage`, model, size, `devices`, `cost`, `reliability` and other known facts."
)


CONTENT_HELP = (
    '`{"rows": [...], "coverage": {"run", "total"}, "summary": {...}}`. The summary says who leads: `lead` and '
    "`clear_lead` are paired differences of rows, named by their position among the ranked rows; `agreements` are the "
    "rank correlations of other metrics with the primary one, `random_plans` is what random valid plans score, and "
    "`headroom` compares gold plans (`gold`) with the best planner that understands nothing (`shortcut`, `mean`)."
)


@example({
    "suite": EXAMPLE_SUITE, "number": 12, "digest": DIGEST, "created": LATER, **CONDITIONS_EXAMPLE,
    "content": {"rows": [], "coverage": {"run": 171, "total": 185}, "summary": {"leaders": 0}}, "reference": [],
})  # fmt: skip
class BoardOutput(ConditionsOutput, Output):
    """The newest published state of a board."""

    suite = serializers.CharField()
    number = serializers.IntegerField()
    digest = serializers.CharField()
    created = serializers.DateTimeField()
    profile = serializers.CharField()
    profile_digest = serializers.CharField()
    split = serializers.CharField()
    samples = serializers.IntegerField()
    data_digest = serializers.CharField(help_text="Digest of the data, including the commitment to hidden data.")
    device_class = serializers.CharField(
        help_text="On what devices experts ran, if not only on CPUs: `cuda`, another type of torch devices, or `mixed`."
    )
    content = serializers.JSONField(help_text=CONTENT_HELP)
    reference = serializers.JSONField(
        help_text="Tables of papers that report figures for this suite: `source`, `name`, `title`, what `differs`, "
        "`columns` (`board_column` is the equivalent metric, or null) and `rows` with `figures` by column. "
        "Not run here, never ranked, and not part of the snapshot."
    )


@example({
    "snapshot": 12, "coverage": {"run": 171, "total": 185}, "total": 34, "matching": 1, "next": None,
    "previous": None, "rows": [ROW],
})  # fmt: skip
class BoardRowsOutput(Output):
    """A page of a board's rows."""

    snapshot = serializers.IntegerField(help_text="Number of the newest snapshot.")
    coverage = serializers.DictField(child=serializers.IntegerField(), help_text="Tasks: `run` of `total`.")
    total = serializers.IntegerField(help_text="Rows of the whole board.")
    matching = serializers.IntegerField(help_text="Rows that match the filters.")
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    rows = serializers.ListField(child=serializers.DictField(), help_text=_ROW)


class PointOutput(Output):
    """One evaluation of a plot."""

    evaluation = serializers.UUIDField()
    planner = serializers.CharField()
    owner = serializers.CharField()
    score = serializers.FloatField(help_text="Mean of the board's primary metric.")


class TimePointOutput(PointOutput):
    """One evaluation by the time at which it finished."""

    finished = serializers.DateTimeField()
    is_best = serializers.BooleanField(help_text="Whether it is better than all evaluations before it.")


class CostPointOutput(PointOutput):
    """One planner by its cost per task."""

    per_task = serializers.FloatField(help_text="US dollars at declared prices, seconds, or tokens.")
    on_front = serializers.BooleanField(help_text="Whether no planner has a better score at the same cost or less.")


class GroupMeanOutput(Output):
    """One of the best planners on one group of tasks."""

    facet = serializers.CharField()
    value = serializers.CharField()
    evaluation = serializers.UUIDField()
    planner = serializers.CharField()
    mean = serializers.FloatField(allow_null=True, help_text="Null: the planner has no score on tasks of this group.")


_POINT = {"evaluation": EVALUATION_ID, "planner": "my-planner", "owner": "ada", "score": 0.43}  # fmt: skip


@example({
    "suite": EXAMPLE_SUITE, "metric": "overall", "higher_is_better": True,
    "over_time": [{**_POINT, "finished": LATER, "is_best": True}],
    "cost": [{**_POINT, "per_task": 0.00012, "on_front": True}], "seconds": [], "tokens": [],
    "parameters": [],
    "groups": [
        {
            "facet": "degradations", "value": "Noise", "evaluation": EVALUATION_ID, "planner": "my-planner",
            "mean": 0.41,
        }
    ],
})  # fmt: skip
class PlotsOutput(Output):
    """The plots of a board as numbers."""

    suite = serializers.CharField()
    metric = serializers.CharField()
    higher_is_better = serializers.BooleanField()
    over_time = TimePointOutput(many=True, help_text="All published evaluations.")
    cost = CostPointOutput(many=True, help_text="One per planner, by US dollars.")
    seconds = CostPointOutput(many=True, help_text="The same by latency.")
    tokens = CostPointOutput(many=True, help_text="The same by tokens.")
    parameters = CostPointOutput(many=True, help_text="The same by the number of the model's parameters.")
    groups = GroupMeanOutput(many=True, help_text="The best planners by groups of tasks.")


@example({
    "suite": EXAMPLE_SUITE, "suite_version": "1", "number": 12, "digest": DIGEST, "created": LATER,
    **CONDITIONS_EXAMPLE, "url": "https://planarena.example.org/boards/openagi/snapshots/12/",
    "signature": ENVELOPE,
})  # fmt: skip
class SnapshotOutput(ConditionsOutput, ModelOutput[Snapshot]):
    """One published state of a board, which never changes."""

    suite = serializers.CharField(source="suite.slug")
    suite_version = serializers.CharField(source="suite.version")
    url = serializers.SerializerMethodField(help_text="Its page.")
    signature = serializers.SerializerMethodField(
        help_text="Its signed statement, a DSSE envelope that names the previous snapshot; null if it is not signed."
    )

    class Meta:
        model = Snapshot
        fields = [
            "suite", "suite_version", "number", "digest", "created", *CONDITION_FIELDS, "url", "signature",
        ]  # fmt: skip

    @extend_schema_field(serializers.URLField())
    def get_url(self, snapshot: Snapshot) -> str:
        path = reverse("boards:snapshot", kwargs={"suite": snapshot.suite.slug, "number": snapshot.number})
        return str(self.context["request"].build_absolute_uri(path))

    @extend_schema_field({"type": ["object", "null"], "additionalProperties": {}})
    def get_signature(self, snapshot: Snapshot) -> dict[str, Any] | None:
        signature = signature_of(snapshot)
        return None if signature is None else signature.envelope


@example(
    {
        **example_of(SnapshotOutput),
        "content": {"rows": [ROW], "coverage": {"run": 171, "total": 185}, "summary": {"leaders": 0}},
    }
)
class WholeSnapshotOutput(SnapshotOutput):
    """A snapshot with its rows."""

    content = serializers.JSONField(help_text=CONTENT_HELP)

    class Meta(SnapshotOutput.Meta):
        fields = [*SnapshotOutput.Meta.fields, "content"]


def _parameter(name: str, description: str, **more: Any) -> OpenApiParameter:
    return OpenApiParameter(name, str, description=description, **more)


_SELECTION = [
    _parameter("rows", "All published evaluations instead of one row per planner.", enum=["all"]),
    _parameter("sort", "`rank`, `planner`, a metric or a fact such as `cost`; prefix `-` for descending order."),
    _parameter("q", "Text in planner, owner, team, strategy, model or kind."),
    _parameter("kind", "Kind of planner.", enum=list(KINDS)),
    _parameter("strategy", "The strategy, as in rows."),
    _parameter("model", "The language model, as in rows."),
    _parameter("size", "Range of the model's parameters.", enum=[size[0] for size in SIZES]),
    _parameter("weights", "Whether the model's weights are open.", enum=list(WEIGHTS)),
    OpenApiParameter("since", date, description="Finished on this day (UTC) or later."),
    OpenApiParameter("until", date, description="Finished on this day (UTC) or earlier."),
    _parameter("own", "Only the caller's.", enum=["1"]),
    OpenApiParameter("page", int, description="From 1."),
    OpenApiParameter("per_page", int, enum=list(PAGE_SIZES), description=f"Rows per page; {PER_PAGE} by default."),
    _parameter("fields", "Names of the fields that rows contain, separated by commas."),
]


class BoardView(ApiView):
    """The newest published state of a suite's board."""

    @extend_schema(responses=BoardOutput)
    def get(self, request: Request, slug: str) -> Response | HttpResponse:
        _, snapshot = _newest_board(slug)
        etag = f'"{snapshot.digest}{reference_digest(slug)[:12]}"'
        response = not_modified(request=request._request, tag=etag)
        if response is None:
            fields = ("number", "digest", "created", *CONDITION_COLUMNS, "content")
            board = {
                "suite": slug,
                **{field: getattr(snapshot, field) for field in fields},
                "reference": [table.model_dump(mode="json") for table in reference_tables(slug)],
            }
            body = JSONRenderer().render(BoardOutput(board).data)
            response = HttpResponse(body, content_type="application/json", headers={"ETag": etag})
        return shareable(response)


class BoardRowsView(ApiView):
    """The rows of a board, filtered, sorted and paged as on its page. Invalid values, which the page ignores, are
    answered with 400."""

    parameters = _SELECTION

    @extend_schema(responses={200: BoardRowsOutput, 404: _UNPUBLISHED})
    def get(self, request: Request, slug: str) -> Response:
        suite, snapshot = _newest_board(slug)
        metrics = [metric["key"] for metric in suite.metrics]
        # Otherwise a script with a typo would take the whole board for the filtered one.
        selection = read_selection(request.query_params, metrics=metrics, strict=True)
        content = all_content(suite=suite, snapshot=snapshot) if selection.every else content_of(snapshot)
        reader = request.user.username if request.user.is_authenticated else ""
        rows = select_rows(indexed=content.index, selection=selection, metrics=metrics, reader=reader).rows
        page, size = int(selection.page), selection.per_page
        part: Sequence[Mapping[str, Any]] = rows[(page - 1) * size : page * size]
        if (fields := request.query_params.get("fields")) is not None:
            # Unknown facts are missing in rows, so any name is allowed.
            names = [name.strip() for name in fields.split(",")]
            part = [{name: row[name] for name in names if name in row} for row in part]
        return Response(
            {
                "snapshot": snapshot.number,
                "coverage": content.coverage,
                "total": len(content.rows),
                "matching": len(rows),
                "next": _page(request=request, number=page + 1) if page * size < len(rows) else None,
                "previous": _page(request=request, number=page - 1) if page > 1 else None,
                "rows": list(part),
            }
        )


class PlotsView(ApiView):
    """Score over time, score against cost with the Pareto front, and the best planners by groups, as numbers."""

    @extend_schema(responses={200: PlotsOutput, 404: _UNPUBLISHED})
    def get(self, request: Request, slug: str) -> Response:  # noqa: ARG002 - the base class's
        suite, snapshot = _newest_board(slug)
        metric = primary_metric(suite)
        best = content_of(snapshot)
        times = time_samples(rows=all_content(suite=suite, snapshot=snapshot).rows, metric=metric)
        records = {id(sample) for sample in bests(samples=times, better=sign_of(metric))}
        return Response(
            {
                "suite": slug,
                "metric": metric["key"],
                "higher_is_better": sign_of(metric) > 0,
                "over_time": [
                    {
                        **_point(sample),
                        "finished": datetime.fromtimestamp(sample.x, tz=UTC),
                        "is_best": id(sample) in records,
                    }
                    for sample in times
                ],
                **{cost: _costs(rows=best.rows, metric=metric, cost=cost) for cost in COSTS},
                "groups": list(_means(best_by_group(suite=suite, snapshot=snapshot, content=best))),
            }
        )


class SnapshotsView(Selected, ListView[Snapshot]):
    """Every snapshot of a suite's boards, newest first."""

    serializer_class = SnapshotOutput
    ordering = ("-number", "-id")

    def get_queryset(self) -> QuerySet[Snapshot]:
        suites = Suite.objects.filter(slug=self.kwargs["slug"])
        if not suites:
            raise no_suite(self.kwargs["slug"])
        return Snapshot.objects.filter(suite__in=suites).select_related("suite", "signature").defer("stored", "packed")


class SnapshotView(ApiView):
    """One snapshot with its rows, at a permanent URL."""

    @extend_schema(responses={200: WholeSnapshotOutput, 404: _UNPUBLISHED})
    def get(self, request: Request, slug: str, number: int) -> Response:
        rows = Snapshot.objects.filter(suite__slug=slug).select_related("suite", "signature").defer("stored", "packed")
        snapshot = get_object_or_404(rows, number=number)
        signature = signature_of(snapshot)
        etag = f'"{snapshot.digest}{signature.key_id[:12] if signature else ""}"'
        if request.headers.get("If-None-Match") == etag:
            return Response(status=status.HTTP_304_NOT_MODIFIED, headers={"ETag": etag})
        content = content_of(snapshot)
        fields = SnapshotOutput(snapshot, context={"request": request}).data
        whole = {**fields, "content": content.document}
        return Response(whole, headers={"ETag": etag})


class PlannerOfTasksOutput(Output):
    """One planner of the board."""

    rank = serializers.IntegerField(allow_null=True, help_text="Null for anchors.")
    planner = serializers.CharField()
    owner = serializers.CharField()
    evaluation = serializers.UUIDField()
    knows_gold = serializers.BooleanField(
        help_text="Whether it answers with gold plans; if so, it does not count for `solved`."
    )


class TaskOfPlannersOutput(Output):
    """One task of the board."""

    key = serializers.CharField()
    text = serializers.CharField(help_text="Its request; empty on a hidden split.")
    solved = serializers.ChoiceField(
        choices=[str(solved) for solved in Solved],
        help_text="How many of these planners solve it, by the board's `rule`.",
    )
    values = serializers.ListField(
        child=serializers.FloatField(allow_null=True),
        help_text="Its value by planner, in their order: the mean over its samples; null if it does not count.",
    )


@example({
    "suite": EXAMPLE_SUITE, "snapshot": 12, "metric": "overall", "low": 0.0, "high": 1.0,
    "rule": "A task counts as solved at any score above the lowest.", "ranked": 1, "next": None, "previous": None,
    "planners": [
        {"rank": 1, "planner": "my-planner", "owner": "ada", "evaluation": EVALUATION_ID, "knows_gold": False}
    ],
    "tasks": [{"key": "3", "text": "Given an image, what is in it?", "solved": "all", "values": [0.85]}],
})  # fmt: skip
class BoardTasksOutput(Output):
    """Task values by planner, for one page of planners."""

    suite = serializers.CharField()
    snapshot = serializers.IntegerField(help_text="Number of the newest snapshot.")
    metric = serializers.CharField(help_text="Key of the column that the board ranks by.")
    low = serializers.FloatField(help_text="Lowest value of the column.")
    high = serializers.FloatField(help_text="Highest value of the column.")
    rule = serializers.CharField(help_text="When a task counts as solved.")
    ranked = serializers.IntegerField(help_text="All ranked planners of the board.")
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    planners = PlannerOfTasksOutput(many=True, help_text="By rank.")
    tasks = TaskOfPlannersOutput(many=True, help_text="All tasks, in the suite's order.")


class BoardTasksView(ApiView):
    """Task values by planner in the newest snapshot: the board's heat map as numbers."""

    parameters = [OpenApiParameter("page", int, description=f"Page of {MOST_PLANNERS} planners by rank, from 1.")]

    @extend_schema(responses=BoardTasksOutput)
    def get(self, request: Request, slug: str) -> Response:
        suite, snapshot = _newest_board(slug)
        text = request.query_params.get("page", "1")
        if not re.fullmatch("[1-9][0-9]{0,5}", text):
            raise ValidationError({"page": "must be a whole number from 1"})
        page = int(text)
        matrix = matrix_of(suite=suite, snapshot=snapshot, rows=content_of(snapshot).rows, page=page)
        if page != matrix.first // MOST_PLANNERS + 1:
            raise NotFound(f"The board {slug} has no page {page}: it ranks {matrix.ranked} planners.")
        return Response(
            {
                "suite": slug,
                "snapshot": snapshot.number,
                "metric": primary_metric(suite)["key"],
                **{name: getattr(matrix, name) for name in ("low", "high", "rule", "ranked")},
                "next": _page(request=request, number=page + 1) if matrix.last < matrix.ranked else None,
                "previous": _page(request=request, number=page - 1) if page > 1 else None,
                "planners": [planner._asdict() for planner in matrix.planners],
                "tasks": [
                    {
                        **task._asdict(),
                        "solved": str(solved),
                        "values": [None if isnan(value) else round(value, DECIMALS) for value in values],
                    }
                    for task, solved, values in zip(matrix.tasks, matrix.solved, matrix.values.tolist(), strict=True)
                ],
            }
        )


def _newest_board(slug: str) -> tuple[Suite, Snapshot]:
    suite = suite_named(slug)
    snapshot = latest_snapshot(suite=suite)
    if snapshot is None:
        raise NotFound(f"Nothing was published on the board {slug} yet.")
    return suite, snapshot


def _page(*, request: Request, number: int) -> str:
    parameters = [(name, str(value)) for name, value in request.query_params.items() if name != "page"]
    return request.build_absolute_uri(f"{request.path}{written([*parameters, ('page', str(number))])}")


def _point(sample: Sample) -> dict[str, Any]:
    return {**{name: sample.row[name] for name in ("evaluation", "planner", "owner")}, "score": sample.y}


def _costs(*, rows: Sequence[Mapping[str, Any]], metric: Mapping[str, Any], cost: str) -> list[dict[str, Any]]:
    samples = cost_samples(rows=rows, metric=metric, cost=cost)
    front = {id(sample) for sample in pareto_front(samples=samples, better=sign_of(metric))}
    return [{**_point(sample), "per_task": sample.x, "on_front": id(sample) in front} for sample in samples]


def _means(groups: Groups) -> Iterable[dict[str, Any]]:
    for plot in groups.plots:
        for row in plot.rows:
            for series, mean in zip(groups.series, row.means, strict=True):
                yield {
                    "facet": plot.key,
                    "value": row.label,
                    "evaluation": series.evaluation,
                    "planner": series.planner,
                    "mean": mean,
                }
