"""The audit log: everything that people do is in it, once, and stays."""

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction

from leaderboard.evaluations.models import EvaluationState
from leaderboard.evaluations.visibility import NotPossibleError
from leaderboard.people.services import create_token, revoke_token
from leaderboard.platform.models import Action, AuditEntry
from leaderboard.queue.workers.tokens import create_worker_token, revoke_worker_token
from leaderboard.quotas.services import QuotaExceededError
from leaderboard.submissions import services
from tests.leaderboard.factories import make_evaluation, make_suite, make_user

pytestmark = pytest.mark.django_db


def entries() -> list[tuple[str, str, str]]:
    return list(AuditEntry.objects.order_by("pk").values_list("actor", "action", "target"))


def test_what_an_owner_does_is_told_with_the_state_before_and_after():
    ada = make_user("ada")
    evaluation = make_evaluation(user=ada)
    services.cancel(evaluation, by=ada)
    submitted, cancelled = AuditEntry.objects.order_by("pk")
    assert (submitted.actor, submitted.action) == ("ada", Action.SUBMITTED)
    assert submitted.target == str(evaluation.submission_id)
    assert submitted.details == {"suites": [evaluation.suite.slug], "team": "", "visibility": "public"}
    assert (cancelled.actor_key, cancelled.target) == (ada.pk, str(evaluation.pk))
    assert cancelled.details == {"before": {"state": "queued"}, "after": {"state": "cancelled"}}
    assert cancelled.label == f"{evaluation.submission.planner.name} on {evaluation.suite.title}"


def test_what_is_refused_leaves_no_entry(settings):
    settings.QUOTA_PER_DAY = 1
    ada, suite = make_user("ada"), make_suite()
    evaluation = make_evaluation(user=ada, suite=suite)
    with pytest.raises(QuotaExceededError):
        make_evaluation(user=ada, suite=suite)
    services.cancel(evaluation, by=ada)
    with pytest.raises(NotPossibleError):
        services.cancel(evaluation, by=ada)
    assert [action for _, action, _ in entries()] == [Action.SUBMITTED, Action.CANCELLED]


def test_tokens_are_told_of_without_their_texts():
    ada = make_user("ada")
    token = create_token(user=ada)
    revoke_token(user=ada, token_id=token.id)
    worker = create_worker_token(owner=ada, name="desktop")
    revoke_worker_token(owner=ada, token_id=worker.id)
    assert [action for _, action, _ in entries()] == [
        Action.TOKEN_MADE,
        Action.TOKEN_REVOKED,
        Action.WORKER_TOKEN_MADE,
        Action.WORKER_TOKEN_REVOKED,
    ]
    assert {actor for actor, _, _ in entries()} == {"ada"}
    told = str(list(AuditEntry.objects.values()))
    assert token.token not in told
    assert worker.token not in told


def test_the_command_line_is_told_of_as_nobody_s(launcher):
    ada = make_user("ada")
    evaluation = make_evaluation(user=ada, state=EvaluationState.QUEUED)
    call_command("prioritise", "user", "ada", "3")
    call_command("prioritise", "evaluation", str(evaluation.pk), "10")
    assert entries()[1:] == [
        ("", Action.WEIGHT_SET, str(ada.pk)),
        ("", Action.PRIORITY_SET, str(evaluation.pk)),
    ]
    assert AuditEntry.objects.order_by("pk").last().details == {"before": 0, "after": 10}


def test_the_database_refuses_every_change():
    make_evaluation()
    before = entries()
    for change in (
        lambda: AuditEntry.objects.update(actor="somebody else"),
        lambda: AuditEntry.objects.all().delete(),
        lambda: connection.cursor().execute("UPDATE platform_auditentry SET details = '{}'"),
    ):
        with pytest.raises(IntegrityError, match="only ever added to"), transaction.atomic():
            change()
    assert entries() == before
