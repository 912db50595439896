"""Hosts whose clocks are minutes apart: only the database's time counts for what one writes and another compares."""

from datetime import timedelta

import pytest
from django.utils import timezone

from leaderboard.evaluations import states
from leaderboard.evaluations.models import Attempt, AttemptState, Evaluation, EvaluationState, Shard
from leaderboard.messages import dispatching
from leaderboard.messages.models import Kind
from leaderboard.messages.outbox import enqueue
from leaderboard.platform.database import database_now
from leaderboard.queue.leasing import leases
from leaderboard.queue.reconcile import reconcile, sweep
from tests.leaderboard.factories import make_evaluation, make_lease
from tests.leaderboard.queue.verifying import completed_own, rerun_of

pytestmark = [pytest.mark.django_db, pytest.mark.parametrize("ahead", [300, -300])]


@pytest.fixture
def on_another_host(monkeypatch, ahead):
    """From now on this process is on a host whose clock is minutes off; called again, it is on the first one."""
    right = timezone.now

    def move(back: bool = False) -> None:
        monkeypatch.setattr(timezone, "now", right if back else lambda: right() + timedelta(seconds=ahead))

    return move


def test_an_attempt_lives_as_long_whoever_leases_beats_and_looks(launcher, on_another_host):
    evaluation, other = (make_evaluation(state=EvaluationState.LAUNCHING) for _ in range(2))
    lease = make_lease(evaluation)
    on_another_host()
    make_lease(other)
    reconcile(evaluation.pk)
    leases.heartbeat(lease.attempt.pk)
    on_another_host(back=True)
    for one in (evaluation, other):
        reconcile(one.pk)
    assert set(Attempt.objects.values_list("state", flat=True)) == {AttemptState.LIVE}
    remaining = Attempt.objects.get(pk=lease.attempt.pk).expires_at - database_now()
    assert timedelta(seconds=50) < remaining <= timedelta(seconds=60)
    Attempt.objects.update(expires_at=database_now() - timedelta(seconds=1))
    on_another_host()
    reconcile(evaluation.pk)
    assert Attempt.objects.get(pk=lease.attempt.pk).state == AttemptState.LOST


def test_a_shard_waits_as_long_as_it_was_told(launcher, on_another_host):
    evaluation = make_evaluation(state=EvaluationState.LAUNCHING)
    on_another_host()
    leases.give_up(attempt_id=make_lease(evaluation).attempt.pk, how=leases.GivenUp.REFUSED, detail="x")
    on_another_host(back=True)
    assert leases.lease(worker="w") is None
    assert timedelta(seconds=20) < Shard.objects.get().available_at - database_now() <= timedelta(seconds=30)
    Shard.objects.update(available_at=database_now())
    on_another_host()
    assert leases.lease(worker="w") is not None


def test_deadlines_are_the_same_for_all(launcher, on_another_host):
    on_another_host()
    evaluation = make_evaluation()
    sweep()
    make_lease(evaluation)
    evaluation.refresh_from_db()
    lasts = states.DEADLINES[EvaluationState.RUNNING]
    assert lasts is not None
    assert abs(evaluation.state_deadline - database_now() - lasts) < timedelta(seconds=60)
    Evaluation.runs.update(state_deadline=database_now() + timedelta(seconds=30))
    sweep()
    evaluation.refresh_from_db()
    assert evaluation.state == EvaluationState.RUNNING
    Evaluation.runs.update(state_deadline=database_now())
    sweep()
    evaluation.refresh_from_db()
    assert evaluation.state == EvaluationState.FAILED


def test_a_message_is_sent_at_once_by_either_and_never_by_both(monkeypatch, on_another_host):
    sent = []
    monkeypatch.setattr(dispatching, "send", sent.append)
    on_another_host()
    enqueue(kind=Kind.MAIL, payload={})
    on_another_host(back=True)
    assert dispatching.dispatch() == 1

    def die(message):
        raise KeyboardInterrupt

    enqueue(kind=Kind.MAIL, payload={})
    monkeypatch.setattr(dispatching, "send", die)
    with pytest.raises(KeyboardInterrupt):
        dispatching.dispatch()
    on_another_host()
    monkeypatch.setattr(dispatching, "send", sent.append)
    assert dispatching.dispatch() == 0, "the other host may be sending it"


def test_a_verification_is_due_at_once_whichever_host_began_it(launcher, on_another_host, settings, tmp_path):
    settings.STORE_DIR = tmp_path / "store"
    on_another_host()
    own = completed_own()
    again = rerun_of(own)
    assert abs(again.state_since - database_now()) < timedelta(seconds=60)
    assert not again.shards.filter(available_at__gt=database_now()).exists()
