"""Messages are written with what they tell of, sent at least once, and given up in the end."""

from datetime import timedelta

import pytest
from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.core import mail
from django.db import IntegrityError, transaction
from django.utils import timezone
from kombu.exceptions import OperationalError

from leaderboard.evaluations.models import Evaluation, EvaluationReason, EvaluationState
from leaderboard.evaluations.states import Entered, advance
from leaderboard.messages import dispatching
from leaderboard.messages.models import Kind, OutboxMessage
from leaderboard.messages.notices import choose_mails, notify_owner
from leaderboard.messages.outbox import enqueue
from leaderboard.planners.models import Planner
from leaderboard.platform.celery import app
from leaderboard.platform.coordination.locks import exclusive
from leaderboard.queue.leasing import leases
from leaderboard.queue.stopping import enqueue_reconcile
from tests.leaderboard.factories import make_evaluation
from tests.leaderboard.threads import in_threads

MAIL = {"to": "ada@example.org", "subject": "Hello", "text": "A text."}


class Postman:
    """Takes messages instead of the senders; `problem` is what it raises."""

    def __init__(self) -> None:
        self.taken: list[OutboxMessage] = []
        self.problem: Exception | None = None
        self.meanwhile = lambda: None

    def __call__(self, message: OutboxMessage) -> None:
        self.meanwhile()
        if self.problem:
            raise self.problem
        self.taken.append(message)


@pytest.fixture
def postman(monkeypatch) -> Postman:
    made = Postman()
    monkeypatch.setattr(dispatching, "send", made)
    return made


def make_due() -> None:
    OutboxMessage.objects.update(available_at=timezone.now())


