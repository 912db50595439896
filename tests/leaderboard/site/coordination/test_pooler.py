"""The site through a pooler that gives every transaction another connection, as PgBouncer in transaction mode does."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.db import connection, connections, transaction
from django.db.utils import load_backend

from leaderboard.accounts.locks import lock_owner
from leaderboard.accounts.models import User
from leaderboard.backups.losses import losses
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.notifications import dispatching
from leaderboard.notifications.models import Kind, OutboxMessage
from leaderboard.notifications.outbox import enqueue
from leaderboard.pages import live
from leaderboard.queue import reconcile
from leaderboard.site.coordination.services import exclusive
from tests.fakes.transaction_pooler import pooling
from tests.leaderboard.factories import make_evaluation, make_user
from tests.leaderboard.threads import in_threads

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def settings_through(settings_dict: dict) -> Iterator[None]:
    """Let this thread's connection be one with these settings."""
    before = connections["default"]
    pooled = load_backend(settings_dict["ENGINE"]).DatabaseWrapper(settings_dict, "default")
    connections["default"] = pooled
    try:
        yield
    finally:
        pooled.close()
        connections["default"] = before


@pytest.fixture
def pooled(db):
    """Django's settings of a connection through the pooler."""
    found = connection.settings_dict
    with pooling(host=found["HOST"], port=int(found["PORT"] or 5432)) as pooler:
        yield {**found, "HOST": "127.0.0.1", "PORT": str(pooler.port), "OPTIONS": {"sslmode": "disable"}}


@pytest.fixture
def through_pooler(pooled):
    with settings_through(pooled):
        yield


def test_the_pooler_of_these_tests_loses_what_belongs_to_a_session(through_pooler):
    backends = set()
    with connection.cursor() as cursor:
        for _ in range(4):
            cursor.execute("SELECT pg_backend_pid()")
            backends.add(cursor.fetchone())
        assert len(backends) > 1
        # What locks were made of before: nobody holds this one at its end, says the connection that is asked then.
        cursor.execute("SELECT pg_try_advisory_lock(1)")
        cursor.execute("SELECT pg_advisory_unlock(1)")
        assert cursor.fetchone() == (False,)


def test_one_process_at_a_time_has_a_lease(through_pooler):
    with exclusive("work", lasting=timedelta(minutes=1)) as first:
        assert first is not None
        for _ in range(4):
            with exclusive("work", lasting=timedelta(minutes=1)) as second:
                assert second is None
        with exclusive("other work", lasting=timedelta(minutes=1)) as other:
            assert other is not None
    for _ in range(4):
        with exclusive("work", lasting=timedelta(minutes=1)) as again:
            assert again is not None


def test_of_many_at_once_one_gets_the_lease(pooled):
    taken = []

    def work():
        with settings_through(pooled):
            context = exclusive("work", lasting=timedelta(minutes=1))
            if context.__enter__() is not None:
                taken.append(context)

    assert in_threads(work, count=6) == []
    assert len(taken) == 1


def test_every_sweep_has_its_turn(through_pooler, launcher):
    evaluation = make_evaluation()
    for _ in range(5):
        assert reconcile.sweep() == 1
    assert Evaluation.objects.get(pk=evaluation.pk).state == EvaluationState.LAUNCHING


def test_messages_are_sent_by_every_dispatch(through_pooler, mailoutbox):
    for number in range(4):
        enqueue(kind=Kind.MAIL, payload={"to": "a@example.org", "subject": str(number), "text": "A text."})
        dispatching.dispatch()
    assert sorted(mail.subject for mail in mailoutbox) == ["0", "1", "2", "3"]
    assert not OutboxMessage.objects.filter(sent_at=None).exists()


def test_rows_are_read_piece_by_piece_without_a_cursor_on_the_server(through_pooler):
    for _ in range(3):
        make_user()
    assert len(list(User.objects.iterator(chunk_size=1))) == 3
    assert losses() == []


def test_locks_of_a_transaction_hold_until_its_end(pooled, through_pooler):
    user = make_user()
    with transaction.atomic():
        lock_owner(user)

        def other():
            with settings_through(pooled), transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("SET LOCAL lock_timeout = '200ms'")
                lock_owner(user)

        (error,) = in_threads(other, count=1)
    assert "lock timeout" in str(error)


def heard(*, seconds: float) -> bool:
    """Whether a hub of live events is ready within so many seconds."""

    async def listen() -> bool:
        hub = live.Hub()
        queue = await hub.subscribe("x")
        try:
            await asyncio.wait_for(hub._listening.wait(), timeout=seconds)
        except TimeoutError:
            return False
        finally:
            hub.unsubscribe(evaluation_id="x", queue=queue)
        return True

    return asyncio.run(listen())


def test_a_listener_that_hears_nothing_says_which_setting_is_missing(pooled, monkeypatch, caplog):
    # An event loop has a connection of its own.
    monkeypatch.setitem(connections.settings, "default", pooled)
    monkeypatch.setattr(live, "_PROBE_SECONDS", 0.3)
    with caplog.at_level(logging.ERROR):
        assert not heard(seconds=1)
    assert "set DATABASE_DIRECT_URL" in caplog.text


def test_live_events_go_past_the_pooler(pooled, settings, monkeypatch):
    direct = connection.settings_dict
    monkeypatch.setitem(connections.settings, "default", pooled)
    settings.DIRECT_DATABASE = {name: direct[name] for name in ("NAME", "USER", "PASSWORD", "HOST", "PORT")}
    assert heard(seconds=5)


def test_a_killed_holder_keeps_others_away_no_longer_than_its_lease(through_pooler):
    context = exclusive("work", lasting=timedelta(seconds=0.2))
    assert context.__enter__() is not None
    with exclusive("work", lasting=timedelta(minutes=1)) as early:
        assert early is None
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(0.25)")
    with exclusive("work", lasting=timedelta(minutes=1)) as late:
        assert late is not None
        assert late.renew()


def test_who_took_too_long_and_was_replaced_learns_so_and_frees_nothing(through_pooler):
    minute = timedelta(minutes=1)
    with exclusive("work", lasting=timedelta()) as slow, exclusive("work", lasting=minute) as next_one:
        assert next_one is not None
        assert not slow.renew()
        slow.release()
        with exclusive("work", lasting=minute) as third:
            assert third is None


def test_a_renewed_lease_lasts_its_full_length_again(through_pooler, monkeypatch):
    monkeypatch.setattr("leaderboard.site.coordination.services._RENEW_AFTER", 0)
    with exclusive("work", lasting=timedelta(seconds=0.4)) as hold:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(0.3)")
            assert hold.renew()
            cursor.execute("SELECT pg_sleep(0.2)")
        with exclusive("work", lasting=timedelta(minutes=1)) as other:
            assert other is None


def test_a_database_that_is_away_at_the_end_hides_no_error_of_the_work(through_pooler):
    def work():
        with exclusive("work", lasting=timedelta(minutes=1)):
            connection.close()
            connection.settings_dict["PORT"] = "1"
            raise ValueError("of the work")

    with pytest.raises(ValueError, match="of the work"):
        work()
