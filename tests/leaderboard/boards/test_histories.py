"""The versions of a planner over time, and what each one changed."""

from datetime import timedelta

import numpy as np
import pytest
from django.utils import timezone

from evaluator.core.records import Outcome
from leaderboard.boards.histories import changes_on_boards, histories_of, measure
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.models import Evaluation, Submission, TaskResult, Visibility
from leaderboard.planners.models import Planner
from tests.leaderboard.evaluations.web.factories import (
    make_evaluation,
    make_planner,
    make_suite,
    make_summary,
    make_user,
)
from tests.memory import forget_everything

pytestmark = pytest.mark.django_db
SCENES, TASKS = 8, 20


@pytest.fixture
def suite() -> Suite:
    return make_suite()


@pytest.fixture
def planner() -> Planner:
    return make_planner(owner=make_user(), name="mine")


def run(
    planner: Planner, suite: Suite, *, version: str, values: list[float], hours: float = 0, **fields: object
) -> Evaluation:
    """A run with these scores on the suite's first tasks, which differ a little between scenes."""
    summary = make_summary(float(np.mean(values)), scored=len(values))
    made = make_evaluation(
        planner=planner, suite=suite, summary=summary, samples=SCENES,
        finished=timezone.now() - timedelta(days=1) + timedelta(hours=hours), **fields,
    )  # fmt: skip
    Submission.objects.filter(pk=made.submission_id).update(version=version)
    noise = np.random.default_rng(len(version) + int(hours)).normal(0, 0.001, (len(values), SCENES))
    for task, value, row in zip(Task.objects.filter(suite=suite).order_by("position"), values, noise, strict=False):
        scores = [] if value == 0 else np.clip(value + row - row.mean(), 0, 1).round(6).tolist()
        TaskResult.objects.create(
            evaluation=made, task=task, outcome=Outcome.SCORED if value else Outcome.PLANNER_FAULT, score=value,
            sample_scores=scores,
        )  # fmt: skip
    return made


def read(planner: Planner) -> list[Evaluation]:
    return list(Evaluation.objects.filter(submission__planner=planner).select_related("suite", "submission"))


@pytest.fixture
def gold(suite) -> Evaluation:
    planner = make_planner(owner=make_user("bea"), name="gold", bundled_name="gold")
    return run(planner, suite, version="", values=[0.8] * TASKS)


def test_a_version_is_compared_with_the_one_before_it(planner, suite, gold):
    run(planner, suite, version="v1", values=[0.8] * 10 + [0.2] * 10)
    run(planner, suite, version="v2", values=[0.8] * 7 + [0.2] * 3 + [0.8] * 10, hours=1)
    (history,) = histories_of(read(planner))
    assert [version.name for version in history.versions] == ["v1", "v2"]
    ((first, second),) = measure([history], most=12)
    assert first.change is None
    assert second.change.tasks.in_words == "fixed 10 tasks, broke 3"
    assert second.change.tasks.fixed == tuple(range(10, 20))
    assert second.change.difference.mean == pytest.approx(7 * 0.6 / TASKS, abs=1e-4)
    assert second.change.is_better is True
    assert "90 %" in second.change.rule


def test_without_a_run_of_gold_a_task_is_solved_at_any_score(planner, suite):
    run(planner, suite, version="v1", values=[0.1] * 10 + [0.0] * 2)
    run(planner, suite, version="v2", values=[0.1] * 12, hours=1)
    ((_, second),) = measure(histories_of(read(planner)), most=12)
    assert second.change.tasks.in_words == "fixed 2 tasks, broke none"
    assert "above the lowest" in second.change.rule


def test_versions_under_other_conditions_have_a_history_of_their_own(planner, suite):
    run(planner, suite, version="v1", values=[0.1] * 12)
    run(planner, suite, version="v2", values=[0.2] * 12, hours=1, profile_digest="cd" * 32)
    histories = histories_of(read(planner))
    assert [[version.name for version in history.versions] for history in histories] == [["v2"], ["v1"]]
    assert all(measured.change is None for (measured,) in measure(histories, most=12))


def test_runs_of_one_version_are_one_point_of_which_the_latest_counts(planner, suite):
    run(planner, suite, version="v1", values=[0.5] * 12)
    run(planner, suite, version="v2", values=[0.9] * 12, hours=1)
    latest = run(planner, suite, version="v2", values=[0.4] * 12, hours=2)
    (history,) = histories_of(read(planner))
    assert history.versions[1].counted == (latest,)
    ((_, second),) = measure([history], most=12)
    assert second.value["mean"] == pytest.approx(0.4)
    assert second.change.difference.mean == pytest.approx(-0.1, abs=1e-4)
    assert second.change.is_better is False


def test_where_boards_average_runs_so_does_the_history(planner, suite, settings):
    settings.BOARD_POLICY = "mean"
    run(planner, suite, version="v1", values=[0.5] * 12)
    run(planner, suite, version="v2", values=[0.9] * 12, hours=1)
    run(planner, suite, version="v2", values=[0.4] * 12, hours=2)
    ((_, second),) = measure(histories_of(read(planner)), most=12)
    assert second.value["mean"] == pytest.approx(0.65, abs=1e-4)
    assert second.change.difference.mean == pytest.approx(0.15, abs=1e-4)


def test_only_the_last_versions_are_measured_and_the_first_of_them_keeps_its_change(planner, suite):
    for number in range(4):
        run(planner, suite, version=f"v{number}", values=[0.1 + number / 10] * 12, hours=number)
    (last,) = measure(histories_of(read(planner)), most=2)
    assert [measured.change.difference.mean for measured in last] == pytest.approx([0.1, 0.1], abs=1e-4)


def test_measuring_takes_three_queries_and_then_one(planner, suite, gold, django_assert_num_queries):
    for number in range(3):
        run(planner, suite, version=f"v{number}", values=[0.1 + number / 10] * 12, hours=number)
    histories = histories_of(read(planner))
    forget_everything()
    with django_assert_num_queries(3):
        measure(histories, most=12)
    with django_assert_num_queries(1):
        measure(histories, most=12)


def test_rows_of_boards_have_the_change_since_the_last_published_version(planner, suite, gold):
    run(planner, suite, version="v1", values=[0.8] * 12)
    private = run(planner, suite, version="v2", values=[0.8] * 6 + [0.2] * 6, hours=1)
    Submission.objects.filter(pk=private.submission_id).update(visibility=Visibility.PRIVATE)
    latest = run(planner, suite, version="v3", values=[0.8] * 10 + [0.2] * 2, hours=2)
    changes = changes_on_boards(suites=[suite], evaluations=[str(latest.pk), str(gold.pk)])
    assert {pk: change.tasks.in_words for pk, change in changes.items()} == {
        str(latest.pk): "broke 2 tasks, fixed none"
    }


def test_changes_of_many_rows_take_four_queries(suite, gold, django_assert_num_queries):
    rows = []
    for number in range(5):
        planner = make_planner(owner=make_user(f"user{number}"), name=f"planner {number}")
        run(planner, suite, version="v1", values=[0.1] * 12)
        rows.append(str(run(planner, suite, version="v2", values=[0.2] * 12, hours=1).pk))
    forget_everything()
    with django_assert_num_queries(4):
        assert len(changes_on_boards(suites=[suite], evaluations=rows)) == 5
