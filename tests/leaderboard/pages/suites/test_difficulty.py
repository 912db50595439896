"""How many planners solve a task."""

import numpy as np
import pytest

from evaluator.validity.executed_plans import GOOD
from leaderboard.boards.services import publish
from leaderboard.catalog.models import Task
from leaderboard.evaluations.models import TaskResult
from leaderboard.pages.suites.difficulty import NO_DIFFICULTY, Difficulty, count_solved, difficulties, task_means
from tests.leaderboard.pages.factories import make_evaluation, make_planner, make_suite, make_user

NAN = float("nan")


def test_means_leave_out_samples_that_do_not_count():
    table = np.array([[1.0, 0.5], [NAN, 0.5], [NAN, NAN]], dtype=np.float32)
    assert task_means(table).tolist()[:2] == [0.75, 0.5]
    assert np.isnan(task_means(table)[2])


def test_a_task_is_solved_from_the_threshold_on_and_never_by_zero():
    means = [np.array([0.9, 0.0, NAN, 0.6]), np.array([0.8999999, 0.5, NAN, 0.59])]
    solved, measured = count_solved(means, threshold=np.array([0.9, 0.0, 0.5, 0.6]))
    assert solved.tolist() == [2, 1, 0, 1]
    assert measured.tolist() == [2, 2, 0, 2]


def test_without_planners_no_task_has_a_share():
    assert NO_DIFFICULTY.share is None
    assert Difficulty(solved=1, planners=4).share == 0.25


@pytest.mark.django_db
def test_the_gold_planner_sets_the_threshold_and_is_not_counted():
    suite = make_suite()
    task, other = Task.objects.filter(suite=suite).order_by("position")[:2]
    scores = {"gold": 0.8, "word-overlap": 0.8 * GOOD, "random-valid": 0.8 * GOOD - 0.05}
    for name, score in scores.items():
        planner = make_planner(owner=make_user(name), name=name, bundled_name=name)
        evaluation = make_evaluation(planner=planner, suite=suite, samples=2)
        TaskResult.objects.create(
            evaluation=evaluation, task=task, outcome="scored", score=score, sample_scores=[score, score]
        )
        newest = publish(evaluation)
    assert newest is not None
    found = difficulties(suite=suite, snapshot=newest)
    assert found[task.pk] == Difficulty(solved=1, planners=2)
    assert found[other.pk] == NO_DIFFICULTY
