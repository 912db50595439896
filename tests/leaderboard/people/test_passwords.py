"""Another password ends what lets programs act as the user."""

import re

import pytest
from django.core import mail
from django.test import Client

from leaderboard.messages.models import OutboxMessage
from leaderboard.people.models import User
from leaderboard.people.services import create_token
from leaderboard.platform.models import Action, AuditEntry
from leaderboard.queue.workers.tokens import create_worker_token
from tests.leaderboard.factories import PASSWORD, holder, make_user

pytestmark = pytest.mark.django_db(transaction=True)
NEW = "a battery of correct horses"


@pytest.fixture
def ada():
    return make_user("ada")


@pytest.fixture
def browser(ada):
    return signed_in(ada)


def signed_in(user) -> Client:
    client = Client()
    assert client.login(username=user.username, password=PASSWORD)
    return client


def is_signed_in(client) -> bool:
    return client.get("/accounts/password/change/").status_code == 200


def is_good(token) -> bool:
    return Client().get("/api/v1/tokens/", headers={"Authorization": f"Bearer {token}"}).status_code == 200


def api_token(user):
    return create_token(user=user, name="pipeline", scopes=["read", "manage"])


def change(client, *, old=PASSWORD, new=NEW, keep=()):
    data = {"oldpassword": old, "password1": new, "password2": new, "keep": list(keep)}
    return client.post("/accounts/password/change/", data)


def reset_page(user) -> tuple[Client, str]:
    """A browser that has followed the link in the mail, and the address of the form."""
    client = Client()
    client.post("/accounts/password/reset/", {"email": user.email})
    path = re.search(r"https?://[^/\s]+(/accounts/password/reset/key/\S+)", mail.outbox[-1].body)[1]
    return client, client.get(path).url


class TestChange:
    def test_all_tokens_and_other_sessions_end_and_the_present_one_goes_on(self, ada, browser):
        token, worker, other = api_token(ada), create_worker_token(owner=ada, name="gpu box"), signed_in(ada)
        assert is_good(token.token)
        assert change(browser).status_code == 302
        assert not is_good(token.token)
        assert holder(worker.token) is None
        assert not is_signed_in(other)
        assert is_signed_in(browser)
        assert User.objects.get().check_password(NEW)

    def test_a_token_that_is_ticked_goes_on_and_the_others_end(self, ada, browser):
        kept, ended = api_token(ada), api_token(ada)
        worker = create_worker_token(owner=ada, name="gpu box")
        change(browser, keep=[f"api:{kept.id}", f"worker:{worker.id}"])
        assert is_good(kept.token)
        assert not is_good(ended.token)
        assert holder(worker.token)

    def test_a_wrong_old_password_ends_nothing_and_remembers_what_was_ticked(self, ada, browser):
        token = api_token(ada)
        page = change(browser, old="wrong", keep=[f"api:{token.id}"])
        assert page.status_code == 200
        assert page.content.decode().count("checked") == 1
        assert is_good(token.token)

    def test_a_token_that_ended_meanwhile_or_is_somebody_elses_can_be_named(self, ada, browser):
        bea = make_user("bea")
        theirs, worker = api_token(bea), create_worker_token(owner=bea, name="gpu box")
        assert change(browser, keep=[f"api:{theirs.id}", "api:gone", "worker:nothing", "x"]).status_code == 302
        assert is_good(theirs.token)
        assert holder(worker.token)

    def test_audit_log_and_mail_name_what_ended_and_why(self, ada, browser):
        token, _ = api_token(ada), create_worker_token(owner=ada, name="gpu box")
        change(browser)
        (entry,) = AuditEntry.objects.filter(action=Action.PASSWORD_CHANGED)
        assert (entry.actor, entry.label, entry.details) == ("ada", "ada", {"ended": 2, "kept": 0})
        (revoked,) = AuditEntry.objects.filter(action=Action.TOKEN_REVOKED)
        assert (revoked.target, revoked.details) == (token.id, {"because": "password changed"})
        (worker,) = AuditEntry.objects.filter(action=Action.WORKER_TOKEN_REVOKED)
        assert (worker.label, worker.details) == ("gpu box", {"because": "password changed"})
        (message,) = OutboxMessage.objects.all()
        assert message.payload["to"] == "ada@example.org"
        assert "worker token gpu box" in message.payload["text"]
        assert NEW not in str(message.payload)

    def test_when_ending_tokens_fails_the_old_password_stays(self, ada, browser, monkeypatch):
        def fail(**_):
            raise RuntimeError("no disk")

        monkeypatch.setattr("leaderboard.people.web.password_forms.end_credentials", fail)
        with pytest.raises(RuntimeError, match="no disk"):
            change(browser)
        assert User.objects.get().check_password(PASSWORD)


class TestReset:
    def test_all_tokens_and_sessions_end_whatever_is_asked_to_stay(self, ada, browser):
        token, worker = api_token(ada), create_worker_token(owner=ada, name="gpu box")
        client, form = reset_page(ada)
        answer = client.post(form, {"password1": NEW, "password2": NEW, "keep": [f"api:{token.id}"]})
        assert answer.status_code == 302
        assert not is_good(token.token)
        assert holder(worker.token) is None
        assert not is_signed_in(browser)
        assert AuditEntry.objects.get(action=Action.PASSWORD_RESET).details == {"ended": 2, "kept": 0}
        assert User.objects.get().check_password(NEW)

    def test_a_link_that_was_used_shows_nothing_of_the_account(self, ada):
        client, form = reset_page(ada)
        client.post(form, {"password1": NEW, "password2": NEW})
        create_worker_token(owner=ada, name="gpu box")
        page = client.get(form).content.decode()
        assert "This link is no longer valid" in page
        assert "gpu box" not in page
