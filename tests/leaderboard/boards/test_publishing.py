"""Publishing boards."""

import pytest

from leaderboard.boards.models import Snapshot
from leaderboard.boards.services import latest_snapshot, publish
from leaderboard.evaluations.models import Evaluation
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
