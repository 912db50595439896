"""Nobody but its owner learns whether an e-mail address has an account."""

import re
from base64 import b64encode
from datetime import timedelta

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from leaderboard.people.addresses import remove_unconfirmed
from leaderboard.people.models import User
from leaderboard.people.tasks import remove_unconfirmed_accounts
from tests.leaderboard.factories import PASSWORD, make_submission, make_user

pytestmark = pytest.mark.django_db
TAKEN, FREE = "taken@example.org", "free@example.org"


@pytest.fixture(autouse=True)
def confirming(settings):
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    cache.clear()


@pytest.fixture
def owner():
    user = make_user("owner")
    User.objects.filter(pk=user.pk).update(email=TAKEN)
    EmailAddress.objects.create(user=user, email=TAKEN, verified=True, primary=True)
    return user


def sign_up(email, *, username, client=None):
    data = {"username": username, "email": email, "password1": PASSWORD, "password2": PASSWORD}
    return (client or Client()).post("/accounts/signup/", data)


def seen(response) -> tuple:
    """What a stranger sees, without what is new in each answer or what they entered themselves."""
    body = re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", response.content.decode())
    body = re.sub(r'"request_id":"\w+"', "", body)
    body = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)", "", body)
    for entered in ("probe-taken@example.org", "probe-free@example.org", "probe-taken", "probe-free", TAKEN, FREE):
        body = body.replace(entered, "ENTERED")
    return response.status_code, response.headers.get("Location"), sorted(response.cookies), body


def both(ask) -> tuple:
    """The answers about the address that is taken and the one that is free, each from a browser of its own."""
    answers = []
    for email in (TAKEN, FREE):
        cache.clear()
        answers.append(seen(ask(email, f"probe-{email.partition('@')[0]}", Client())))
    return tuple(answers)


def basic(name) -> str:
    return "Basic " + b64encode(f"{name}:{PASSWORD}".encode()).decode()


def signed_up(email, name, client) -> Client:
    sign_up(email, username=name, client=client)
    return client


class TestSignUp:
    @pytest.mark.parametrize("verification", ["mandatory", "optional", "none"])
    def test_the_answer_is_the_same(self, owner, settings, verification):
        settings.ACCOUNT_EMAIL_VERIFICATION = verification
        taken, free = both(lambda email, name, client: sign_up(email, username=name, client=client))
        assert taken == free
        assert taken[0] == 302

    @pytest.mark.parametrize(
        "look",
        [
            lambda name, client: sign_up("other@example.org", username=name),
            lambda name, client: Client().get(f"/users/{name}/"),
            lambda name, client: Client().get(f"/api/v1/users/{name}/"),
            lambda name, client: client.post("/accounts/login/", {"login": name, "password": PASSWORD}),
            lambda name, client: client.post("/accounts/login/", {"login": name, "password": "wrong"}),
            lambda name, client: client.get("/accounts/confirm-email/"),
            lambda name, client: Client().post("/api/v1/tokens/", {}, headers={"Authorization": basic(name)}),
        ],
        ids=[
            "the name again",
            "profile",
            "profile in the api",
            "signing in",
            "wrong password",
            "what follows",
            "basic",
        ],
    )
    def test_nothing_that_one_can_look_at_afterwards_tells(self, owner, look):
        taken, free = both(lambda email, name, client: look(name, signed_up(email, name, client)))
        assert taken == free

    def test_the_owner_is_told_that_somebody_tried_and_gets_no_link_that_confirms(self, owner):
        sign_up(TAKEN, username="probe")
        (told,) = mail.outbox
        assert told.to == [TAKEN]
        assert "An account with this address already exists" in told.body
        assert "/accounts/password/reset/" in told.body
        assert "/confirm-email/" not in told.body
        assert not EmailAddress.objects.get(user__username="probe").verified

    def test_an_address_that_an_operator_gave_an_account_counts_as_its_own(self):
        make_user("operator")
        sign_up("operator@example.org", username="probe")
        assert "An account with this address already exists" in mail.outbox[0].body

    def test_who_entered_an_address_first_without_confirming_it_does_not_keep_its_owner_out(self):
        sign_up(FREE, username="squatter")
        cache.clear()
        sign_up(FREE, username="newcomer")
        assert mail.outbox[-1].to == [FREE]
        path = re.search(r"(/accounts/confirm-email/\S+)", mail.outbox[-1].body)[1]
        Client().post(path)
        assert EmailAddress.objects.get(user__username="newcomer").verified
        client = Client()
        client.post("/accounts/login/", {"login": FREE, "password": PASSWORD})
        assert client.get("/tokens/").context["user"].username == "newcomer"

    def test_a_user_name_is_no_address(self):
        answer = sign_up(FREE, username="me@example.org")
        assert "choose one that is not an email address" in answer.content.decode()
        assert not User.objects.exists()


class TestPasswordReset:
    def test_the_answer_is_the_same_and_one_mail_is_sent(self, owner):
        answers = []
        for email in (TAKEN, FREE):
            cache.clear()
            mail.outbox.clear()
            answers.append(seen(Client().post("/accounts/password/reset/", {"email": email})))
            assert [one.to for one in mail.outbox] == [[email]]
        assert answers[0] == answers[1]


class TestUnconfirmedAccountsOfOneAddress:
    @pytest.fixture(autouse=True)
    def squatters(self):
        for number in range(3):
            cache.clear()
            sign_up(FREE, username=f"squatter{number}")
        cache.clear()
        mail.outbox.clear()

    def test_a_reset_sends_one_mail(self):
        Client().post("/accounts/password/reset/", {"email": FREE})
        assert len(mail.outbox) == 1

    def test_a_wrong_password_is_checked_once(self, owner, monkeypatch):
        hashed = []
        check = User.check_password
        monkeypatch.setattr(User, "check_password", lambda self, raw: hashed.append(self) or check(self, raw))
        for email in (FREE, TAKEN):
            hashed.clear()
            Client().post("/accounts/login/", {"login": email, "password": "wrong"})
            assert len(hashed) == 1


class TestAddingAnAddress:
    def test_the_answer_is_the_same_and_the_owner_is_told(self, owner):
        answers = []
        for email in (TAKEN, FREE):
            cache.clear()
            mail.outbox.clear()
            browser = Client()
            # Both sort the same way to the address that is entered: the page lists addresses in their order.
            browser.force_login(make_user(f"a-probe-{email.partition('@')[0]}"))
            browser.post("/accounts/email/", {"email": email, "action_add": ""})
            answers.append(seen(browser.get("/accounts/email/")))
            assert [one.to for one in mail.outbox] == [[email]]
            assert ("An account with this address already exists" in mail.outbox[0].body) == (email == TAKEN)
        assert answers[0] == answers[1]


class TestUnconfirmedAccounts:
    def test_they_are_removed_after_a_week(self):
        sign_up(FREE, username="gone")
        assert remove_unconfirmed() == 0
        User.objects.update(date_joined=timezone.now() - timedelta(days=8))
        remove_unconfirmed_accounts()
        assert not User.objects.exists()

    def test_accounts_that_were_confirmed_used_or_made_by_an_operator_stay(self, owner):
        make_user("by-operator")
        used = make_user("used")
        EmailAddress.objects.create(user=used, email="used@example.org")
        User.objects.filter(pk=used.pk).update(last_login=timezone.now())
        submitting = make_user("submitting")
        EmailAddress.objects.create(user=submitting, email="submitting@example.org")
        make_submission(user=submitting)
        User.objects.update(date_joined=timezone.now() - timedelta(days=30))
        assert remove_unconfirmed() == 0
