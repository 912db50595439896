"""Pages of people, teams and planners: what they show, to whom, and at what cost."""

import pytest

from leaderboard.evaluations.models import Evaluation, Submission
from leaderboard.people.models import Team, User
from leaderboard.people.profile import ProfileData, TeamProfileData, set_profile, set_team_profile
from leaderboard.platform.models import Action, AuditEntry
from leaderboard.platform.problems import FieldErrors
from tests.leaderboard.evaluations.web.factories import read
from tests.leaderboard.factories import make_submission, make_suite, make_team, make_user, ranked
from tests.leaderboard.platform.api.helpers import ApiClient, client_of
from tests.leaderboard.platform.api.test_reading import finish

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]
PRIVATE = {"visibility": "private"}


@pytest.fixture
def ada() -> User:
    return make_user("ada")


def complete(submission: Submission, *, score: float = 0.5) -> Evaluation:
    Evaluation.runs.filter(submission=submission).update(state="launching")
    finish(submission.evaluations.get(), score=score)
    return submission.evaluations.get()


class TestPeople:
    def test_what_they_tell_and_their_best_results_are_public_their_address_is_not(self, client, ada):
        set_profile(
            user=ada,
            data=ProfileData(display_name="Ada L.", affiliation="Lab", link="https://example.org/ada", bio="a <b>\nb"),
        )
        suite = make_suite()
        complete(ranked(make_submission(user=ada, suite=suite, name="weak")), score=0.2)
        best = complete(ranked(make_submission(user=ada, suite=suite, name="strong")), score=0.75)
        html = read(client, "/users/ada/")
        told = ("Ada L.", "Lab", 'href="https://example.org/ada" rel="nofollow', "a &lt;b&gt;<br>b", "strong", "weak")
        assert [text for text in told if text not in html] == []
        assert f'href="/evaluations/{best.pk}/"' in html
        assert "0.750" in html
        assert "rank 1 of 2" in html
        assert ada.email not in html

    def test_a_closed_account_has_a_sentence_and_nothing_else(self, client, ada):
        set_profile(user=ada, data=ProfileData(bio="All about Ada."))
        User.objects.filter(pk=ada.pk).update(is_active=False)
        html = read(client, "/users/ada/")
        assert "This account is closed" in html
        assert "All about Ada." not in html
        assert ApiClient().get("users/ada/").status_code == 404
        for nobody in ("users/nobody/", "users/a%20b/", f"planners/{10**30}/"):
            assert client.get(f"/{nobody}").status_code == client.get(f"/api/v1/{nobody}").status_code == 404, nobody

    def test_teams_are_named_only_if_they_show_their_members(self, client, ada):
        make_team(ada, name="quiet")
        set_team_profile(team=make_team(ada, name="open"), data=TeamProfileData(shows_members=True), by=ada)
        html = read(client, "/users/ada/")
        assert "open" in html
        assert "quiet" not in html

    def test_everybody_edits_their_own(self, client, ada):
        client.force_login(ada)
        page = client.post("/profile/", {"display_name": "Ada", "link": "https://example.org"}, follow=True)
        assert "Your profile is updated." in page.content.decode()
        assert User.objects.get(pk=ada.pk).display_name == "Ada"
        wrong = client.post("/profile/", {"link": "javascript:alert(1)"})
        assert wrong.status_code == 400
        assert "Enter a full URL" in wrong.content.decode()

    def test_what_cannot_be_shown_is_refused_beside_its_field(self, ada):
        for field, value in (
            ("display_name", "x" * 81),
            ("affiliation", "two\nlines"),
            ("bio", "x" * 1001),
            ("bio", "a\x00b"),
            ("link", "ftp://example.org"),
            ("link", "https://name:word@example.org"),
            ("link", "https://example.org/" + "x" * 200),
        ):
            with pytest.raises(FieldErrors) as raised:
                set_profile(user=ada, data=ProfileData(**{field: value}))
            assert list(raised.value.errors) == [field]


class TestTeams:
    def test_a_team_is_public_when_something_for_it_is(self, client, ada):
        lab = make_team(ada, name="lab")
        make_submission(user=ada, team=lab, seen=PRIVATE, name="secret plan")
        assert client.get("/teams/lab/").status_code == 404
        make_submission(user=ada, team=lab, name="open plan")
        html = read(client, "/teams/lab/")
        assert "open plan" in html
        assert "secret plan" not in html

    def test_members_are_shown_only_if_the_owner_says_so(self, client, ada):
        bea = make_user("bea")
        lab = make_team(ada, bea, name="lab")
        make_submission(user=ada, team=lab)
        assert "/users/bea/" not in read(client, "/teams/lab/")
        client.force_login(bea)
        client.post("/teams/lab/describe/", {"shows_members": "on"})
        assert not Team.objects.get().shows_members, "only the owner says so"
        client.force_login(ada)
        client.post("/teams/lab/describe/", {"shows_members": "on", "description": "We plan."})
        assert "We plan." in read(client, "/teams/lab/?public=1")
        client.logout()
        assert "/users/bea/" in read(client, "/teams/lab/")
        assert AuditEntry.objects.filter(action=Action.TEAM_DESCRIBED).count() == 1


class TestPlanners:
    def test_its_evaluations_stand_over_time_as_far_as_the_reader_sees_them(self, client, ada):
        suite = make_suite()
        first = complete(make_submission(user=ada, suite=suite, name="mine", description="Small and quick."), score=0.3)
        second = complete(make_submission(user=ada, suite=suite, name="mine", seen=PRIVATE), score=0.6)
        address = f"/planners/{first.submission.planner_id}/"
        html = read(client, address)
        assert "Small and quick." in html
        assert "0.300" in html
        assert str(second.pk) not in html
        client.force_login(ada)
        html = read(client, address)
        assert str(second.pk) in html
        assert "private" in html

    def test_its_endpoint_is_not_shown(self, client, ada, settings):
        settings.DEMO = True
        endpoint = {"kind": "endpoint", "bundled_name": "", "endpoint_url": "http://127.0.0.1:9/secret-plan"}
        planner = make_submission(user=ada, **endpoint).planner
        assert "secret-plan" not in read(client, f"/planners/{planner.pk}/")


class TestApi:
    def test_a_person_is_read_by_everybody_and_changed_by_themselves(self, ada):
        evaluation = complete(make_submission(user=ada))
        shown = ApiClient().get("users/ada/").json()
        assert [row["evaluation"] for row in shown["results"]] == [str(evaluation.pk)]
        assert shown["evaluations"] == 1
        assert "email" not in shown
        changed = client_of(ada).patch("users/ada/", {"bio": "I plan."})
        assert (changed.status_code, changed.json()["bio"]) == (200, "I plan.")
        assert client_of(ada).patch("users/ada/", {"link": "nowhere"}).json()["errors"].keys() == {"link"}

    def test_planners_are_listed_as_far_as_they_are_public(self, ada):
        public = make_submission(user=ada, name="open plan").planner
        private = make_submission(user=ada, name="secret plan", seen=PRIVATE).planner
        make_submission()
        listed = ApiClient().get("planners/", owner="ada").json()["results"]
        assert [(row["id"], row["name"], row["evaluations"]) for row in listed] == [(public.pk, "open plan", 1)]
        assert len(ApiClient().get("planners/").json()["results"]) == 2
        own = client_of(ada).get("planners/", owner="ada").json()["results"]
        assert {row["id"] for row in own} == {public.pk, private.pk}
