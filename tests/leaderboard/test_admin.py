"""The operators' pages: staff only, nothing is written but through the services."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from leaderboard.evaluations.models import EvaluationState, Submission
from leaderboard.messages.models import Kind, OutboxMessage, Webhook
from leaderboard.planners.models import CheckpointUpload
from leaderboard.platform.models import Action, AuditEntry
from leaderboard.platform.web.admin import site
from leaderboard.queue.workers.tokens import create_worker_token
from leaderboard.quotas.models import QuotaEntry
from leaderboard.submissions import services
from tests.leaderboard.factories import make_evaluation, make_lease, make_user
from tests.leaderboard.platform.api.test_reading import finish

pytestmark = pytest.mark.django_db
EVALUATIONS = "/admin/evaluations/evaluation/"


@pytest.fixture
def operator(client: Client):
    user = make_user("operator")
    user.is_staff = True
    user.save()
    client.force_login(user)
    return user


def act(client: Client, action: str, *rows, address: str = EVALUATIONS, **fields) -> list[str]:
    """Choose rows and an action, confirm, and return the messages that are shown."""
    body = {"action": action, "_selected_action": [str(row.pk) for row in rows], "confirmed": "yes", **fields}
    page = client.post(address, body, follow=True)
    assert page.status_code == 200
    return [str(message) for message in page.context["messages"]]


class TestReading:
    def test_strangers_sign_in_on_the_sites_own_page_and_people_who_are_no_operators_get_403(self, client):
        page = client.get(EVALUATIONS, follow=True)
        assert page.redirect_chain[-1][0].startswith("/accounts/login/?next=")
        client.force_login(make_user())
        for address in ("/admin/", EVALUATIONS, "/admin/platform/auditentry/"):
            assert client.get(address, follow=True).status_code == 403

    def test_what_other_packages_register_is_not_there(self):
        assert {model._meta.app_label for model in site._registry} <= {
            "catalog", "evaluations", "outbox", "people", "planners", "platform", "queue", "quotas",
        }  # fmt: skip

    def rows(self) -> None:
        evaluation = make_evaluation(state=EvaluationState.LAUNCHING)
        make_lease(evaluation)
        create_worker_token(owner=make_user(), name="desktop")
        Webhook.objects.create(owner=make_user(), url="https://example.org", secret="very secret indeed")
        OutboxMessage.objects.create(kind=Kind.MAIL, payload={})
        CheckpointUpload.objects.create(
            owner=make_user(), digest="d" * 64, bytes=9, architecture="t5", parameters=1, weights_bytes=4,
            wanted_at=timezone.now(),
        )  # fmt: skip

    def test_every_list_and_row_opens_tells_no_secret_and_is_neither_added_to_nor_deleted(
        self, client, operator, launcher
    ):
        self.rows()
        for model in site._registry:
            name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
            pages = [client.get(reverse(f"{name}_changelist"), query) for query in ({"q": "x"}, {})]
            assert client.get(reverse(f"{name}_add")).status_code == 403, name
            if (row := model._default_manager.first()) is not None:
                pages.append(client.get(reverse(f"{name}_change", args=[row.pk])))
                assert client.post(reverse(f"{name}_delete", args=[row.pk]), {"post": "yes"}).status_code == 403, name
            for page in pages:
                assert page.status_code == 200, name
                for secret in ("very secret indeed", operator.password, "token_hash"):
                    assert secret not in page.content.decode(), name

    def test_an_evaluation_is_found_by_id_and_by_planner_and_its_state_cannot_be_written(self, client, operator):
        first, second = make_evaluation(), make_evaluation()
        for query in (str(first.pk), first.submission.planner.name):
            html = client.get(EVALUATIONS, {"q": query}).content.decode()
            assert str(first.pk) in html
            assert str(second.pk) not in html
        html = client.get(EVALUATIONS, {"submission__submitted_by__id__exact": second.submission.submitted_by_id})
        assert str(first.pk) not in html.content.decode()
        answer = client.post(f"{EVALUATIONS}{first.pk}/change/", {"state": "completed"})
        assert answer.status_code == 403
        first.refresh_from_db()
        assert first.state == EvaluationState.QUEUED


class TestActions:
    def test_each_evaluation_has_a_message_and_one_that_cannot_stops_no_other(self, client, operator):
        ended, open_one = make_evaluation(), make_evaluation()
        services.cancel(ended)
        told = act(client, "cancel", ended, open_one)
        assert len(told) == 2
        assert sum("nothing was changed" in text for text in told) == 1
        assert sum(text.endswith("): cancelled.") for text in told) == 1
        open_one.refresh_from_db()
        assert open_one.state == EvaluationState.CANCELLED
        assert open_one.reason_text == "Cancelled by an operator of this site."
        entry = AuditEntry.objects.get(action=Action.CANCELLED, target=str(open_one.pk), actor="operator")
        assert entry.details["before"] == {"state": "queued"}

    def test_a_rerun_is_the_owners_and_not_charged(self, client, operator):
        evaluation = make_evaluation()
        services.cancel(evaluation)
        charged = QuotaEntry.objects.count()
        assert "submitted again" in act(client, "rerun", evaluation)[0]
        again = Submission.objects.get(rerun_of=evaluation)
        assert again.submitted_by == evaluation.submission.submitted_by
        assert QuotaEntry.objects.count() == charged

    def test_resume_and_accept_need_an_evaluation_that_waits_for_its_owner(self, client, operator):
        evaluation = make_evaluation()
        for action in ("resume", "accept"):
            assert "only one that is" in act(client, action, evaluation)[0]

    def test_requeue_takes_the_tasks_away(self, client, operator, launcher):
        evaluation = make_evaluation(state=EvaluationState.LAUNCHING)
        lease = make_lease(evaluation)
        assert "queued again" in act(client, "requeue", evaluation)[0]
        lease.attempt.refresh_from_db()
        assert lease.attempt.state == "lost"

    def test_priority(self, client, operator):
        for text, priority, told in (
            ("7", 7, "has the priority 7"),
            ("-3", -3, "has the priority -3"),
            ("", 0, "whole number"),
            ("5000", 0, "1000"),
        ):
            evaluation = make_evaluation()
            assert told in act(client, "set_priority", evaluation, priority=text)[0]
            evaluation.refresh_from_db()
            assert evaluation.priority == priority

    def test_a_weight_is_set_and_told(self, client, operator):
        user = make_user("ada")
        address = f"/admin/people/user/{user.pk}/change/"
        assert client.post(address, {"queue_weight": "0"}).status_code == 200
        assert client.post(address, {"queue_weight": "4", "is_staff": "on"}).status_code == 302
        user.refresh_from_db()
        assert (user.queue_weight, user.is_staff) == (4, False)
        entry = AuditEntry.objects.get()
        assert (entry.actor, entry.details) == ("operator", {"before": 1, "after": 4})

    def test_a_worker_token_is_revoked_by_the_operator(self, client, operator):
        from leaderboard.queue.models import WorkerToken

        create_worker_token(owner=make_user(), name="desktop")
        token = WorkerToken.objects.get()
        address = "/admin/queue/workertoken/"
        assert "revoked. Its tasks" in act(client, "revoke", token, address=address)[0]
        assert "already revoked" in act(client, "revoke", token, address=address)[0]
        assert AuditEntry.objects.get(action=Action.WORKER_TOKEN_REVOKED).actor == "operator"

    def test_a_message_waits_again_under_its_id_but_not_beside_a_newer_one_of_its_purpose(self, client, operator):
        address = "/admin/outbox/outboxmessage/"
        failed = {"given_up_at": timezone.now(), "tries": 9, "last_error": "no"}
        message = OutboxMessage.objects.create(kind=Kind.WEBHOOK, payload={}, **failed)
        assert "queued again" in act(client, "again", message, address=address)[0]
        message.refresh_from_db()
        assert (message.standing, message.tries) == ("waiting", 0)
        old = OutboxMessage.objects.create(kind=Kind.MAIL, payload={}, dedup_key="k", sent_at=timezone.now())
        OutboxMessage.objects.create(kind=Kind.MAIL, payload={}, dedup_key="k")
        assert "already waits" in act(client, "again", old, address=address)[0]
        old.refresh_from_db()
        assert old.standing == "sent"

    def test_hiding_asks_for_a_reason_and_tells_it(self, client, operator, launcher, settings, tmp_path):
        settings.STORE_DIR = tmp_path / "store"
        evaluation = make_evaluation(state=EvaluationState.LAUNCHING)
        finish(evaluation)
        asked = client.post(EVALUATIONS, {"action": "hide", "_selected_action": [str(evaluation.pk)]})
        assert 'name="reason"' in asked.content.decode()
        assert "Give a reason" in act(client, "hide", evaluation)[0]
        assert "hidden." in act(client, "hide", evaluation, reason="It copied the gold plans.")[0]
        evaluation.refresh_from_db()
        assert evaluation.hidden_reason == "It copied the gold plans."
        assert AuditEntry.objects.get(action=Action.HIDDEN).actor == "operator"
        assert "shown again." in act(client, "show_again", evaluation)[0]
        evaluation.refresh_from_db()
        assert (evaluation.hidden_at, evaluation.hidden_reason) == (None, "")
