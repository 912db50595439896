"""What planners take, from the record of a task to the board."""

import pytest

from evaluator.records import PlannerCall
from leaderboard.evaluations.models import TaskResult
from leaderboard.results.usage import usage_fields, usage_of


def test_means_are_over_the_tasks_that_told():
    results = [
        TaskResult(**usage_fields(PlannerCall(seconds=1.0, prompt_tokens=10, completion_tokens=2))),
        TaskResult(**usage_fields(PlannerCall(seconds=3.0))),
        TaskResult(**usage_fields(None)),
    ]
    assert usage_of(results) == {
        "seconds": {"mean": 2.0, "tasks": 2},
        "prompt_tokens": {"mean": 10.0, "tasks": 1},
        "completion_tokens": {"mean": 2.0, "tasks": 1},
    }


@pytest.mark.parametrize("results", [[], [TaskResult()]])
def test_nothing_is_made_up_where_nothing_is_known(results):
    assert usage_of(results) == {}
