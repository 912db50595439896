"""The site through a pooler that gives every transaction another connection, as PgBouncer in transaction mode does."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.db import connection, connections, transaction
from django.db.models.functions import Now
from django.db.utils import load_backend

from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.evaluations.web import live
from leaderboard.messages import dispatching
from leaderboard.messages.models import Kind
from leaderboard.messages.outbox import enqueue
from leaderboard.operations.backups.objects import losses
from leaderboard.people.models import User, lock_owner
from leaderboard.platform.coordination.locks import exclusive
from leaderboard.platform.models import Lease
from leaderboard.queue import reconcile
from tests.fakes.transaction_pooler import pooling
from tests.leaderboard.factories import make_evaluation, make_user
from tests.leaderboard.threads import in_threads

pytestmark = pytest.mark.django_db(transaction=True)
MINUTE = timedelta(minutes=1)


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


def test_of_many_at_once_one_gets_the_lease(pooled):
    taken = []

    def work():
        with settings_through(pooled):
            context = exclusive("work", lasting=MINUTE)
            if context.__enter__() is not None:
                taken.append(context)

    assert in_threads(work, count=6) == []
    assert len(taken) == 1


def test_sweeps_and_dispatches_have_their_turn_every_time(through_pooler, launcher, mailoutbox):
    evaluation = make_evaluation()
    for number in range(4):
        enqueue(kind=Kind.MAIL, payload={"to": "a@example.org", "subject": str(number), "text": "A text."})
        dispatching.dispatch()
        assert reconcile.sweep() == 1
    assert sorted(mail.subject for mail in mailoutbox) == ["0", "1", "2", "3"]
    assert Evaluation.objects.get(pk=evaluation.pk).state == EvaluationState.LAUNCHING


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


def test_a_listener_that_hears_nothing_says_which_setting_is_missing(pooled, monkeypatch):
    # An event loop has a connection of its own.
    monkeypatch.setitem(connections.settings, "default", pooled)
    monkeypatch.setattr(live, "_PROBE_SECONDS", 0.3)
    complaints: list[str] = []

    async def listen() -> None:
        said = asyncio.Event()
        monkeypatch.setattr(live.logger, "error", lambda text, *_: complaints.append(text) or said.set())
        listening = asyncio.create_task(live.Hub()._run())
        await asyncio.wait_for(said.wait(), timeout=60)
        listening.cancel()

    asyncio.run(listen())
    assert "set DATABASE_DIRECT_URL" in complaints[0]


def test_live_events_go_past_the_pooler(pooled, settings, monkeypatch):
    direct = connection.settings_dict
    monkeypatch.setitem(connections.settings, "default", pooled)
    settings.DIRECT_DATABASE = {name: direct[name] for name in ("NAME", "USER", "PASSWORD", "HOST", "PORT")}

    async def listen() -> None:
        hub = live.Hub()
        queue = await hub.subscribe("x")
        await asyncio.wait_for(hub._listening.wait(), timeout=60)
        hub.unsubscribe(evaluation_id="x", queue=queue)

    asyncio.run(listen())


def test_a_lease_keeps_others_away_until_it_lapses_and_lasts_its_full_length_again_when_renewed(
    through_pooler, monkeypatch
):
    monkeypatch.setattr("leaderboard.platform.coordination.locks._RENEW_AFTER", 0)
    killed = exclusive("work", lasting=MINUTE)
    hold = killed.__enter__()
    assert hold is not None
    Lease.objects.update(expires_at=Now() + timedelta(seconds=1))
    assert hold.renew()
    assert Lease.objects.filter(expires_at__gt=Now() + timedelta(seconds=30)).exists()
    for _ in range(4):
        with exclusive("work", lasting=MINUTE) as early, exclusive("other work", lasting=MINUTE) as other:
            assert (early is None, other is None) == (True, False), "and each gives its lease back"
    Lease.objects.update(expires_at=Now())
    with exclusive("work", lasting=MINUTE) as late:
        assert late is not None
        assert late.renew()
        assert not hold.renew()


def test_who_took_too_long_and_was_replaced_learns_so_and_frees_nothing(through_pooler):
    with exclusive("work", lasting=timedelta()) as slow, exclusive("work", lasting=MINUTE) as next_one:
        assert next_one is not None
        assert not slow.renew()
        slow.release()
        with exclusive("work", lasting=MINUTE) as third:
            assert third is None


def test_a_database_that_is_away_at_the_end_hides_no_error_of_the_work(through_pooler):
    def work():
        with exclusive("work", lasting=MINUTE):
            connection.close()
            connection.settings_dict["PORT"] = "1"
            raise ValueError("of the work")

    with pytest.raises(ValueError, match="of the work"):
        work()
