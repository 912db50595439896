"""The page of a planner: its versions over time, to whom, and at what cost."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from evaluator.core.suites.hidden import HIDDEN
from evaluator.scoring.causes.taxonomy import Cause
from leaderboard.boards.services import publish
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation, Submission, TaskResult, Visibility
from leaderboard.people.models import User
from leaderboard.planners.models import Planner
from leaderboard.reliability.models import ReliabilityProfile
from tests.leaderboard.boards.versions import make_version
from tests.leaderboard.evaluations.web.factories import make_planner, make_suite, make_user, read
from tests.memory import forget_everything

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]


@pytest.fixture
def ada() -> User:
    return make_user()


@pytest.fixture
def suite() -> Suite:
    return make_suite()


@pytest.fixture
def planner(ada) -> Planner:
    return make_planner(owner=ada, name="mine")


@pytest.fixture
def gold(suite) -> Evaluation:
    planner = make_planner(owner=make_user("bea"), name="gold", bundled_name="gold")
    return make_version(planner, suite, version="", values=[0.8] * 20)


@pytest.fixture
def two(planner, suite, gold) -> tuple[Evaluation, Evaluation]:
    first = make_version(planner, suite, version="v1", values=[0.8] * 10 + [0.2] * 10)
    second = make_version(planner, suite, version="v2", values=[0.8] * 8 + [0.2] * 2 + [0.8] * 10, hours=1)
    return first, second


def page(planner: Planner, *, reader: User | None = None) -> str:
    client = Client()
    if reader is not None:
        client.force_login(reader)
    return " ".join(read(client, f"/planners/{planner.pk}/").split())


def test_a_version_is_shown_with_what_it_fixed_and_broke(planner, two):
    first, second = two
    html = page(planner)
    assert "fixed 10 tasks, broke 2." in html
    assert 'Overall changed by <span class="num nowrap">+0.240 (+0.2' in html
    assert f'href="/compare/?e={first.pk}&amp;e={second.pk}"' in html
    assert html.count(f'href="/evaluations/{second.pk}/tasks/') == 12
    assert "A task counts as solved at 90 % of its gold plan" in html
    assert 'class="version-plot"' in html


def test_causes_are_shown_with_their_shares_of_the_lost_points(planner, two):
    _, second = two
    below = TaskResult.objects.filter(evaluation=second, score__lt=0.5).order_by("pk")
    for result, cause in zip(below, (Cause.WRONG_TOOL, Cause.MISSING_STEP), strict=True):
        result.causes = [{"cause": str(cause)}]
        result.save()
    TaskResult.objects.filter(evaluation=second, causes=None).update(causes=[])
    html = page(planner)
    assert "Where points are lost" in html
    assert html.count('<span class="num">50 %</span> <span class="small soft num">1 task</span>') == 2


def test_only_what_the_reader_sees_is_a_version(planner, two, ada):
    _, second = two
    Submission.objects.filter(pk=second.submission_id).update(visibility=Visibility.PRIVATE)
    assert "fixed" not in page(planner)
    assert "v2" not in page(planner)
    assert "fixed 10 tasks" in page(planner, reader=ada)


def test_what_an_operator_has_hidden_is_no_version(planner, two):
    Evaluation.objects.filter(pk=two[1].pk).update(hidden_at=timezone.now(), hidden_reason="wrong")
    assert "fixed" not in page(planner)


def test_tasks_of_hidden_data_are_counted_and_not_named(planner, two, ada):
    Evaluation.objects.update(split=HIDDEN)
    html = page(planner, reader=ada)
    assert "fixed 10 tasks, broke 2." in html
    assert "/tasks/" not in html


def test_versions_under_other_conditions_are_not_compared_and_the_page_says_why(planner, suite, gold):
    make_version(planner, suite, version="v1", values=[0.8] * 12)
    make_version(planner, suite, version="v2", values=[0.2] * 12, hours=1, profile="other", profile_digest="cd" * 32)
    html = page(planner)
    assert "Not compared with the versions above. They differ in the profile (above: other cdcdcdcdcdcd, here:" in html
    assert "fixed" not in html


def test_time_and_tokens_and_cost_are_shown_where_they_are_known(planner, two):
    assert "Tokens per task" not in page(planner)
    usage = {name: {"mean": mean, "tasks": 20} for name, mean in (
        ("seconds", 1.5), ("prompt_tokens", 800.0), ("completion_tokens", 200.0))}  # fmt: skip
    Evaluation.objects.filter(pk=two[1].pk).update(summary={**two[1].summary, "usage": usage})
    Planner.objects.filter(pk=planner.pk).update(prompt_price=1.0, completion_price=2.0)
    html = page(planner)
    for text in ("Tokens per task", "1,000", "1.5 s", "$0.0012"):
        assert text in html, text


def test_the_newest_profile_is_shown_with_a_link(planner, two):
    dimension = {"mean": 0.91, "low": 0.85, "high": 0.97}
    ReliabilityProfile.objects.create(
        evaluation=two[0], requested_at=timezone.now(), wanted=[], measured_at=timezone.now(),
        figures={"dimensions": {"consistency": dimension}},
    )  # fmt: skip
    html = page(planner)
    assert f'href="/evaluations/{two[0].pk}/reliability/"' in html
    assert "0.910" in html


def test_one_version_has_no_plot_and_its_owner_learns_how_to_get_a_second(planner, suite, ada):
    make_version(planner, suite, version="v1", values=[0.8] * 12)
    assert "Name the next one when you submit it" not in page(planner)
    html = page(planner, reader=ada)
    assert "Name the next one when you submit it" in html
    assert 'class="version-plot"' not in html


def test_a_planner_without_a_completed_evaluation_has_no_versions(planner, ada):
    assert 'id="versions"' not in page(planner, reader=ada)


def test_twelve_versions_are_shown_and_earlier_ones_counted_at_a_bounded_number_of_queries(planner, suite, gold, ada):
    for number in range(14):
        make_version(planner, suite, version=f"v{number}", values=[0.1 + number / 20] * 12, hours=number)
    publish(gold)
    client = Client()
    client.force_login(ada)
    forget_everything()
    with CaptureQueriesContext(connection) as queries:
        html = " ".join(read(client, f"/planners/{planner.pk}/").split())
    assert len(queries) <= 12
    assert html.count('class="version-name"') == 12
    assert "2 earlier versions are among the evaluations below." in html


def test_names_of_strangers_are_escaped(planner, suite):
    make_version(planner, suite, version="<b>v1</b>", values=[0.8] * 12)
    make_version(planner, suite, version="<i>v2", values=[0.8] * 12, hours=1)
    html = page(planner)
    assert "<b>v1" not in html
    assert "<i>v2" not in html
