"""Evaluations of one suite are completed and published together, whoever is killed meanwhile."""

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from leaderboard.boards.models import Snapshot
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.queue import publishing, steps
from leaderboard.queue.reconcile import sweep
from tests.leaderboard.factories import make_evaluation, make_suite
from tests.leaderboard.threads import in_threads

SUMMARY = {"metrics": {"overall": {"mean": 0.5, "low": 0.4, "high": 0.6, "tasks": 4}}, "outcomes": {"scored": 4}}


def aggregating(suite: Suite) -> Evaluation:
    evaluation = make_evaluation(suite=suite, state=EvaluationState.AGGREGATING)
    return Evaluation.objects.select_related("suite", "submission__planner").get(pk=evaluation.pk)


def ready(suite: Suite) -> Evaluation:
    """An evaluation whose process was killed just before it published."""
    evaluation = aggregating(suite)
    assert publishing.make_ready(evaluation=evaluation, summary=SUMMARY, device_class="")
    return evaluation


def states() -> set[str]:
    return set(Evaluation.objects.values_list("state", flat=True))


@pytest.mark.django_db
class TestTogether:
    def test_more_than_one_transaction_s_worth_is_published(self, launcher, monkeypatch):
        monkeypatch.setattr(publishing, "_TOGETHER", 2)
        suite = make_suite()
        evaluations = [ready(suite) for _ in range(5)]
        publishing.publish_ready(evaluations[0])
        assert states() == {"completed"}
        assert [len(snapshot.content["rows"]) for snapshot in Snapshot.objects.order_by("number")] == [2, 4, 5]

    def test_one_that_cannot_be_published_keeps_none_of_the_others_from_it(self, launcher):
        suite = make_suite()
        broken, sound = ready(suite), ready(suite)
        odd = {"metrics": {"overall": {"mean": "much"}}, "outcomes": {}}
        Evaluation.objects.filter(pk=broken.pk).update(summary=odd)
        publishing.publish_ready(sound)
        broken.refresh_from_db()
        sound.refresh_from_db()
        assert (broken.state, sound.state) == ("aggregating", "completed")
        assert len(Snapshot.objects.get().content["rows"]) == 1

    def test_how_many_there_were_before_does_not_change_the_number_of_queries(self, launcher):
        suite = make_suite()
        counts = []
        for _ in range(2):
            for _ in range(3):
                publishing.publish_ready(ready(suite))
            evaluation = ready(suite)
            with CaptureQueriesContext(connection) as queries:
                publishing.publish_ready(evaluation)
            counts.append(len(queries))
        assert counts[0] == counts[1]


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    def test_who_finds_a_publisher_at_work_leaves_and_the_other_publishes_both(self, launcher):
        suite = make_suite()
        evaluation = ready(suite)
        names = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
        settings = connection.settings_dict
        with psycopg.connect(**{key: settings[name] for name, key in names.items() if settings[name]}) as other:
            other.execute("SELECT 1 FROM catalog_suite WHERE id = %s FOR NO KEY UPDATE", [suite.pk])
            publishing.publish_ready(evaluation)
            assert states() == {"aggregating"}
        publishing.publish_ready(ready(suite))
        assert states() == {"completed"}

    def test_all_that_end_at_the_same_moment_reach_the_board(self, launcher):
        suite = make_suite()
        waiting = [aggregating(suite) for _ in range(12)]

        def work() -> None:
            while waiting:
                steps.summarise(waiting.pop())

        assert in_threads(work, count=4) == []
        # Whoever was skipped because somebody just wrote to it.
        sweep()
        assert states() == {"completed"}
        assert len(Snapshot.objects.latest("number").content["rows"]) == 12
        assert Snapshot.objects.count() == Snapshot.objects.latest("number").number
