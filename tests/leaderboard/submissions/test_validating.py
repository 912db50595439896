"""A submission is checked once, and only what was checked is submitted."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from leaderboard.evaluations.models import Submission
from leaderboard.planners.models import Planner
from leaderboard.platform.problems import FieldErrors
from leaderboard.submissions import services
from tests.leaderboard.factories import make_suite, make_team, make_user, planner_data
from tests.leaderboard.platform.api.helpers import client_of

pytestmark = pytest.mark.django_db
CHAT = {
    "kind": "chat",
    "bundled_name": "",
    "endpoint_url": "https://example.org/v1",
    "model_id": "m",
    "strategy": "hugginggpt",
}


@pytest.fixture
def entered():
    user, suite = make_user(), make_suite()
    team = make_team(user)
    return user, services.SubmissionData(planner=planner_data(**CHAT), suites=[suite.slug], team=team.slug)


def selects(queries, table):
    return sum(one["sql"].startswith("SELECT") and f'FROM "{table}"' in one["sql"] for one in queries)


def test_submitting_looks_up_neither_suite_nor_team_again(entered, launcher):
    user, data = entered
    with CaptureQueriesContext(connection) as checking:
        valid = services.validate(user=user, data=data)
    assert selects(checking, "catalog_suite") == 1
    assert selects(checking, "people_team") == 1
    assert selects(checking, "planners_planner") == 1
    assert not Planner.objects.exists()
    with CaptureQueriesContext(connection) as submitting:
        services.submit(valid)
    assert selects(submitting, "catalog_suite") == selects(submitting, "people_team") == 0
    assert selects(submitting, "planners_planner") == 1


def test_everything_that_is_wrong_is_said_at_once_and_nothing_is_valid(entered):
    user, _ = entered
    wrong = {"suites": ["none"], "team": "none", "priority": "first", "version": "v1\x07"}
    data = services.SubmissionData(planner=planner_data(name=""), **wrong)
    with pytest.raises(FieldErrors) as refused:
        services.validate(user=user, data=data)
    assert set(refused.value.errors) == {"name", *wrong}
    assert services.problems(user=user, data=data) == refused.value.errors


def test_a_version_is_kept_without_blanks():
    planner = {"name": "mine", "kind": "bundled", "bundled_name": "gold"}
    body = {"planner": planner, "suites": [make_suite().slug], "version": " 3f2a9c1 "}
    made = client_of(make_user()).post("submissions/", body)
    assert (made.status_code, made.json()["version"]) == (201, "3f2a9c1")
    assert Submission.objects.get().version == "3f2a9c1"


def test_a_planner_that_was_entered_since_it_was_checked_is_not_taken_for_the_same(entered, launcher):
    user, data = entered
    valid = services.validate(user=user, data=data)
    other = services.SubmissionData(planner=planner_data(name=data.planner.values["name"]), suites=data.suites)
    services.submit(services.validate(user=user, data=other))
    with pytest.raises(FieldErrors, match="another kind"):
        services.submit(valid)
    assert Submission.objects.count() == 1
