"""The stored answers of an evaluation, for workers that score them again."""

from collections.abc import Sequence

from evaluator.core.recorded_answers import answer_in
from evaluator.core.records import ResultRecord
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.results.objects import read_record, server_store


class AnswersLostError(Exception):
    """Stored answers are no longer in the store; the message is a sentence."""


def answers_for(regrade: Evaluation, *, tasks: Sequence[str]) -> dict[str, ResultRecord]:
    """The answers of the evaluation that this one scores again, by task.

    Raises:
        AnswersLostError: the store has lost one.
    """
    original = regrade.submission.rerun_of
    assert original is not None, "a constraint of the table"
    store = server_store(split=original.split)
    rows = original.results.filter(task__key__in=tasks).exclude(record_digest="").select_related("task")
    found = {row.task.key: read_record(digest=row.record_digest, store=store) for row in rows}
    answers = {task: answer_in(record) for task in tasks if (record := found.get(task)) is not None}
    if lost := [task for task in tasks if task not in answers]:
        raise AnswersLostError(f"The records of {len(lost)} tasks, such as {lost[0]}, are no longer in the store.")
    return answers