@pytest.mark.django_db
class TestSending:
    def test_what_is_due_is_sent_once_mails_before_webhooks(self, postman):
        enqueue(kind=Kind.WEBHOOK, payload={})
        enqueue(kind=Kind.MAIL, payload=MAIL)
        assert (dispatching.dispatch(), dispatching.dispatch()) == (2, 0)
        assert [message.kind for message in postman.taken] == [Kind.MAIL, Kind.WEBHOOK]
        assert postman.taken[0].payload == MAIL
        assert not OutboxMessage.objects.filter(sent_at=None).exists()

    def test_a_message_goes_with_its_transaction(self, postman):
        with transaction.atomic():
            enqueue(kind=Kind.MAIL, payload=MAIL)
            transaction.set_rollback(True)
        assert dispatching.dispatch() == 0

    def test_what_was_not_taken_waits_longer_each_time(self, postman):
        enqueue(kind=Kind.MAIL, payload=MAIL)
        postman.problem = ConnectionError("no server")
        waits = []
        for _ in range(3):
            make_due()
            dispatching.dispatch()
            message = OutboxMessage.objects.get()
            waits.append(round((message.available_at - timezone.now()).total_seconds()))
        assert waits == [5, 10, 20]
        assert "ConnectionError: no server" in message.last_error
        assert dispatching.dispatch() == 0
        postman.problem = None
        make_due()
        assert dispatching.dispatch() == 1

    def test_one_message_that_fails_keeps_none_of_the_others_waiting(self, monkeypatch):
        def refuse_first(message: OutboxMessage) -> None:
            if message.payload["to"] == "first":
                raise RuntimeError("a defect")

        monkeypatch.setattr(dispatching, "send", refuse_first)
        for to in ("first", "second", "third"):
            enqueue(kind=Kind.MAIL, payload={**MAIL, "to": to})
        assert dispatching.dispatch() == 2

    @pytest.mark.parametrize("end", [SoftTimeLimitExceeded, KeyboardInterrupt])
    def test_the_end_of_a_process_leaves_its_message_to_the_next_and_is_no_failure(self, postman, end):
        enqueue(kind=Kind.MAIL, payload=MAIL)
        postman.problem = end()
        with pytest.raises(end):
            dispatching.dispatch()
        message = OutboxMessage.objects.get()
        assert (message.last_error, message.sent_at) == ("", None)
        postman.problem = None
        assert dispatching.dispatch() == 0, "it may be sending still"
        make_due()
        assert dispatching.dispatch() == 1

    @pytest.mark.parametrize("age", [None, timedelta(days=3)])
    def test_what_can_never_be_sent_or_was_tried_for_too_long_is_given_up_and_logged(self, postman, caplog, age):
        enqueue(kind=Kind.MAIL, payload=MAIL)
        postman.problem = ConnectionError("no server") if age else dispatching.PermanentError("the address is gone")
        if age:
            OutboxMessage.objects.update(created=timezone.now() - age)
        dispatching.dispatch()
        make_due()
        postman.problem = None
        assert dispatching.dispatch() == 0
        message = OutboxMessage.objects.get()
        assert message.given_up_at is not None
        assert message.last_error in caplog.text

    def test_what_is_asked_for_again_while_it_is_sent_is_sent_again(self, postman):
        enqueue(kind=Kind.MAIL, payload=MAIL, dedup_key="x")

        def ask_again() -> None:
            postman.meanwhile = lambda: None
            enqueue(kind=Kind.MAIL, payload=MAIL, dedup_key="x")

        postman.meanwhile = ask_again
        assert dispatching.dispatch() == 2
        assert len(postman.taken) == 2
        assert OutboxMessage.objects.count() == 1

    def test_of_the_same_request_only_one_waits(self, postman):
        for _ in range(3):
            enqueue(kind=Kind.MAIL, payload=MAIL, dedup_key="x")
        assert dispatching.dispatch() == 1
        enqueue(kind=Kind.MAIL, payload=MAIL, dedup_key="x")
        with pytest.raises(IntegrityError), transaction.atomic():
            OutboxMessage.objects.create(kind=Kind.MAIL, payload={}, dedup_key="x")

    def test_old_messages_are_deleted_and_waiting_ones_are_not(self):
        long_ago = timezone.now() - timedelta(days=40)
        for times in (
            {"sent_at": long_ago},
            {"given_up_at": long_ago},
            {"sent_at": timezone.now()},
            {"created": long_ago},
        ):
            OutboxMessage.objects.create(kind=Kind.MAIL, payload=MAIL, **times)
        assert (dispatching.prune(), OutboxMessage.objects.count()) == (2, 2)

    def test_while_one_process_sends_the_others_leave_it_to_that_one(self, postman):
        enqueue(kind=Kind.MAIL, payload=MAIL)
        with exclusive(dispatching.SENDER, lasting=timedelta(minutes=1)):
            assert dispatching.dispatch() == 0
        assert dispatching.dispatch() == 1

    def test_a_dispatch_ends_before_celery_ends_it(self, postman, monkeypatch):
        monkeypatch.setattr(dispatching, "_BUDGET_SECONDS", 0.0)
        enqueue(kind=Kind.MAIL, payload=MAIL)
        assert dispatching.dispatch() == 0
        assert dispatching._BUDGET_SECONDS + dispatching.WEBHOOK_SECONDS < settings.CELERY_TASK_SOFT_TIME_LIMIT
        # Nor is a mail server that says nothing waited for.
        assert timedelta() < timedelta(seconds=settings.EMAIL_TIMEOUT) < dispatching.CLAIM


@pytest.mark.django_db(transaction=True)
class TestCommit:
    def test_celery_learns_of_messages_and_of_steps_with_the_commit_and_not_before(self, celery_messages):
        evaluation = make_evaluation()
        celery_messages.clear()
        with transaction.atomic():
            enqueue_reconcile(evaluation.pk)
            enqueue(kind=Kind.MAIL, payload=MAIL)
            assert celery_messages == []
        assert celery_messages == [("reconcile_evaluation", str(evaluation.pk)), ("dispatch",)]
        assert OutboxMessage.objects.count() == 1

    @pytest.mark.parametrize("problem", [OperationalError("no broker"), OSError("no broker"), KeyError("a defect")])
    def test_a_broker_that_is_away_fails_no_request(self, postman, monkeypatch, caplog, problem):
        def away(*_, **__):
            raise problem

        monkeypatch.setattr(app, "send_task", away)
        make_evaluation()
        enqueue(kind=Kind.MAIL, payload=MAIL)
        assert problem.args[0] in caplog.text
        assert dispatching.dispatch() == 1

    def test_many_processes_at_once_send_every_message_once(self, postman):
        for number in range(20):
            OutboxMessage.objects.create(kind=Kind.MAIL, payload={**MAIL, "subject": str(number)})

        assert in_threads(dispatching.dispatch, count=4) == []
        dispatching.dispatch()
        assert sorted(int(message.payload["subject"]) for message in postman.taken) == list(range(20))


