"""The API about why the tasks of an evaluation are below the gold score."""

from uuid import UUID

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evaluator.scoring.causes.taxonomy import Cause
from leaderboard.evaluations.visibility import visible_evaluations
from leaderboard.evaluations.web.presenters import gather
from leaderboard.platform.api.examples import example
from leaderboard.platform.api.shapes import Output
from leaderboard.platform.api.views import ApiView

MOST_KEYS = 100
"""Tasks named of each cause; `results/?why=` has all of them."""


class CauseCountOutput(Output):
    """The tasks with one cause."""

    cause = serializers.ChoiceField(choices=[cause.value for cause in Cause])
    label = serializers.CharField()  # type: ignore[assignment]  # hides Field.label, which is not set here
    definition = serializers.CharField()
    tasks = serializers.IntegerField()
    share = serializers.FloatField(help_text="Of the tasks that ran.")
    keys = serializers.ListField(
        child=serializers.CharField(),
        help_text=f"The first {MOST_KEYS} of these tasks, in the suite's order; `results/?why=` has all.",
    )


@example({
    "ran": 171, "below": 44, "at_gold": 127, "unknown": 0,
    "causes": [
        {
            "cause": "wrong_tool", "label": "wrong tool", "tasks": 12, "share": 0.07, "keys": ["14", "15"],
            "definition": Cause.WRONG_TOOL.definition,
        }
    ],
})  # fmt: skip
class CausesOutput(Output):
    """Why tasks are below the gold score."""

    ran = serializers.IntegerField(help_text="Tasks that ran: scored, or with a fault.")
    below = serializers.IntegerField(help_text="Those with a known cause; a task may have several.")
    at_gold = serializers.IntegerField(help_text="Those at the gold score.")
    unknown = serializers.IntegerField(help_text="Those whose causes are not found yet.")
    causes = CauseCountOutput(many=True, help_text="The most frequent first.")


class CausesView(ApiView):
    """How many tasks of an evaluation have each cause, and which."""

    @extend_schema(responses=CausesOutput)
    def get(self, request: Request, evaluation_id: UUID) -> Response:
        related = visible_evaluations(request.user).select_related("suite", "season", "submission__planner")
        found = gather(get_object_or_404(related, pk=evaluation_id))
        bars, rows = found.causes, found.tasks.rows
        names = ("cause", "label", "definition", "tasks", "share")
        return Response(
            {
                **{name: getattr(bars, name) for name in ("ran", "below", "at_gold", "unknown")},
                "causes": [
                    {name: getattr(bar, name) for name in names}
                    | {"keys": [row.key for row in rows if bar.cause in row.why][:MOST_KEYS]}
                    for bar in bars.bars
                ],
            }
        )
