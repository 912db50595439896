"""What Celery does with connections to the database around each task."""

from celery import signals
from celery.fixups.django import DjangoWorkerFixup
from django.db import connection

from leaderboard.site.celery import app


def test_celery_never_ends_the_pool_of_connections_between_tasks(monkeypatch):
    fixup = DjangoWorkerFixup(app)
    ended = []
    monkeypatch.setattr(fixup, "_close_database", lambda: ended.append("ended"))
    for _ in range(100):
        fixup.close_database()
    assert ended == []


def test_a_connection_is_given_back_before_and_after_each_task(db, monkeypatch):
    closed = []
    monkeypatch.setattr(connection, "close_if_unusable_or_obsolete", lambda: closed.append("looked at"))
    for signal in (signals.task_prerun, signals.task_postrun):
        signal.send(sender=None)
    assert closed == ["looked at"] * 2