@pytest.mark.django_db
class TestOwners:
    @pytest.fixture
    def evaluation(self, settings):
        settings.SITE_URL = "https://arena.example.org"
        return make_evaluation()

    def fail(self, evaluation) -> bool:
        return advance(
            evaluation, target=EvaluationState.FAILED, reason=EvaluationReason.NO_WORKER, facts={"hours": 24}
        )

    def test_the_owner_of_an_evaluation_that_failed_gets_one_mail(self, evaluation):
        assert self.fail(evaluation)
        assert not self.fail(evaluation)
        dispatching.dispatch()
        (sent,) = mail.outbox
        assert sent.to == [evaluation.submission.submitted_by.email]
        assert "no worker took its tasks" in sent.body
        assert f"https://arena.example.org/evaluations/{evaluation.pk}/" in sent.body
        assert sent.extra_headers["Message-ID"]

    def test_its_mail_says_in_the_subject_what_happened_and_is_text_and_html(self, evaluation):
        Planner.objects.filter(pk=evaluation.submission.planner_id).update(name="<me>")
        assert self.fail(evaluation)
        dispatching.dispatch()
        (sent,) = mail.outbox
        assert sent.subject == f"<me> on {evaluation.suite.title} failed"
        ((html, kind),) = sent.alternatives
        assert kind == "text/html"
        assert "&lt;me&gt; on" in html
        assert ">Open the evaluation</a>" in html
        assert "Choose which emails you get" in html

    def test_the_mail_about_a_completed_one_gives_its_score(self, evaluation):
        column = evaluation.suite.ranking_column
        choose_mails(user=evaluation.submission.submitted_by, mails="ended")
        summary = {"metrics": {column.key: {"mean": 0.5, "low": 0.4, "high": 0.6, "tasks": 30}}}
        with transaction.atomic():
            Evaluation.objects.filter(pk=evaluation.pk).update(state="completed", summary=summary, state_deadline=None)
            notify_owner(
                Entered(evaluation_id=evaluation.pk, state=EvaluationState.COMPLETED, reason=EvaluationReason.PUBLISHED)
            )
        dispatching.dispatch()
        assert f"{column.label}: 0.500 (95 % interval 0.400 to 0.600)." in mail.outbox[0].body

    def test_no_mail_goes_out_where_the_operator_wants_none_or_nobody_needs_to_act(self, evaluation, settings):
        evaluation.state = EvaluationState.LAUNCHING
        evaluation.save()
        assert leases.lease(worker="w") is not None
        assert not OutboxMessage.objects.exists()
        settings.MAIL_OWNERS = False
        assert self.fail(make_evaluation())
        assert not OutboxMessage.objects.filter(kind=Kind.MAIL).exists()

    @pytest.mark.parametrize(("choice", "failed", "completed"), [("none", 0, 0), ("needed", 1, 0), ("ended", 1, 1)])
    def test_everybody_chooses_of_what_they_get_mails(self, evaluation, choice, failed, completed):
        choose_mails(user=evaluation.submission.submitted_by, mails=choice)
        done = make_evaluation(user=evaluation.submission.submitted_by)
        assert self.fail(evaluation)
        with transaction.atomic():
            Evaluation.objects.filter(pk=done.pk).update(state="completed", summary={}, state_deadline=None)
            event = Entered(evaluation_id=done.pk, state=EvaluationState.COMPLETED, reason=EvaluationReason.PUBLISHED)
            notify_owner(event)
        dispatching.dispatch()
        assert len([sent for sent in mail.outbox if "failed" in sent.subject]) == failed
        assert len([sent for sent in mail.outbox if "is complete" in sent.subject]) == completed
        assert all("https://arena.example.org/webhooks/" in sent.body for sent in mail.outbox)
