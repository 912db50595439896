"""The versions of a planner over time, and what each one changed."""

import pytest

from leaderboard.boards.histories import History, Measured, changes_on_boards, gold_runs, histories_of
from leaderboard.boards.histories import measure as measure_with
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation, Submission, Visibility
from leaderboard.planners.models import Planner
from tests.leaderboard.boards.versions import make_version
from tests.leaderboard.evaluations.web.factories import make_planner, make_suite, make_user
from tests.memory import forget_everything

pytestmark = pytest.mark.django_db
TASKS = 20


@pytest.fixture
def suite() -> Suite:
    return make_suite()


@pytest.fixture
def planner() -> Planner:
    return make_planner(owner=make_user(), name="mine")


def read(planner: Planner) -> list[Evaluation]:
    return list(Evaluation.objects.filter(submission__planner=planner).select_related("suite", "submission"))


def measure(histories: list[History], *, most: int) -> list[tuple[Measured, ...]]:
    return measure_with(histories, gold=gold_runs(histories), most=most)


@pytest.fixture
def gold(suite) -> Evaluation:
    planner = make_planner(owner=make_user("bea"), name="gold", bundled_name="gold")
    return make_version(planner, suite, version="", values=[0.8] * TASKS)


def test_a_version_is_compared_with_the_one_before_it(planner, suite, gold):
    make_version(planner, suite, version="v1", values=[0.8] * 10 + [0.2] * 10)
    make_version(planner, suite, version="v2", values=[0.8] * 7 + [0.2] * 3 + [0.8] * 10, hours=1)
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
    make_version(planner, suite, version="v1", values=[0.1] * 10 + [0.0] * 2)
    make_version(planner, suite, version="v2", values=[0.1] * 12, hours=1)
    ((_, second),) = measure(histories_of(read(planner)), most=12)
    assert second.change.tasks.in_words == "fixed 2 tasks, broke none"
    assert "above the lowest" in second.change.rule


def test_versions_under_other_conditions_have_a_history_of_their_own(planner, suite):
    make_version(planner, suite, version="v1", values=[0.1] * 12)
    make_version(planner, suite, version="v2", values=[0.2] * 12, hours=1, profile_digest="cd" * 32)
    histories = histories_of(read(planner))
    assert [[version.name for version in history.versions] for history in histories] == [["v2"], ["v1"]]
    assert all(measured.change is None for (measured,) in measure(histories, most=12))


def test_runs_of_one_version_are_one_point_of_which_the_latest_counts(planner, suite):
    make_version(planner, suite, version="v1", values=[0.5] * 12)
    make_version(planner, suite, version="v2", values=[0.9] * 12, hours=1)
    latest = make_version(planner, suite, version="v2", values=[0.4] * 12, hours=2)
    (history,) = histories_of(read(planner))
    assert history.versions[1].counted == (latest,)
    ((_, second),) = measure([history], most=12)
    assert second.value["mean"] == pytest.approx(0.4)
    assert second.change.difference.mean == pytest.approx(-0.1, abs=1e-4)
    assert second.change.is_better is False


def test_where_boards_average_runs_so_does_the_history(planner, suite, settings):
    settings.BOARD_POLICY = "mean"
    make_version(planner, suite, version="v1", values=[0.5] * 12)
    make_version(planner, suite, version="v2", values=[0.9] * 12, hours=1)
    make_version(planner, suite, version="v2", values=[0.4] * 12, hours=2)
    ((_, second),) = measure(histories_of(read(planner)), most=12)
    assert second.value["mean"] == pytest.approx(0.65, abs=1e-4)
    assert second.change.difference.mean == pytest.approx(0.15, abs=1e-4)


def test_only_the_last_versions_are_measured_and_the_first_of_them_keeps_its_change(planner, suite):
    for number in range(4):
        make_version(planner, suite, version=f"v{number}", values=[0.1 + number / 10] * 12, hours=number)
    (last,) = measure(histories_of(read(planner)), most=2)
    assert [measured.change.difference.mean for measured in last] == pytest.approx([0.1, 0.1], abs=1e-4)


def test_measuring_takes_two_queries_and_then_none(planner, suite, gold, django_assert_num_queries):
    for number in range(3):
        make_version(planner, suite, version=f"v{number}", values=[0.1 + number / 10] * 12, hours=number)
    histories = histories_of(read(planner))
    forget_everything()
    gold = gold_runs(histories)
    with django_assert_num_queries(2):
        measure_with(histories, gold=gold, most=12)
    with django_assert_num_queries(0):
        measure_with(histories, gold=gold, most=12)


def test_rows_of_boards_have_the_change_since_the_last_published_version(planner, suite, gold):
    make_version(planner, suite, version="v1", values=[0.8] * 12)
    private = make_version(planner, suite, version="v2", values=[0.8] * 6 + [0.2] * 6, hours=1)
    Submission.objects.filter(pk=private.submission_id).update(visibility=Visibility.PRIVATE)
    latest = make_version(planner, suite, version="v3", values=[0.8] * 10 + [0.2] * 2, hours=2)
    changes = changes_on_boards(suites=[suite], evaluations=[str(latest.pk), str(gold.pk)])
    assert {pk: change.tasks.in_words for pk, change in changes.items()} == {
        str(latest.pk): "broke 2 tasks, fixed none"
    }


def test_changes_of_many_rows_take_four_queries(suite, gold, django_assert_num_queries):
    rows = []
    for number in range(5):
        planner = make_planner(owner=make_user(f"user{number}"), name=f"planner {number}")
        make_version(planner, suite, version="v1", values=[0.1] * 12)
        rows.append(str(make_version(planner, suite, version="v2", values=[0.2] * 12, hours=1).pk))
    forget_everything()
    with django_assert_num_queries(4):
        assert len(changes_on_boards(suites=[suite], evaluations=rows)) == 5
