"""The API about a board's tasks by planner: the heat map as numbers."""

import re
from math import isnan
from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.boards.contents import content_of
from leaderboard.boards.matrix import DECIMALS, MOST_PLANNERS, Solved, TaskMatrix, matrix_of
from leaderboard.boards.services import latest_snapshot
from leaderboard.catalog.models import Suite
from leaderboard.catalog.services import primary_metric
from leaderboard.evaluations.results.filters import written
from leaderboard.platform.api.examples import EVALUATION_ID, EXAMPLE_SUITE, example
from leaderboard.platform.api.shapes import Output
from leaderboard.platform.api.views import ApiView

_PAGE = re.compile("[1-9][0-9]{0,5}")


class PlannerOfTasksOutput(Output):
    """One planner of the board."""

    rank = serializers.IntegerField()
    planner = serializers.CharField()
    owner = serializers.CharField()
    evaluation = serializers.UUIDField()
    knows_gold = serializers.BooleanField(
        help_text="Whether it answers with gold plans; it does not count for `solved`."
    )


class TaskOfPlannersOutput(Output):
    """One task of the board."""

    key = serializers.CharField()
    text = serializers.CharField(help_text="Its request; empty on a hidden split.")
    solved = serializers.ChoiceField(
        choices=[str(one) for one in Solved], help_text="How many of these planners solve it, by the board's `rule`."
    )
    values = serializers.ListField(
        child=serializers.FloatField(allow_null=True),
        help_text="What it counts by planner, in their order: the mean over its samples; null where it does not count.",
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
    """What each task of a board counts by planner, for one page of planners."""

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
    """What each task counts by planner in the newest snapshot: the board's heat map as numbers."""

    parameters = [OpenApiParameter("page", int, description=f"Of the planners: {MOST_PLANNERS} by rank; from 1.")]

    @extend_schema(
        responses=BoardTasksOutput,
    )
    def get(self, request: Request, slug: str) -> Response:
        suite = get_object_or_404(Suite, slug=slug, current=True)
        snapshot = latest_snapshot(suite=suite)
        if snapshot is None:
            raise NotFound(f"Nothing was published on the board {slug} yet.")
        page = _page(request)
        matrix = matrix_of(suite=suite, snapshot=snapshot, rows=content_of(snapshot).rows, page=page)
        if page != matrix.first // MOST_PLANNERS + 1:
            raise NotFound(f"The board {slug} has no page {page}: it ranks {matrix.ranked} planners.")
        return Response(
            {
                "suite": slug,
                "snapshot": snapshot.number,
                "metric": primary_metric(suite)["key"],
                **{name: getattr(matrix, name) for name in ("low", "high", "rule", "ranked")},
                "next": _address(request, page=page + 1) if matrix.last < matrix.ranked else None,
                "previous": _address(request, page=page - 1) if page > 1 else None,
                "planners": [planner._asdict() for planner in matrix.planners],
                "tasks": _tasks(matrix),
            }
        )


def _page(request: Request) -> int:
    asked = request.query_params.get("page", "1")
    if not _PAGE.fullmatch(asked):
        raise ValidationError({"page": "must be a whole number from 1"})
    return int(asked)


def _address(request: Request, *, page: int) -> str:
    return request.build_absolute_uri(f"{request.path}{written([('page', str(page))])}")


def _tasks(matrix: TaskMatrix) -> list[dict[str, Any]]:
    return [
        {
            **task._asdict(),
            "solved": str(solved),
            "values": [None if isnan(value) else round(value, DECIMALS) for value in values],
        }
        for task, solved, values in zip(matrix.tasks, matrix.solved, matrix.values.tolist(), strict=True)
    ]
