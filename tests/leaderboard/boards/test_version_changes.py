"""What versions on boards changed, as publications store it."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from leaderboard.boards.models import VersionChange
from leaderboard.boards.services import publish
from leaderboard.boards.version_changes import changes_of
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.models import Evaluation, Submission, TaskResult
from leaderboard.planners.models import Planner
from tests.leaderboard.evaluations.web.factories import (
    make_evaluation,
    make_planner,
    make_suite,
    make_summary,
    make_user,
    read,
)

pytestmark = pytest.mark.django_db
TASKS = 12


@pytest.fixture
def suite() -> Suite:
    return make_suite()


@pytest.fixture
def planner() -> Planner:
    return make_planner(owner=make_user(), name="mine")


def run(planner: Planner, suite: Suite, version: str, *, solved: int, hours: int = 0) -> Evaluation:
    """A published run that scores on the first tasks, and not on the others."""
    made = make_evaluation(
        planner=planner, suite=suite, summary=make_summary(solved / TASKS),
        finished=timezone.now() - timedelta(days=1) + timedelta(hours=hours),
    )  # fmt: skip
    Submission.objects.filter(pk=made.submission_id).update(version=version)
    TaskResult.objects.bulk_create(
        TaskResult(
            evaluation=made, task=task, outcome="scored", score=float(number < solved),
            sample_scores=[float(number < solved)] * made.samples,
        )
        for number, task in enumerate(Task.objects.filter(suite=suite).order_by("position")[:TASKS])
    )  # fmt: skip
    publish(made)
    return made


def test_a_publication_stores_what_the_new_version_changed(client: Client, suite, planner, django_assert_num_queries):
    run(planner, suite, "v1", solved=4)
    assert not VersionChange.objects.exists(), "a first version changes nothing"
    latest = run(planner, suite, "v2", solved=9, hours=1)
    with django_assert_num_queries(1):
        changes = changes_of([str(latest.pk)])
    assert {pk: change[:4] for pk, change in changes.items()} == {str(latest.pk): ("v1", 5, 0, 0)}
    page = read(client, "/", view="changes")
    assert "fixed 5" in page
    assert "broke 0" in page
    assert "since version v1" in page


def test_a_further_run_of_a_version_is_compared_with_the_version_before(suite, planner):
    run(planner, suite, "v1", solved=4)
    run(planner, suite, "v2", solved=9, hours=1)
    again = run(planner, suite, "v2", solved=3, hours=2)
    assert changes_of([str(again.pk)])[str(again.pk)][:4] == ("v1", 0, 1, 0)


def test_a_hidden_version_is_compared_with_by_nobody(suite, planner):
    run(planner, suite, "v1", solved=4)
    second = run(planner, suite, "v2", solved=6, hours=1)
    latest = run(planner, suite, "v3", solved=9, hours=2)
    assert changes_of([str(latest.pk)])[str(latest.pk)][:3] == ("v2", 3, 0)
    Evaluation.objects.filter(pk=second.pk).update(hidden_at=timezone.now(), hidden_reason="copied")
    assert changes_of([str(latest.pk)]) == {}, "at once"
    publish(second)
    assert changes_of([str(latest.pk)])[str(latest.pk)][:3] == ("v1", 5, 0)
    Evaluation.objects.filter(submission__version="v1").update(hidden_at=timezone.now(), hidden_reason="copied")
    publish(second)
    assert not VersionChange.objects.filter(pk=latest.pk).exists()


def test_gold_plans_that_are_published_later_decide_what_is_solved(suite, planner):
    run(planner, suite, "v1", solved=4)
    latest = run(planner, suite, "v2", solved=9, hours=1)
    assert VersionChange.objects.get().gold is None
    gold = make_planner(owner=make_user("bea"), name="gold", bundled_name="gold")
    golden = run(gold, suite, "", solved=6, hours=2)
    assert VersionChange.objects.get().gold == golden.pk
    assert changes_of([str(latest.pk)])[str(latest.pk)].fixed == 5


def test_nothing_is_computed_again(suite, planner, monkeypatch):
    run(planner, suite, "v1", solved=4)
    run(planner, suite, "v2", solved=9, hours=1)
    computed = []
    monkeypatch.setattr("leaderboard.boards.version_changes.changes_on_boards", lambda **asked: computed.append(asked))
    other = make_evaluation(planner=make_planner(owner=make_user("cleo"), name="other"), suite=suite)
    publish(other)
    assert computed == []
