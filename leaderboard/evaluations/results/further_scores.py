"""The results of further runs, beside those of the first run (`queue/further_runs.py`)."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from django.db.models import QuerySet

from evaluator.scoring.metrics.aggregate import TaskScore
from leaderboard.evaluations.models import EvaluationState, TaskResult
from leaderboard.evaluations.results.task_scores import task_score


def further_results(evaluations: Collection[UUID]) -> QuerySet[TaskResult]:
    """The results of the completed further runs of evaluations, in the order of runs and tasks. These never change."""
    runs = TaskResult.objects.filter(
        evaluation__member_of__in=evaluations,
        evaluation__is_further_run=True,
        evaluation__state=EvaluationState.COMPLETED,
    )
    return runs.order_by("evaluation__repetition", "task__position")


def with_further(results: Mapping[UUID, Sequence[TaskScore]]) -> dict[UUID, list[TaskScore]]:
    """Results of evaluations with those of their further runs, in one query."""
    further = _by_task(list(results))
    return {
        pk: [replace(score, further=further[pk].get(score.task, ())) for score in scores]
        for pk, scores in results.items()
    }


def _by_task(evaluations: Collection[UUID]) -> dict[UUID, dict[str, tuple[TaskScore, ...]]]:
    found: dict[UUID, dict[str, list[TaskScore]]] = {pk: defaultdict(list) for pk in evaluations}
    for row in further_results(evaluations).select_related("task", "evaluation"):
        first = row.evaluation.member_of_id
        assert first is not None, "a constraint of the table"
        found[first][row.task.key].append(task_score(row))
    return {pk: {task: tuple(scores) for task, scores in tasks.items()} for pk, tasks in found.items()}
