"""What is told to listeners fits into what PostgreSQL takes."""

import pytest

from leaderboard.evaluations.events import NewResult, announce, describe
from leaderboard.evaluations.models import Evaluation, EvaluationState
from tests.leaderboard.factories import make_evaluation

pytestmark = pytest.mark.django_db
RESULTS = [NewResult(task=f"{number:060d}", outcome="planner_fault", score=0.12345678901234568) for number in range(90)]


@pytest.mark.parametrize("character", ["a", "ä", "語", "\N{GRINNING FACE}", '"'])
def test_results_are_told_whatever_the_reason_says(character):
    evaluation = make_evaluation(state=EvaluationState.RUNNING)
    # What a worker or planner said may stand in it; each of its characters takes up to twelve bytes as JSON.
    Evaluation.objects.filter(pk=evaluation.pk).update(reason_text=character * 1000)
    announce(evaluation_id=evaluation.pk, results=RESULTS)
    told = describe(evaluation.pk)["reason_text"]
    assert set(told) == {character}
    assert 100 < len(told) <= 400
