"""The API of the parts of an evaluation's page besides its results: groups, failures, other planners, place in the
queue."""

from uuid import UUID

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evaluator.core.records import Outcome
from evaluator.planners.named import offline_planners
from evaluator.scoring.metrics.statistics import LEAST_VALUES, NEEDED
from leaderboard.evaluations.gold import RELATED, check_tasks, not_shared
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.evaluations.results.task_rows import tasks_of
from leaderboard.evaluations.visibility import visible_runs
from leaderboard.evaluations.web.others import others_on
from leaderboard.evaluations.web.presenters import gather, waiting_sentence
from leaderboard.people.web.api import LoggedInView
from leaderboard.platform.api.examples import ATTEMPT_ID, example
from leaderboard.platform.api.shapes import Output
from leaderboard.platform.api.views import ApiView
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
