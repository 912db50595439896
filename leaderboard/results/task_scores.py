"""The results of tasks in the form in which they are summed up and compared."""

from evaluator.metrics.aggregate import TaskScore
from evaluator.records import Outcome
from leaderboard.evaluations.models import TaskResult


def task_score(result: TaskResult) -> TaskScore:
    """What a board needs of a row; its task is read with it."""
    return TaskScore(
        task=result.task.key,
        metric=result.task.metric,
        outcome=Outcome(result.outcome),
        score=result.score,
        indicators=result.indicators,
        samples=tuple(result.sample_scores),
    )
