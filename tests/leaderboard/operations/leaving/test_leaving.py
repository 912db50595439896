"""Taking one's data along, closing an account, and deleting it."""

import json
import re
from datetime import timedelta
from functools import partial

import pytest
from allauth.account.models import EmailAddress
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.utils import timezone

from evaluator.core import canonical_json
from leaderboard.boards.models import Snapshot
from leaderboard.boards.services import publish
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.messages.models import OutboxMessage, Webhook
from leaderboard.messages.webhooks import add_webhook
from leaderboard.operations.leaving import closing, export
from leaderboard.operations.leaving.tasks import finish_leaving
from leaderboard.people import teams
from leaderboard.people.models import Erasure, Membership, Role, Team, User
from leaderboard.people.profile import ProfileData, set_profile
from leaderboard.people.services import create_token
from leaderboard.people.tasks import clear_expired_sessions
from leaderboard.planners import secret_headers
from leaderboard.planners.checkpoints import checkpoint_store
from leaderboard.planners.models import CheckpointUpload, Planner
from leaderboard.platform.api import throttling
from leaderboard.platform.models import Action, AuditEntry
from leaderboard.queue.workers.tokens import create_worker_token
from leaderboard.submissions import services
from tests.leaderboard.factories import PASSWORD, make_evaluation, make_submission, make_suite, make_team, make_user
from tests.leaderboard.platform.api.test_reading import finish

pytestmark = pytest.mark.django_db
COMMITS = pytest.mark.django_db(transaction=True)
ENDPOINT = {"kind": "endpoint", "bundled_name": "", "endpoint_url": "https://ada-at-home.example.org/plan"}


@pytest.fixture(autouse=True)
def fresh_limits():
    cache.clear()


@pytest.fixture
def ada():
    user = make_user("ada")
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    set_profile(user=user, data=ProfileData(display_name="Ada Lovelace", bio="First of all"))
    user.refresh_from_db()
    return user


@pytest.fixture
def browser(ada):
    return signed_in(ada)


def signed_in(user) -> Client:
    client = Client()
    assert client.login(username=user.username, password=PASSWORD)
    return client


def completed(user, **more) -> Evaluation:
    evaluation = make_submission(user=user, suite=more.pop("suite", None) or make_suite(), **more).evaluations.get()
    Evaluation.runs.filter(pk=evaluation.pk).update(state="launching")
    finish(evaluation)
    evaluation.refresh_from_db()
    assert evaluation.state == EvaluationState.COMPLETED
    return evaluation


def state_of(evaluation) -> str:
    return Evaluation.runs.values_list("state", flat=True).get(pk=evaluation.pk)


def finish_later():
    """What the task does once the last requests of before are over."""
    Erasure.objects.update(created=timezone.now() - timedelta(minutes=6))
    finish_leaving()


