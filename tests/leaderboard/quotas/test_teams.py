"""What is submitted for a team: charged twice, refunded twice, and acted on by each of its members."""

import pytest

from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.evaluations.visibility import NotPossibleError
from leaderboard.quotas.models import ALL_SUITES, QuotaBalance, QuotaEntry
from leaderboard.quotas.services import QuotaExceededError
from leaderboard.submissions import services
from leaderboard.submissions.actions import rerun
from leaderboard.submissions.services import submit_for_own_worker
from tests.leaderboard.factories import make_submission, make_suite, make_team, make_user, planner_data
from tests.leaderboard.platform.api.helpers import client_of
from tests.leaderboard.quotas.test_quotas import at_once


@pytest.fixture(autouse=True)
def _limits(settings):
    settings.QUOTA_PER_SUITE_AND_DAY = settings.QUOTA_PER_DAY = 10
    settings.TEAM_QUOTA_PER_SUITE_AND_DAY = 2
    settings.TEAM_QUOTA_PER_DAY = 3


def used(**whose) -> dict[str, int]:
    return dict(QuotaBalance.objects.filter(**whose).values_list("suite", "used"))


@pytest.mark.django_db
class TestCharging:
    def test_user_and_team_are_both_charged_and_both_refunded(self):
        ada, suite = make_user("ada"), make_suite()
        team = make_team(ada)
        evaluation = make_submission(user=ada, suite=suite, team=team).evaluations.get()
        assert used(user=ada) == used(team=team) == {ALL_SUITES: 1, suite.slug: 1}
        assert QuotaEntry.objects.filter(evaluation=evaluation).count() == 2
        services.cancel(evaluation, by=ada)
        assert used(user=ada) == used(team=team) == {ALL_SUITES: 0, suite.slug: 0}
        assert QuotaEntry.objects.filter(evaluation=evaluation, amount=-1).count() == 2

    def test_the_team_s_limit_holds_for_all_its_members_together_and_their_own_holds_too(self, settings):
        ada, bea, suite = make_user("ada"), make_user("bea"), make_suite()
        team = make_team(ada, bea, name="lab")
        make_submission(user=ada, suite=suite, team=team)
        make_submission(user=bea, suite=suite, team=team)
        with pytest.raises(QuotaExceededError, match="The team lab has submitted all 2 evaluations of the suite"):
            make_submission(user=ada, suite=suite, team=team)
        assert used(user=ada)[suite.slug] == 1
        make_submission(user=ada, suite=suite)
        make_submission(user=ada, team=team)
        with pytest.raises(QuotaExceededError, match="all 3 evaluations that a team may submit"):
            make_submission(user=ada, team=team)
        settings.QUOTA_PER_DAY, settings.TEAM_QUOTA_PER_DAY = 1, 9
        with pytest.raises(QuotaExceededError, match="You have submitted all 1"):
            make_submission(user=bea, team=team)
        assert used(team=team)[ALL_SUITES] == 3

    def test_the_api_shows_both_and_names_the_team_that_has_none_left(self):
        ada, suite = make_user("ada"), make_suite()
        team = make_team(ada, name="lab")
        client = client_of(ada)
        body = {
            "planner": {"name": "mine", "kind": "bundled", "bundled_name": "gold"},
            "suites": [suite.slug],
            "team": team.slug,
        }
        made = client.post("submissions/", body)
        assert (made.status_code, made.json()["team"], made.json()["evaluations"][0]["team"]) == (201, "lab", "lab")
        client.post("submissions/", body)
        refused = client.post("submissions/", body)
        assert (refused.status_code, refused.json()["team"], refused.json()["code"]) == (429, "lab", "quota_exceeded")
        assert 1 <= int(refused.headers["Retry-After"]) <= 86_401
        assert "You can submit again from" in refused.json()["detail"]
        stranger = client_of(make_user()).post("submissions/", body)
        assert (stranger.status_code, stranger.json()["errors"]) == (400, {"team": ["You are in no team 'lab'."]})
        shown = [(row["team"], row["suite"], row["used"], row["limit"]) for row in client.get("quota/").json()]
        assert shown == [("", "", 2, 10), ("", suite.slug, 2, 10), ("lab", "", 2, 3), ("lab", suite.slug, 2, 2)]


@pytest.mark.django_db(transaction=True)
def test_members_who_submit_at_once_never_exceed_the_team_s_quota_nor_wait_for_each_other(settings):
    settings.TEAM_QUOTA_PER_SUITE_AND_DAY = settings.TEAM_QUOTA_PER_DAY = 6
    people = [make_user() for _ in range(3)]
    team, suites = make_team(*people), [make_suite(slug=slug) for slug in ("a", "b")]
    turns = iter([person for person in people for _ in range(2)])

    def submit() -> None:
        data = services.SubmissionData(planner=planner_data(), suites=[one.slug for one in suites], team=team.slug)
        submission = services.submit(services.validate(user=next(turns), data=data))
        services.cancel(submission.evaluations.first())

    submitted, refused = at_once(submit, count=6, refused=QuotaExceededError)
    assert (submitted + refused, submitted >= 3) == (6, True)
    left = Evaluation.runs.exclude(state=EvaluationState.CANCELLED).count()
    assert used(team=team)[ALL_SUITES] == left <= 6
    # Who was refused both times has no balance.
    assert sum(used(user=person).get(ALL_SUITES, 0) for person in people) == left


@pytest.mark.django_db
class TestActing:
    def test_members_act_and_read_like_the_owner_and_others_do_not(self, client):
        ada, bea, eve = make_user("ada"), make_user("bea"), make_user("eve")
        evaluation = make_submission(user=ada, team=make_team(ada, bea, name="lab")).evaluations.get()
        client.force_login(bea)
        assert b"Cancel this evaluation" in client.get(f"/evaluations/{evaluation.pk}/").content
        assert str(evaluation.pk) in client.get("/submissions/").content.decode()
        for reader, count in ((bea, 1), (eve, 0)):
            assert len(client_of(reader).get("evaluations/", mine="1").json()["results"]) == count
        cancel = f"evaluations/{evaluation.pk}/cancel/"
        assert [client_of(one).post(cancel).status_code for one in (eve, bea)] == [403, 200]
        evaluation.refresh_from_db()
        assert evaluation.reason_text == "Cancelled by bea of the team lab."

    def test_a_rerun_by_another_member_is_theirs_and_the_team_s(self):
        ada, bea = make_user("ada"), make_user("bea")
        team = make_team(ada, bea)
        first = make_submission(user=ada, team=team)
        services.cancel(first.evaluations.get(), by=ada)
        again = rerun(first.evaluations.get(), by=bea)
        assert (again.submitted_by, again.team, again.planner) == (bea, team, first.planner)
        assert used(user=bea)[ALL_SUITES] == used(team=team)[ALL_SUITES] == 1

    def test_an_address_does_not_get_to_another_member_s_worker(self):
        ada, bea = make_user("ada"), make_user("bea")
        team = make_team(ada, bea)
        endpoint = {"kind": "endpoint", "bundled_name": "", "endpoint_url": "https://planner.example.org/plan"}
        data = services.SubmissionData(planner=planner_data(**endpoint), suites=[make_suite().slug], team=team.slug)
        first = submit_for_own_worker(services.validate(user=ada, data=data)).evaluations.get()
        services.cancel(first, by=ada)
        with pytest.raises(NotPossibleError, match="Only the planner's owner"):
            rerun(first, by=bea)
        assert rerun(first, by=ada).submitted_by == ada
