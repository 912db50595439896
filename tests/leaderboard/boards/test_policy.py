"""Publishing boards, and what they show of several runs of one planner."""

from datetime import timedelta
from statistics import stdev

import numpy as np
import pytest
from django.utils import timezone

from evaluator.core.records import Outcome
from leaderboard.boards.models import Snapshot
from leaderboard.boards.services import latest_snapshot, publish
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.models import Evaluation, Submission, TaskResult
from leaderboard.planners.models import Planner
from tests.leaderboard.evaluations.web.factories import (
    make_board,
    make_evaluation,
    make_planner,
    make_suite,
    make_summary,
    make_user,
)

pytestmark = pytest.mark.django_db
SCENES = 12


@pytest.fixture
def suite() -> Suite:
    return make_suite()


@pytest.fixture
def planner() -> Planner:
    return make_planner(owner=make_user())


def test_rows_have_the_share_of_readable_replies_unless_the_evaluation_is_older(suite, planner, client):
    evaluation = make_evaluation(planner=planner, suite=suite)
    older = make_evaluation(planner=make_planner(owner=make_user("bea"), name="older"), suite=suite)
    del older.summary["reading"]
    older.save()
    rows = {row["evaluation"]: row for row in publish(evaluation).content["rows"]}
    readable = rows[str(evaluation.pk)]["readable"]
    assert (round(readable["mean"], 4), readable["tasks"]) == (0.9667, 30)
    assert readable["low"] < readable["mean"] < readable["high"]
    assert "readable" not in rows[str(older.pk)]
    html = client.get("/boards/openagi/", {"column": "readable"}).content.decode()
    assert "96.67 %" in html
    assert "of 30 replies" in html


def run(planner: Planner, suite: Suite, *, score: float, hours: float = 0, noise: int | None = None) -> Evaluation:
    """A run that ended so many hours after the first; `noise` seeds the scores of 30 tasks around `score`."""
    finished = timezone.now() - timedelta(days=1) + timedelta(hours=hours)
    made = make_evaluation(
        planner=planner, suite=suite, samples=SCENES, finished=finished, summary=make_summary(score, scored=30)
    )
    if noise is not None:
        rng = np.random.default_rng(noise)
        scores = np.clip(score + rng.normal(0, 0.05, (30, SCENES)), 0, 1).round(6)
        keep_scores(made, scores)
    return made


def keep_scores(evaluation: Evaluation, scores: np.ndarray) -> None:
    """Those of the suite's first tasks, in rows, on each scene."""
    tasks = Task.objects.filter(suite=evaluation.suite).order_by("position")[: len(scores)]
    TaskResult.objects.bulk_create(
        TaskResult(evaluation=evaluation, task=task, outcome=Outcome.SCORED, score=row.mean(), sample_scores=list(row))
        for task, row in zip(tasks, scores, strict=True)
    )


def rows(evaluation: Evaluation) -> list[dict]:
    return publish(evaluation).content["rows"]


def test_the_latest_run_is_shown_though_an_earlier_one_is_better(suite, planner):
    run(planner, suite, score=0.9)
    worst = run(planner, suite, score=0.5, hours=1)
    latest = run(planner, suite, score=0.7, hours=2)
    (row,) = rows(worst)
    assert row["evaluation"] == str(latest.pk)
    assert row["metrics"]["overall"]["mean"] == 0.7
    assert row["runs"] == {
        "policy": "latest", "count": 3, "sd": stdev([0.7, 0.5, 0.9]), "low": 0.5, "high": 0.9, "identical": False,
    }  # fmt: skip


def versioned(evaluation: Evaluation, version: str) -> Evaluation:
    Submission.objects.filter(pk=evaluation.submission_id).update(version=version)
    return evaluation


def test_versions_are_one_family_whose_last_version_is_shown_by_name_with_its_own_runs(suite, planner, client):
    versioned(run(planner, suite, score=0.9), "v1")
    versioned(run(planner, suite, score=0.8, hours=1), "v2")
    latest = versioned(run(planner, suite, score=0.6, hours=2), "v2")
    other = versioned(run(make_planner(owner=make_user("bea")), suite, score=0.5, hours=3), "v1")
    found = {row["evaluation"]: row for row in rows(latest)}
    assert found.keys() == {str(latest.pk), str(other.pk)}
    shown = found[str(latest.pk)]
    assert shown["version"] == "v2"
    assert (shown["runs"]["count"], shown["runs"]["low"], shown["runs"]["high"]) == (2, 0.6, 0.8)
    again = versioned(run(planner, suite, score=0.7, hours=4), "v1")
    assert {row["version"] for row in rows(again) if row["evaluation"] == str(again.pk)} == {"v1"}
    html = client.get(f"/boards/{suite.slug}/").content.decode()
    assert 'data-cell="version" title="Version of the planner">v1</span>' in html
    assert ">v2<" not in html


def test_runs_with_equal_figures_are_identical_and_those_with_one_other_figure_are_not(suite, planner):
    run(planner, suite, score=0.9)
    (row,) = rows(run(planner, suite, score=0.9, hours=1))
    assert row["runs"]["identical"]
    other = run(planner, suite, score=0.9, hours=2)
    other.summary["metrics"]["BERT"]["high"] += 1e-6
    other.save()
    (row,) = rows(other)
    assert (row["runs"]["identical"], row["runs"]["sd"], row["runs"]["count"]) == (False, 0, 3)


