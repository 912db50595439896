"""Who gets into a team, who may change it, that it always has its owner, and how many of anything somebody may have."""

from collections.abc import Callable

import pytest
from django.db import IntegrityError, transaction

from leaderboard.messages import webhooks
from leaderboard.messages.models import OutboxMessage
from leaderboard.people import services as accounts
from leaderboard.people import teams
from leaderboard.people.models import Invitation, Membership, Role, Team, User
from leaderboard.people.teams import NotAllowedError
from leaderboard.platform.models import Action, AuditEntry
from leaderboard.platform.problems import FieldErrors
from leaderboard.queue.workers import tokens
from tests.leaderboard.factories import make_team, make_user
from tests.leaderboard.platform.api.helpers import ApiClient, client_of
from tests.leaderboard.threads import in_threads

pytestmark = pytest.mark.django_db


def members(team: Team) -> dict[str, str]:
    return dict(Membership.objects.filter(team=team).values_list("user__username", "role"))


class TestRules:
    def test_nobody_is_in_a_team_before_they_accept(self):
        ada, bea = make_user("ada"), make_user("bea")
        team = teams.create_team(owner=ada, slug="lab", name="The lab")
        teams.invite(team=team, username="bea", by=ada)
        assert members(team) == {"ada": Role.OWNER}
        assert teams.accept_invitation(team=team, user=bea)
        assert members(team) == {"ada": Role.OWNER, "bea": Role.MEMBER}
        assert not Invitation.objects.exists()
        assert not teams.accept_invitation(team=team, user=bea)

    def test_who_is_invited_gets_an_email_without_the_name_of_the_owner_unless_they_want_none(self, settings):
        settings.SITE_URL = "https://arena.example"
        ada, quiet = make_user("ada"), make_user("quiet")
        make_user("bea")
        User.objects.filter(pk=quiet.pk).update(mails="none")
        team = teams.create_team(owner=ada, slug="lab", name="The lab")
        for name in ("bea", "quiet"):
            teams.invite(team=team, username=name, by=ada)
        (payload,) = OutboxMessage.objects.values_list("payload", flat=True)
        assert (payload["to"], payload["subject"]) == ("bea@example.org", "You are invited to the team The lab")
        assert "Answer the invitation: https://arena.example/teams/" in payload["text"]
        assert "ada" not in payload["text"]

    @pytest.mark.parametrize(
        ("slug", "name", "field"),
        [("", "Lab", "slug"), ("The Lab", "Lab", "slug"), ("-lab", "Lab", "slug"), ("x" * 51, "Lab", "slug"),
         ("lab", " ", "name"), ("lab", "x" * 81, "name"), ("lab", "a\nb", "name")],
    )  # fmt: skip
    def test_what_cannot_be_a_name_is_told_beside_its_field(self, slug, name, field):
        with pytest.raises(FieldErrors) as raised:
            teams.create_team(owner=make_user(), slug=slug, name=name)
        assert list(raised.value.errors) == [field]
        assert not Team.objects.exists()

    def test_names_and_short_names_are_one_team_s_since_boards_show_nothing_else(self):
        make_team(name="lab")
        Team.objects.update(name="The Lab")
        for slug, name, taken in (("lab", "Another", "lab"), ("another", "THE LAB", "THE LAB")):
            with pytest.raises(FieldErrors, match=f"There is a team '{taken}' already"):
                teams.create_team(owner=make_user(), slug=slug, name=name)

    def test_only_the_owner_invites_removes_and_hands_over(self):
        ada, bea, eve = make_user("ada"), make_user("bea"), make_user("eve")
        team = make_team(ada, bea)
        for by in (bea, eve):
            with pytest.raises(NotAllowedError):
                teams.invite(team=team, username="eve", by=by)
            with pytest.raises(NotAllowedError):
                teams.remove(team=team, user=ada, by=by)
            with pytest.raises(NotAllowedError):
                teams.hand_over(team=team, to=by, by=by)
        assert members(team) == {"ada": Role.OWNER, "bea": Role.MEMBER}

    def test_whom_one_cannot_invite(self):
        ada, bea = make_user("ada"), make_user("bea")
        team = make_team(ada)
        teams.invite(team=team, username="bea", by=ada)
        for name, sentence in (("bea", "already invited"), ("ada", "already in the team"), ("zoe", "no user 'zoe'")):
            with pytest.raises(FieldErrors, match=sentence):
                teams.invite(team=team, username=name, by=ada)
        assert teams.end_invitation(team=team, user=bea, by=ada)
        teams.invite(team=team, username="bea", by=ada)
        assert teams.end_invitation(team=team, user=bea, by=bea)
        assert not teams.accept_invitation(team=team, user=bea)

    def test_the_owner_leaves_only_after_handing_over(self):
        ada, bea = make_user("ada"), make_user("bea")
        team = make_team(ada, bea)
        with pytest.raises(NotAllowedError, match="transfer the team"):
            teams.remove(team=team, user=ada, by=ada)
        teams.hand_over(team=team, to=bea, by=ada)
        assert members(team) == {"ada": Role.MEMBER, "bea": Role.OWNER}
        assert teams.remove(team=team, user=ada, by=ada)
        assert members(team) == {"bea": Role.OWNER}
        with pytest.raises(NotAllowedError, match="not in the team"):
            teams.hand_over(team=team, to=ada, by=bea)

    def test_the_database_refuses_a_second_owner(self):
        team = make_team()
        with pytest.raises(IntegrityError), transaction.atomic():
            Membership.objects.create(team=team, user=make_user(), role=Role.OWNER)

    def test_all_of_it_is_told(self):
        ada, bea = make_user("ada"), make_user("bea")
        team = make_team(ada, bea)
        teams.hand_over(team=team, to=bea, by=ada)
        teams.remove(team=team, user=ada, by=bea)
        assert list(AuditEntry.objects.order_by("pk").values_list("actor", "action")) == [
            ("ada", Action.TEAM_MADE),
            ("ada", Action.TEAM_INVITED),
            ("bea", Action.TEAM_JOINED),
            ("ada", Action.TEAM_HANDED_OVER),
            ("bea", Action.TEAM_REMOVED),
        ]


