"""The version of a planner that a submission names."""

import pytest

from leaderboard.evaluations.models import Submission
from leaderboard.site.field_errors import FieldErrors
from leaderboard.submissions import services
from leaderboard.submissions.rerunning import rerun
from tests.leaderboard.factories import make_suite, make_user, planner_data
from tests.leaderboard.site.api.helpers import client_of

pytestmark = pytest.mark.django_db


def submitted(version: str, **planner) -> Submission:
    data = services.SubmissionData(planner=planner_data(**planner), suites=[make_suite().slug], version=version)
    return services.submit(services.validate(user=make_user(), data=data))


def test_a_version_is_kept_without_blanks_and_a_rerun_has_the_same():
    first = submitted(" 3f2a9c1 ")
    assert first.version == "3f2a9c1"
    evaluation = first.evaluations.get()
    services.cancel(evaluation)
    assert rerun(evaluation, by=first.submitted_by).version == "3f2a9c1"


@pytest.mark.parametrize(
    ("version", "sentence"), [("v" * 81, "It has 81 characters; at most 80"), ("v1\x07", "unprintable characters")]
)
def test_what_no_board_can_show_is_refused(version, sentence):
    with pytest.raises(FieldErrors, match=sentence) as refused:
        submitted(version)
    assert set(refused.value.errors) == {"version"}
    assert not Submission.objects.exists()


def test_the_api_takes_it_and_tells_it():
    client = client_of(make_user())
    planner = {"name": "mine", "kind": "bundled", "bundled_name": "gold"}
    made = client.post("submissions/", {"planner": planner, "suites": [make_suite().slug], "version": "v2"})
    assert (made.status_code, made.json()["version"]) == (201, "v2")
