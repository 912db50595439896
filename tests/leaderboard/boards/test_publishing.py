"""Publishing boards."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction
from django.utils import timezone

from leaderboard.boards.models import Snapshot
from leaderboard.boards.services import latest_snapshot, latest_snapshots, publish
from leaderboard.evaluations.models import Evaluation, EvaluationState
from tests.leaderboard.pages.factories import (
    make_board,
    make_evaluation,
    make_planner,
    make_suite,
    make_summary,
    make_user,
)

pytestmark = pytest.mark.django_db


def names(snapshot: Snapshot) -> list[str]:
    return [row["planner"] for row in snapshot.content["rows"]]


def test_publishing_the_same_twice_writes_one_snapshot():
    evaluation = make_evaluation(planner=make_planner(owner=make_user()), suite=make_suite())
    assert publish(evaluation) == publish(evaluation)
    assert Snapshot.objects.count() == 1


def test_a_new_evaluation_makes_a_new_snapshot_and_the_old_one_stays():
    _, newest = make_board()
    assert newest.number == 2
    assert names(newest) == ["planner of ada", "planner of bea"]
    assert names(Snapshot.objects.get(number=1)) == ["planner of ada"]


@pytest.mark.parametrize("score", [0.6, 0.8])
def test_a_later_evaluation_of_the_same_planner_replaces_its_row_whether_better_or_worse(score):
    suite = make_suite()
    planner = make_planner(owner=make_user())
    publish(make_evaluation(planner=planner, suite=suite, summary=make_summary(0.7)))
    later = make_evaluation(planner=planner, suite=suite, summary=make_summary(score))
    assert [row["evaluation"] for row in publish(later).content["rows"]] == [str(later.pk)]


@pytest.mark.parametrize("state", ["on_hold", "failed", "cancelled", "running", "aggregating"])
def test_only_completed_evaluations_are_ranked(state):
    suite = make_suite()
    completed = make_evaluation(planner=make_planner(owner=make_user()), suite=suite)
    other = make_evaluation(planner=make_planner(owner=make_user("bea"), name="other"), suite=suite, state=state)
    Evaluation.objects.filter(pk=other.pk).update(summary=make_summary(0.9))
    assert names(publish(completed)) == ["gold"]


def test_evaluations_under_other_conditions_have_a_board_of_their_own():
    suite = make_suite()
    planner = make_planner(owner=make_user())
    usual = publish(make_evaluation(planner=planner, suite=suite))
    other = publish(make_evaluation(planner=planner, suite=suite, samples=2))
    assert (usual.number, other.number) == (1, 2)
    assert len(other.content["rows"]) == 1
    assert latest_snapshot(suite=suite) == usual, "the installation evaluates with 8 samples"


def test_coverage_is_told():
    _, newest = make_board()
    assert newest.content["coverage"] == {"run": 30, "total": 185}


def test_latest_snapshots_takes_one_query(django_assert_num_queries):
    suite, newest = make_board()
    with django_assert_num_queries(1):
        assert latest_snapshots(suites=[suite]) == {suite.pk: newest}


@pytest.mark.django_db(transaction=True)
def test_evaluations_that_complete_at_the_same_moment_all_reach_the_board():
    suite = make_suite()
    planners = [make_planner(owner=make_user(f"user{number}"), name=f"p{number}") for number in range(4)]
    evaluations = [make_evaluation(planner=planner, suite=suite, state="aggregating") for planner in planners]

    def complete(evaluation: Evaluation) -> int:
        try:
            with transaction.atomic():
                Evaluation.objects.filter(pk=evaluation.pk).update(
                    state=EvaluationState.COMPLETED, summary=make_summary(), finished=timezone.now()
                )
                return publish(evaluation).number
        finally:
            connection.close()

    with ThreadPoolExecutor(max_workers=4) as pool:
        numbers = list(pool.map(complete, evaluations))
    assert sorted(numbers) == [1, 2, 3, 4]
    assert sorted(names(Snapshot.objects.get(number=4))) == ["p0", "p1", "p2", "p3"]
