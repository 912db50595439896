"""The API of causes of scores below the gold score, for an evaluation and for the planners of a board."""

from uuid import UUID

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from evaluator.scoring.causes.explanation import explanation
from evaluator.scoring.causes.taxonomy import Cause
from leaderboard.boards.contents import content_of
from leaderboard.boards.services import latest_snapshot
from leaderboard.catalog.web.named import suite_named
from leaderboard.causes.counting import MOST_ROWS, causes_of_rows
from leaderboard.evaluations.visibility import RELATED, visible_runs
from leaderboard.evaluations.web.gathering import gather
from leaderboard.platform.api.examples import EVALUATION_ID, example
from leaderboard.platform.api.shapes import Output
from leaderboard.platform.api.views import ApiView

MOST_KEYS = 100
"""Maximum number of tasks per cause; `results/?why=` has all of them."""


class CauseCountOutput(Output):
    """The tasks with one cause."""

    cause = serializers.ChoiceField(choices=[cause.value for cause in Cause])
    label = serializers.CharField()  # type: ignore[assignment]  # hides Field.label, which is not set here
    definition = serializers.CharField()
    tasks = serializers.IntegerField()
    share = serializers.FloatField(help_text="Share of the tasks that ran.")
    keys = serializers.ListField(
        child=serializers.CharField(),
        help_text=f"The first {MOST_KEYS} of these tasks, in the suite's order; `results/?why=` has all.",
    )


@example({
    "ran": 171, "below": 44, "at_gold": 127, "unknown": 0,
    "explanation": [
        "44 of 171 tasks are below the gold score, which costs 0.214 (0.170 to 0.260) of Overall.",
        "Wrong tool: 12 tasks, costs 0.070 (0.041 to 0.102). Step 2 calls Colorization instead of Image Denoising "
        "(tasks 14, 15, 18 and 9 more).",
    ],
    "causes": [
        {
            "cause": "wrong_tool", "label": "wrong tool", "tasks": 12, "share": 0.07, "keys": ["14", "15"],
            "definition": Cause.WRONG_TOOL.definition,
        }
    ],
})  # fmt: skip
class CausesOutput(Output):
    """Causes of scores below the gold score."""

    ran = serializers.IntegerField(help_text="Tasks that ran: scored, or with a fault.")
    below = serializers.IntegerField(help_text="Tasks with a known cause; a task may have several.")
    at_gold = serializers.IntegerField(help_text="Tasks at the gold score.")
    unknown = serializers.IntegerField(help_text="Tasks whose causes are not known yet.")
    causes = CauseCountOutput(many=True, help_text="The most frequent first.")
    explanation = serializers.ListField(
        child=serializers.CharField(),
        help_text="Why it is below the gold score: a headline, then a line for each cause with its tasks, "
        "its cost in the metric that the board ranks by, and its most frequent mistake, the costliest first. Empty if "
        "no task has run.",
    )


class CausesView(ApiView):
    """The tasks of an evaluation by cause."""

    @extend_schema(responses=CausesOutput)
    def get(self, request: Request, evaluation_id: UUID) -> Response:
        related = visible_runs(request.user).select_related(*RELATED)
        evaluation = get_object_or_404(related, pk=evaluation_id)
        gathered = gather(evaluation)
        bars, rows = gathered.causes, gathered.tasks.rows
        metric, costs = evaluation.suite.ranking_column.label, gathered.costs
        names = ("cause", "label", "definition", "tasks", "share")
        return Response(
            {
                **{name: getattr(bars, name) for name in ("ran", "below", "at_gold", "unknown")},
                "explanation": explanation(costs, metric=metric, most=len(costs.causes)) if bars.ran else [],
                "causes": [
                    {name: getattr(bar, name) for name in names}
                    | {"keys": [row.key for row in rows if bar.cause in row.why][:MOST_KEYS]}
                    for bar in bars.bars
                ],
            }
        )


class CausesOfRowOutput(Output):
    """One row of the board."""

    rank = serializers.IntegerField(allow_null=True)
    planner = serializers.CharField()
    owner = serializers.CharField()
    evaluation = serializers.UUIDField()
    ran = serializers.IntegerField(help_text="Tasks that ran.")
    below = serializers.IntegerField(help_text="Tasks with a known cause; a task may have several.")
    unknown = serializers.IntegerField(help_text="Tasks whose causes are not known yet.")
    causes = serializers.DictField(child=serializers.IntegerField(), help_text="Tasks by cause; without zeros.")


@example({
    "snapshot": 12, "further": 0,
    "rows": [
        {
            "rank": 1, "planner": "my-planner", "owner": "ada", "evaluation": EVALUATION_ID, "ran": 171, "below": 44,
            "unknown": 0, "causes": {"missing_step": 30, "wrong_tool": 12},
        }
    ],
})  # fmt: skip
class BoardCausesOutput(Output):
    """Causes of scores below the gold score on a board."""

    snapshot = serializers.IntegerField(help_text="Number of the latest snapshot.")
    further = serializers.IntegerField(help_text=f"Number of rows after the first {MOST_ROWS}, which are not counted.")
    rows = CausesOfRowOutput(many=True)


class BoardCausesView(ApiView):
    """Tasks by cause for each row of the latest snapshot, the best first."""

    @extend_schema(responses=BoardCausesOutput)
    def get(self, request: Request, slug: str) -> Response:  # noqa: ARG002 - the base class's
        suite = suite_named(slug)
        snapshot = latest_snapshot(suite=suite)
        if snapshot is None:
            raise NotFound(f"Nothing was published on the board {slug} yet.")
        board = causes_of_rows(content_of(snapshot).rows)
        rows = []
        for line in board.lines:
            fields = line._asdict()
            del fields["cells"]
            rows.append({**fields, "causes": {cell.cause: cell.tasks for cell in line.cells if cell.tasks}})
        return Response({"snapshot": snapshot.number, "further": board.further, "rows": rows})