class TestApi:
    def test_the_whole_life_of_a_team(self):
        ada, bea = client_of(make_user("ada")), client_of(make_user("bea"))
        assert ada.post("teams/", {"slug": "lab", "name": "The lab"}).status_code == 201
        assert bea.get("teams/lab/").status_code == 404
        invited = ada.post("teams/lab/members/", {"username": "bea"})
        assert (invited.status_code, invited.json()["invited"]) == (201, ["bea"])
        joined = bea.post("teams/lab/accept/").json()
        assert [(one["username"], one["role"]) for one in joined["members"]] == [("ada", "owner"), ("bea", "member")]
        assert bea.post("teams/lab/owner/", {"username": "bea"}).status_code == 403
        assert ada.post("teams/lab/owner/", {"username": "bea"}).status_code == 200
        assert bea.delete("teams/lab/members/bea/").status_code == 403
        assert ada.delete("teams/lab/members/ada/").status_code == 204
        assert ada.get("teams/").json()["results"] == []
        assert ApiClient().get("teams/").status_code == 401


class TestPages:
    def test_a_team_is_made_somebody_invited_and_they_join(self, client):
        ada, bea = make_user("ada"), make_user("bea")
        client.force_login(ada)
        page = client.post("/teams/", {"slug": "lab", "name": "The lab"}, follow=True)
        assert page.redirect_chain == [("/teams/lab/", 302)]
        client.post("/teams/lab/", {"username": "bea"})
        client.force_login(bea)
        assert client.get("/teams/lab/").status_code == 404
        assert b"Join The lab" in client.get("/teams/").content
        page = client.post("/teams/lab/accept/", follow=True)
        assert page.redirect_chain == [("/teams/lab/", 302)]
        assert b"Invite a member" not in page.content
        assert client.post("/teams/lab/remove/bea/", follow=True).redirect_chain == [("/teams/", 302)]
        assert not teams.is_member(user_id=bea.pk, team_id=Team.objects.get().pk)


def a_webhook(owner: User, number: int) -> None:
    webhooks.add_webhook(owner=owner, url=f"http://127.0.0.1/{number}")


LIMITED: list[tuple[Callable[[User, int], object], int, Callable[[User], int]]] = [
    (
        lambda owner, number: accounts.create_token(user=owner, days=number),
        accounts.MOST_TOKENS,
        lambda owner: accounts.tokens_of(owner).count(),
    ),
    (
        lambda owner, number: tokens.create_worker_token(owner=owner, name=str(number)),
        tokens.MOST_TOKENS,
        lambda owner: tokens.worker_tokens_of(owner).count(),
    ),
    (a_webhook, webhooks.MOST_WEBHOOKS, lambda owner: webhooks.webhooks_of(owner).count()),
    (
        lambda owner, number: teams.create_team(owner=owner, slug=f"team-{number}", name=f"Team {number}"),
        teams.MOST_OWNED,
        lambda owner: Membership.objects.filter(user=owner).count(),
    ),
]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("make", "most", "count"), LIMITED)
def test_there_is_never_one_too_many(make, most, count, settings):
    settings.DEMO = True
    owner = make_user()
    for number in range(1, most):
        make(owner, number)
    numbers = iter(range(most, most + 6))
    refused = in_threads(lambda: make(owner, next(numbers)), count=6)
    assert count(owner) == most
    assert [type(error) for error in refused] == [FieldErrors] * 5


@pytest.mark.django_db(transaction=True)
def test_an_address_is_a_webhook_once(settings):
    settings.DEMO = True
    owner = make_user()
    refused = in_threads(lambda: a_webhook(owner, 1), count=4)
    assert len(refused) == 3
    assert webhooks.webhooks_of(owner).count() == 1


@pytest.mark.django_db
def test_the_audit_log_which_is_never_cleaned_knows_no_more_of_a_webhook_than_its_host(settings):
    settings.DEMO = True
    owner = make_user()
    made = webhooks.add_webhook(owner=owner, url="http://127.0.0.1:9/services/T0/secret-of-a-chat?token=abc")
    assert webhooks.remove_webhook(owner=owner, webhook_id=made.pk)
    entries = AuditEntry.objects.filter(action__in=[Action.WEBHOOK_ADDED, Action.WEBHOOK_REMOVED])
    assert [entry.label for entry in entries] == ["http://127.0.0.1"] * 2
