"""The API of comparisons."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from evaluator.core.suites.hidden import LEAST_SHOWN
from evaluator.scoring.causes.taxonomy import Cause
from evaluator.scoring.metrics.statistics import NEEDED
from evaluator.scoring.task_comparison import NOBODY, task_differences
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.visibility import not_shared, withholds_tasks
from leaderboard.evaluations.web.compare.comparing import by_group, cause_table
from leaderboard.evaluations.web.compare.presenters import chosen_metric, verdicts
from leaderboard.evaluations.web.compare.services import (
    Comparison,
    NotComparableError,
    comparison_of,
    read_evaluations,
    read_ids,
)
from leaderboard.platform.api.examples import ATTEMPT_ID, EVALUATION_ID, EXAMPLE_SUITE, example
from leaderboard.platform.api.shapes import Output
from leaderboard.platform.api.views import ApiView

MOST_TASKS = 500


class ComparedMetricOutput(serializers.Serializer[Any]):
    """One metric of an evaluation against the first, over the tasks for which both have a value."""

    metric = serializers.CharField(source="metric.key")
    higher_is_better = serializers.BooleanField(source="metric.higher_is_better")
    tasks = serializers.IntegerField(source="difference.count")
    first_mean = serializers.FloatField(
        help_text="Undecided tasks count as 0, as in `mean` and `difference`; the metric that the column names in "
        "`undecided` is their share."
    )
    mean = serializers.FloatField(source="other_mean")
    difference = serializers.FloatField(source="difference.mean", help_text="`mean` minus `first_mean`.")
    least = serializers.FloatField(help_text="The least difference of all ways to settle undecided tasks.")
    most = serializers.FloatField(help_text="The largest difference of all ways to settle undecided tasks.")
    low = serializers.FloatField(
        source="difference.low",
        allow_null=True,
        help_text=f"Lower end of the 95 % interval, for `least`; null over fewer than {NEEDED}.",
    )
    high = serializers.FloatField(
        source="difference.high", allow_null=True, help_text="Upper end of the 95 % interval, for `most`."
    )
    p_value = serializers.FloatField(
        allow_null=True,
        help_text="Two-sided p-value of the paired test that determines the board's ranks: a t test over scenes for "
        "executed plans; for judged plans McNemar's exact test for shares and a t test over the tasks for graded "
        "values. The largest of all ways to settle undecided tasks. Null over too few tasks or scenes, like `low`.",
    )
    p_adjusted = serializers.FloatField(
        source="adjusted", allow_null=True, help_text="By Holm's method over the evaluations compared with the first."
    )
    wins = serializers.IntegerField(help_text="Tasks on which it is better than the first.")
    losses = serializers.IntegerField()
    ties = serializers.IntegerField()
    undecided = serializers.IntegerField(help_text="Tasks whose winner depends on undecided verdicts of the judge.")


class GroupOutput(serializers.Serializer[Any]):
    """Wins, losses and ties in one group of tasks."""

    facet = serializers.CharField()
    value = serializers.CharField()
    tasks = serializers.IntegerField()
    difference = serializers.FloatField(allow_null=True)
    wins = serializers.IntegerField()
    losses = serializers.IntegerField()
    ties = serializers.IntegerField()
    undecided = serializers.IntegerField(help_text="Tasks whose winner depends on undecided verdicts of the judge.")


class ComparedCauseOutput(Output):
    """Number of tasks below the gold score for one cause; a task may have several causes."""

    cause = serializers.ChoiceField(choices=[cause.value for cause in Cause])
    tasks = serializers.IntegerField(help_text="Tasks with this cause.")
    first = serializers.IntegerField(help_text="Tasks with this cause in the first evaluation.")
    both = serializers.IntegerField(help_text="Tasks with this cause in both.")
    difference = serializers.IntegerField(help_text="`tasks` minus `first`.")


class PairOutput(serializers.Serializer[Any]):
    """One evaluation against the first."""

    evaluation = serializers.UUIDField()
    planner = serializers.CharField()
    verdict = serializers.CharField(help_text="The difference in the chosen metric, in words.")
    left_out = serializers.DictField(
        child=serializers.IntegerField(), help_text="Tasks without a score in one of the two, by outcome."
    )
    metrics = ComparedMetricOutput(many=True)
    groups = GroupOutput(many=True, help_text="In the chosen metric.")
    causes = ComparedCauseOutput(many=True, help_text="Over the tasks for which the causes of both are known.")


class DifferingTaskOutput(serializers.Serializer[Any]):
    """One task with the value of each evaluation."""

    task = serializers.CharField()
    values = serializers.ListField(
        child=serializers.FloatField(allow_null=True), help_text="In the order of `evaluations`."
    )
    spread = serializers.FloatField(help_text="Largest value minus smallest.")
    winner = serializers.IntegerField(
        allow_null=True,
        help_text="Index of the single best of `evaluations`; null if there is none, if it depends on undecided "
        "verdicts of the judge, and for sizes.",
    )


@example({
    "evaluations": [EVALUATION_ID, ATTEMPT_ID], "suite": EXAMPLE_SUITE, "suite_version": "1", "metric": "overall",
    "comparisons": [
        {
            "evaluation": ATTEMPT_ID, "planner": "other-planner", "left_out": {"not_run": 14},
            "verdict": "B (other-planner) scores higher than A (my-planner) in Overall by 0.031 (0.011 to 0.052), "
            "p = 0.004, over 171 tasks.",
            "metrics": [
                {
                    "metric": "overall", "higher_is_better": True, "tasks": 171, "first_mean": 0.43, "mean": 0.461,
                    "difference": 0.031, "least": 0.031, "most": 0.031, "low": 0.011, "high": 0.052,
                    "p_value": 0.004, "p_adjusted": 0.004, "wins": 44, "losses": 21, "ties": 106, "undecided": 0,
                }
            ],
            "groups": [
                {
                    "facet": "degradation", "value": "noise", "tasks": 80, "difference": 0.042, "wins": 25,
                    "losses": 9, "ties": 46, "undecided": 0,
                }
            ],
            "causes": [{"cause": "wrong_tool", "tasks": 12, "first": 31, "both": 10, "difference": -19}],
        }
    ],
    "tasks": [{"task": "14", "values": [0.0, 0.93], "spread": 0.93, "winner": 1}], "differing": 65,
})  # fmt: skip
class ComparisonOutput(serializers.Serializer[Any]):
    """Two to six evaluations compared task by task."""

    evaluations = serializers.ListField(
        child=serializers.UUIDField(), help_text="All others are compared against the first."
    )
    suite = serializers.CharField()
    suite_version = serializers.CharField()
    metric = serializers.CharField(help_text="Metric of `verdict`, `groups` and `tasks`.")
    comparisons = PairOutput(many=True)
    tasks = DifferingTaskOutput(
        many=True,
        help_text=f"Up to {MOST_TASKS} tasks, those that differ most; none while hidden data are secret.",
    )
    differing = serializers.IntegerField(help_text="Number of tasks that differ.")


class ComparisonView(ApiView):
    """Compare two to six evaluations of the same suite version and conditions, task by task."""

    parameters = [
        OpenApiParameter("e", str, many=True, required=True, description="Id of an evaluation; two to six."),
        OpenApiParameter("metric", str, description="Key of a metric of the suite. Default: the ranking metric."),
    ]

    @extend_schema(
        responses={
            200: ComparisonOutput,
            400: OpenApiResponse(
                OpenApiTypes.OBJECT,
                description="The evaluations cannot be compared; `e` or `metric` has a sentence for each reason.",
            ),
        },
    )
    def get(self, request: Request) -> Response:
        try:
            evaluations = read_evaluations(read_ids(request.query_params.getlist("e")), reader=request.user)
        except NotComparableError as error:
            raise ValidationError({"e": error.problems}) from error
        if len(evaluations) < 2:
            raise ValidationError({"e": ["Give the ids of at least two different evaluations: ?e=<id>&e=<id>."]})
        comparison = comparison_of(evaluations)
        key = request.query_params.get("metric", "")
        known = [metric.key for metric in comparison.metrics]
        if key and key not in known:
            raise ValidationError({"metric": [f"{key!r} is none of: {', '.join(known)}."]})
        withheld = any(withholds_tasks(reader=request.user, of=evaluation) for evaluation in evaluations)
        response = Response(_output(evaluations=evaluations, comparison=comparison, key=key, withheld=withheld))
        not_shared(response, suite=evaluations[0].suite, split=evaluations[0].split)
        return response


def _output(*, evaluations: list[Evaluation], comparison: Comparison, key: str, withheld: bool) -> dict[str, Any]:
    metric = chosen_metric(comparison=comparison, key=key)
    sentences = [each.sentence for each in verdicts(evaluations=evaluations, comparison=comparison, metric=metric)]
    differing = [task for task in task_differences(metric=metric, scores=comparison.scores) if task.spread]
    groups = {
        facet.name: by_group(facet=facet.name, tasks=comparison.tasks, metric=metric, scores=comparison.scores)
        for facet in comparison.facets
    }
    causes = cause_table(comparison.causes).rows
    return {
        "evaluations": [str(evaluation.pk) for evaluation in evaluations],
        "suite": evaluations[0].suite.slug,
        "suite_version": evaluations[0].suite.version,
        "metric": metric.key,
        "comparisons": [
            {
                "left_out": dict(pair.left_out),
                "metrics": ComparedMetricOutput(pair.differences, many=True).data,
                "evaluation": str(evaluations[number + 1].pk),
                "planner": evaluations[number + 1].submission.planner.name,
                "verdict": sentences[number],
                "groups": [
                    {"facet": facet, "value": row.value, **row.counts[number]._asdict()}
                    for facet, rows in groups.items()
                    for row in rows
                    if row.counts[number].tasks >= (LEAST_SHOWN if withheld else 1)
                ],
                "causes": [
                    {"cause": row.cause, **count._asdict(), "difference": count.difference}
                    for row in causes
                    for count in [row.counts[number]]
                ],
            }
            for number, pair in enumerate(comparison.pairs)
        ],
        "tasks": [
            {
                "task": comparison.tasks[task.index].key,
                "values": task.values,
                "spread": task.spread,
                "winner": None if task.winner == NOBODY else int(task.winner),
            }
            for task in ([] if withheld else differing[:MOST_TASKS])
        ],
        "differing": len(differing),
    }