def everything_kept() -> str:
    """Every row of every table of ours, as text."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'django_migrations'"
        )
        tables = [name for (name,) in cursor.fetchall()]
        rows = []
        for table in tables:
            cursor.execute(f'SELECT row_to_json(one)::text FROM "{table}" one')
            rows += [f"{table}: {text}" for (text,) in cursor.fetchall()]
    return "\n".join(rows)


class TestExport:
    def test_the_page_gives_one_json_document_with_what_there_is_of_the_user(self, ada, browser):
        create_token(user=ada, name="nightly pipeline")
        create_worker_token(owner=ada, name="gpu box")
        make_team(ada, name="lab")
        evaluation = completed(ada)
        other = make_user("zebedee")
        completed(other)
        create_token(user=other, name="of-zebedee")
        answer = browser.get("/account/export/")
        assert "attachment" in answer.headers["Content-Disposition"]
        assert "no-store" in answer.headers["Cache-Control"]
        text = answer.getvalue().decode()
        assert "zebedee" not in text
        data = json.loads(text)
        assert (data["format"], data["username"]) == ("planarena-account/1", "ada")
        assert data["account"]["display_name"] == "Ada Lovelace"
        assert data["account"]["email_addresses"][0]["email"] == "ada@example.org"
        assert data["api_tokens"][0]["name"] == "nightly pipeline"
        assert data["worker_tokens"][0]["name"] == "gpu box"
        assert (data["teams"][0]["team"], data["teams"][0]["role"]) == ("lab", "owner")
        assert data["evaluations"][0]["id"] == str(evaluation.pk)
        assert data["evaluations"][0]["summary"] == evaluation.summary
        assert len(data["results"]) == evaluation.results.count() > 0
        assert {entry["by"] for entry in data["audit"]} == {"ada"}

    def test_no_secret_is_in_it(self, ada, browser, settings):
        settings.DEMO = True
        token, worker = create_token(user=ada, name="ci"), create_worker_token(owner=ada, name="box")
        webhook = add_webhook(owner=ada, url="https://example.org/hook")
        evaluation = completed(ada, **ENDPOINT)
        planner = evaluation.submission.planner
        secret_headers.replace(planner=planner, name="X-Key", value="hush-hush-hush", by=ada)
        text = browser.get("/account/export/").getvalue().decode()
        stored = Webhook.objects.get().secret
        for secret in (token.token, worker.token, webhook.secret, stored, "hush-hush-hush", ada.password):
            assert secret not in text
        (shown,) = json.loads(text)["planners"]
        assert shown["secret_header"]["name"] == "X-Key"
        assert shown["endpoint_url"] == ENDPOINT["endpoint_url"]

    @COMMITS
    def test_long_lists_are_read_a_page_at_a_time_outside_of_any_transaction(self, ada, monkeypatch):
        monkeypatch.setattr(export, "PAGE", 3)
        for number in range(7):
            create_token(user=ada, name=f"token {number}")
        pieces = export.export(ada)
        with connection.execute_wrapper(_outside_of_transactions):
            data = json.loads("".join(pieces))
        assert sorted(one["name"] for one in data["api_tokens"]) == [f"token {number}" for number in range(7)]

    def test_it_is_asked_for_a_few_times_a_minute_at_most(self, ada, browser, monkeypatch):
        monkeypatch.setitem(throttling.Throttle.THROTTLE_RATES, "exports", "6/min")
        statuses = [browser.get("/account/export/").status_code for _ in range(7)]
        assert statuses == [200] * 6 + [429]


def _outside_of_transactions(execute, sql, params, many, context):
    assert context["connection"].get_autocommit()
    return execute(sql, params, many, context)


@COMMITS
@pytest.mark.parametrize("act", ["close", "delete"])
class TestProof:
    """Nobody closes or deletes an account who does not know its password."""

    def page(self, client, act, entered):
        return client.post(f"/account/{act}/", {f"{act}-entered": entered})

    def api(self, ada, act, body):
        bearer = {"Authorization": f"Bearer {create_token(user=ada, scopes=['manage']).token}"}
        ask, path = (Client().post, "close/") if act == "close" else (Client().delete, "")
        return ask(f"/api/v1/account/{path}", body, "application/json", headers=bearer).status_code

    def test_page_and_api_ask_for_the_password(self, ada, browser, act):
        page = self.page(browser, act, "wrong")
        assert page.status_code == 400
        assert "not the password of this account" in page.content.decode()
        assert [self.api(ada, act, body) for body in ({}, {"password": "wrong"})] == [400, 400]
        assert User.objects.get(pk=ada.pk).closed_at is None
        assert self.api(ada, act, {"password": PASSWORD}) == 204
        assert User.objects.get(pk=ada.pk).closed_at is not None

    def test_an_account_without_a_password_asks_for_the_name_on_the_page_only(self, ada, act):
        User.objects.filter(pk=ada.pk).update(password="!")
        client = Client()
        client.force_login(User.objects.get(pk=ada.pk))
        assert self.api(ada, act, {"password": "ada"}) == 403
        assert self.page(client, act, "eve").status_code == 400
        assert self.page(client, act, "ada").status_code == 302
        assert User.objects.get(pk=ada.pk).closed_at is not None


@COMMITS
class TestClosing:
    def close(self, browser, password=PASSWORD):
        return browser.post("/account/close/", {"close-entered": password})

    def test_nobody_signs_in_and_every_token_ends(self, ada, browser):
        token, box = create_token(user=ada).token, create_worker_token(owner=ada, name="box").token
        assert self.close(browser).status_code == 302
        assert browser.get("/tokens/").status_code == 302
        assert not Client().login(username="ada", password=PASSWORD)
        assert Client().get("/api/v1/tokens/", headers={"Authorization": f"Bearer {token}"}).status_code == 401
        assert Client().post("/api/v1/worker/session/", headers={"Authorization": f"Bearer {box}"}).status_code == 403

    def test_what_runs_is_cancelled_but_for_teams_and_what_was_published_stays(self, ada, browser):
        published, running = completed(ada), make_evaluation(user=ada)
        bea = make_user("bea")
        for_team = make_submission(user=ada, team=make_team(ada, bea, name="lab")).evaluations.get()
        self.close(browser)
        late = make_evaluation(user=ada)
        finish_leaving()
        assert (state_of(running), state_of(late)) == ("cancelled", "cancelled")
        assert state_of(for_team) == "queued"
        assert state_of(published) == "completed"
        assert "ada" in Client().get(f"/evaluations/{published.pk}/").content.decode()

    @COMMITS
    @pytest.mark.parametrize("step", [closing.close_account, closing.delete_account])
    def test_an_account_is_closed_although_a_step_after_the_commit_fails(self, monkeypatch, caplog, step):
        def fail(**_):
            raise RuntimeError("no connection")

        monkeypatch.setattr(closing, "cancel_running", fail)
        monkeypatch.setattr(closing, "delete_sessions", fail)
        assert step(user=make_user(), by=None)
        assert "no connection" in caplog.text

    def test_a_team_with_other_members_belongs_to_the_one_of_longest_standing(self, ada, browser):
        bea, cleo = make_user("bea"), make_user("cleo")
        team = make_team(ada, bea, cleo, name="lab")
        alone = make_team(ada, name="alone")
        self.close(browser)
        assert teams.owns(user=bea, team=team)
        assert teams.is_member(user_id=ada.pk, team_id=team.pk)
        assert teams.owns(user=ada, team=alone)

    def test_an_operator_opens_it_again(self, ada, browser):
        self.close(browser)
        call_command("reopen_account", "ada")
        assert Client().login(username="ada", password=PASSWORD)
        assert list(AuditEntry.objects.filter(target=str(ada.pk)).values_list("action", flat=True).order_by("pk")) == [
            Action.ACCOUNT_CLOSED,
            Action.ACCOUNT_REOPENED,
        ]
        with pytest.raises(CommandError, match="is not closed"):
            call_command("reopen_account", "ada")

    def test_the_owner_gets_no_more_mails_and_webhooks(self, ada, browser, settings):
        settings.DEMO = True
        settings.MAIL_OWNERS = True
        add_webhook(owner=ada, url="https://example.org/hook")
        make_evaluation(user=ada)
        self.close(browser)
        assert not OutboxMessage.objects.exists()


@COMMITS
class TestDeleting:
    def delete(self, browser, password=PASSWORD):
        return browser.post("/account/delete/", {"delete-entered": password})

    def test_guessing_the_password_is_slowed_down(self, ada, browser, settings):
        settings.ACCOUNT_RATE_LIMITS = {"login_failed": "3/5m/key"}
        for _ in range(4):
            page = self.delete(browser, password="wrong")
        assert "Too many failed login attempts" in page.content.decode()
        assert self.delete(browser).status_code == 400
        assert User.objects.get(pk=ada.pk).deleted_at is None

    def test_nothing_that_is_kept_names_the_person_afterwards(self, browser, ada, settings):
        settings.DEMO = True
        bea = make_user("bea")
        lab = make_team(ada, bea, name="lab")
        create_token(user=ada, name="Lovelace laptop")
        create_worker_token(owner=ada, name="Lovelace gpu")
        add_webhook(owner=ada, url="https://ada-at-home.example.org/hook")
        public = completed(ada, description="by Lovelace", **ENDPOINT)
        secret_headers.replace(planner=public.submission.planner, name="X-Key", value="hush-hush-hush", by=ada)
        team_run = make_submission(user=bea, team=lab).evaluations.get()
        services.cancel(team_run, by=ada)
        teams.invite(team=lab, username=make_user("cleo").username, by=ada)
        browser.post("/accounts/login/", {"login": "ada", "password": PASSWORD})
        assert '"ada"' in everything_kept()
        self.delete(browser)
        finish_later()
        kept = everything_kept()
        for word in (r"\bada\b", r"\bada-at", "Ada", "Lovelace", "hush"):
            left = [line for line in kept.splitlines() if re.search(word, line)]
            assert left == [], word

    def test_submissions_stay_on_the_boards_as_a_deleted_user_s_and_digests_fit(self, ada, browser):
        evaluation = completed(ada)
        publish(evaluation)
        before = Snapshot.objects.get()
        path = f"/boards/{evaluation.suite.slug}/"
        assert "ada" in Client().get(path).content.decode()
        self.delete(browser)
        finish_later()
        for page in (path, f"{path}snapshots/1/", f"/evaluations/{evaluation.pk}/"):
            text = Client().get(page).content.decode()
            assert "deleted user " in text
            assert ">ada<" not in text
        after = Snapshot.objects.get()
        assert after.digest == canonical_json.digest(after.content) != before.digest
        (old,), (new,) = before.content["rows"], after.content["rows"]
        assert {**new, "owner": "ada"} == old
        assert Client().get(f"/users/{new['owner']}/").status_code == 200
        assert publish(evaluation).number == 1

    def test_the_audit_log_keeps_what_was_done_under_a_name_that_says_nothing(self, ada, browser):
        create_token(user=ada, name="ci")
        evaluation = make_evaluation(user=ada)
        count = AuditEntry.objects.count()
        self.delete(browser)
        finish_later()
        pseudonym = User.objects.get(pk=ada.pk).username
        assert AuditEntry.objects.count() > count
        assert {*AuditEntry.objects.values_list("actor", "actor_key")} == {(pseudonym, None)}
        assert AuditEntry.objects.filter(action=Action.SUBMITTED, target=str(evaluation.submission_id)).exists()
        assert AuditEntry.objects.filter(action=Action.ACCOUNT_DELETED, label=pseudonym).exists()

    def test_the_log_still_refuses_every_other_change(self, ada):
        create_token(user=ada)
        with pytest.raises(IntegrityError), transaction.atomic():
            AuditEntry.objects.update(actor="eve")
        changes = [{"action": "rerun"}, {"target": "x"}, {"target_kind": "x"}, {"at": timezone.now()}]
        for change in [
            *(partial(AuditEntry.objects.update, **change) for change in changes),
            AuditEntry.objects.all().delete,
        ]:
            with transaction.atomic():
                with connection.cursor() as cursor:
                    cursor.execute("SELECT set_config('planarena.erasing_a_person', 'on', true)")
                with pytest.raises(IntegrityError), transaction.atomic():
                    change()

    def test_what_runs_is_cancelled_and_teams_go_to_another_member_or_end(self, ada, browser, settings):
        settings.DEMO = True
        bea = make_user("bea")
        shared, empty, used = make_team(ada, bea, name="lab"), make_team(ada, name="empty"), make_team(ada, name="used")
        Team.objects.filter(pk=used.pk).update(description="Ada's", shows_members=True)
        make_submission(user=ada, team=used)
        make_submission(user=ada, team=shared, **ENDPOINT)
        role = {"kind": "chat", "endpoint_url": "https://ada.example.org/v1", "model_id": "m"}
        Planner.objects.exclude(endpoint_url="").update(roles={"respond": role})
        self.delete(browser)
        assert {*Evaluation.runs.values_list("state", flat=True)} == {"cancelled"}
        assert {*Planner.objects.values_list("endpoint_url", flat=True)} == {"", closing.NO_ADDRESS}
        assert Planner.objects.exclude(roles={}).get().roles["respond"]["endpoint_url"] == closing.NO_ADDRESS
        assert Membership.objects.get(team=shared).user == bea
        assert Membership.objects.get(team=shared).role == Role.OWNER
        assert not Team.objects.filter(pk=empty.pk).exists()
        assert (Team.objects.get(pk=used.pk).description, Membership.objects.count()) == ("", 1)

    def test_an_uploaded_checkpoint_goes_with_its_owner_unless_somebody_else_uploaded_it_too(
        self, ada, browser, settings, tmp_path
    ):
        settings.STORE_DIR = tmp_path / "store"
        bea = make_user("bea")
        digests = {name: name * 64 for name in "ab"}
        for name, digest in digests.items():
            (tmp_path / name).write_bytes(b"weights")
            checkpoint_store().take(path=tmp_path / name, digest=digest)
        for owner, name in ((ada, "a"), (ada, "b"), (bea, "b")):
            CheckpointUpload.objects.create(
                owner=owner, digest=digests[name], bytes=7, architecture="x", parameters=1, weights_bytes=1,
                wanted_at=timezone.now(),
            )  # fmt: skip
        self.delete(browser)
        finish_later()
        assert checkpoint_store().digests() == [digests["b"]]

    def test_a_killed_deletion_is_finished_by_the_next_task(self, ada, browser, monkeypatch):
        publish(completed(ada))
        self.delete(browser)
        Erasure.objects.update(created=timezone.now() - timedelta(minutes=6))

        def die(**_):
            raise KeyboardInterrupt

        with monkeypatch.context() as broken:
            broken.setattr(closing, "replace_owner", die)
            with pytest.raises(KeyboardInterrupt):
                finish_leaving()
        assert Erasure.objects.exists()
        assert "ada" in json.dumps(Snapshot.objects.get().content)
        finish_leaving()
        assert not Erasure.objects.exists()
        assert '"ada"' not in json.dumps(Snapshot.objects.get().content)

    def test_an_operator_deletes_for_who_cannot_sign_in_once_and_for_all(self, ada):
        with pytest.raises(CommandError, match="Add --yes"):
            call_command("delete_account", "ada")
        call_command("delete_account", "ada", "--yes")
        name = User.objects.get(pk=ada.pk).username
        assert User.objects.get(pk=ada.pk).deleted_at is not None
        assert not closing.delete_account(user=ada, by=None)
        assert not closing.reopen_account(user=ada, by=None)
        assert User.objects.get(pk=ada.pk).username == name

    def test_a_name_that_begins_with_theirs_is_left_alone(self, ada, browser):
        adam = make_user("adam")
        publish(completed(adam))
        create_token(user=adam)
        self.delete(browser)
        finish_later()
        assert Snapshot.objects.get().content["rows"][0]["owner"] == "adam"
        assert AuditEntry.objects.filter(actor="adam").exists()

    def test_the_name_is_free_again_and_nobody_can_take_a_deleted_user_s(self, ada, browser):
        self.delete(browser)
        form = {"email": "new@example.org", "password1": PASSWORD, "password2": PASSWORD}
        Client().post("/accounts/signup/", {**form, "username": "deleted user 01234567"})
        assert not User.objects.filter(email="new@example.org").exists()
        Client().post("/accounts/signup/", {**form, "username": "ada"})
        assert User.objects.filter(username="ada", email="new@example.org").exists()


def test_sessions_that_have_expired_are_removed(browser):
    assert Session.objects.count() == 1
    Session.objects.update(expire_date=timezone.now() - timedelta(days=1))
    clear_expired_sessions()
    assert not Session.objects.exists()