def test_a_run_that_no_board_shows_does_not_count(suite, planner):
    run(planner, suite, score=0.9)
    hidden = run(planner, suite, score=0.9, hours=1)
    Evaluation.objects.filter(pk=hidden.pk).update(hidden_at=timezone.now(), hidden_reason="Wrong.")
    private = run(planner, suite, score=0.9, hours=2)
    private.submission.visibility = "private"
    private.submission.save()
    (row,) = rows(run(planner, suite, score=0.7, hours=-1))
    assert (row["runs"]["count"], row["metrics"]["overall"]["mean"]) == (2, 0.9)


def test_a_run_without_the_boards_metric_counts_and_has_no_part_in_the_spread(suite, planner):
    run(planner, suite, score=0.6)
    run(planner, suite, score=0.8, hours=1)
    last = run(planner, suite, score=0.7, hours=2)
    last.summary["metrics"] = {}
    last.save()
    (row,) = rows(last)
    assert (row["metrics"], row["runs"]["count"], row["runs"]["low"], row["runs"]["high"]) == ({}, 3, 0.6, 0.8)


class TestMean:
    @pytest.fixture(autouse=True)
    def _policy(self, settings):
        settings.BOARD_POLICY = "mean"

    def test_figures_are_those_of_the_scores_averaged_over_the_runs(self, suite, planner):
        first = run(planner, suite, score=0.6, noise=1)
        second = run(planner, suite, score=0.8, noise=2, hours=1)
        (row,) = rows(first)
        tables = [
            np.array(list(one.results.order_by("task__position").values_list("sample_scores", flat=True)))
            for one in (first, second)
        ]
        mean = (tables[0] + tables[1]) / 2
        overall = row["metrics"]["overall"]
        assert row["evaluation"] == str(second.pk)
        assert (overall["mean"], overall["tasks"]) == (pytest.approx(mean.mean()), 30)
        # Student's t over the twelve scenes' means, 2.201 standard errors, and what two runs of each task differ by.
        half = 2.201 * mean.mean(axis=0).std(ddof=1) / SCENES**0.5
        by_runs = ((tables[0] - tables[1]).mean(axis=1) ** 2 / 2).mean() / 30 / 2
        found = overall["high"] - mean.mean()
        assert found == pytest.approx(mean.mean() - overall["low"])
        assert half < found < 1.3 * (half**2 + 1.96**2 * by_runs) ** 0.5
        assert row["runs"] == {
            "policy": "mean", "count": 2, "sd": stdev([0.6, 0.8]), "low": 0.6, "high": 0.8, "identical": False,
            "evaluations": [str(first.pk), str(second.pk)],
        }  # fmt: skip
        first.refresh_from_db()
        assert first.first_ranked is not None, "all runs of a row stay public"

    def test_ranks_follow_from_the_averaged_scores(self, suite, planner):
        run(planner, suite, score=0.2, noise=1)
        run(planner, suite, score=0.8, noise=2, hours=1)
        rival = make_planner(owner=make_user("bea"), name="rival")
        found = rows(run(rival, suite, score=0.6, noise=3))
        assert [(row["planner"], row["rank_low"], row["rank_high"]) for row in found] == [
            ("rival", 1, 1), ("gold", 2, 2),
        ]  # fmt: skip


def test_ranks_follow_from_paired_tests_of_the_tasks_and_scenes(suite):
    """Two planners with wide intervals that always differ by 0.02, and one that equals the better one."""
    rng = np.random.default_rng(0)
    common = rng.random((30, SCENES)).round(6)
    for name, lead in (("best", 0.02), ("same", 0.02), ("worst", 0.0)):
        made = run(make_planner(owner=make_user(name), name=name), suite, score=0.5 + lead)
        scores = (common + lead + rng.normal(0, 0.001, common.shape) * (name == "worst")).round(6)
        keep_scores(made, scores)
    found = rows(made)
    assert {row["planner"]: (row["rank"], row["rank_low"], row["rank_high"]) for row in found} == {
        "best": (1, 1, 2), "same": (1, 1, 2), "worst": (3, 3, 3),
    }  # fmt: skip
    assert {row["rank_tests"] for row in found} == {3}


def test_the_next_evaluation_reads_only_its_own_scores(suite, planner, django_assert_max_num_queries):
    rows(run(planner, suite, score=0.6, noise=1))
    new = run(make_planner(owner=make_user("bea"), name="new"), suite, score=0.6, noise=2)
    TaskResult.objects.filter(evaluation__submission__planner=planner).delete()
    found = rows(new)
    assert [row["rank_tests"] for row in found] == [1, 1], "the scores of the first are cached"


def names(snapshot: Snapshot) -> list[str]:
    return [row["planner"] for row in snapshot.content["rows"]]


def test_a_new_evaluation_makes_a_new_snapshot_and_the_old_one_stays():
    _, newest = make_board()
    assert newest.number == 2
    assert publish(Evaluation.objects.last()) == newest, "publishing the same again writes none"
    assert names(newest) == ["planner of ada", "planner of bea"]
    assert names(Snapshot.objects.get(number=1)) == ["planner of ada"]


def test_only_completed_evaluations_are_ranked():
    suite, bea = make_suite(), make_user("bea")
    completed = make_evaluation(planner=make_planner(owner=make_user()), suite=suite)
    for state in ("on_hold", "failed", "cancelled", "running", "aggregating"):
        other = make_evaluation(planner=make_planner(owner=bea, name=state), suite=suite, state=state)
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
