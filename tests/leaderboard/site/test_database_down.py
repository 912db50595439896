"""Requests that meet a database that does not answer, and what Celery does with connections around each task."""

import psycopg
import pytest
from celery import signals
from celery.fixups.django import DjangoWorkerFixup
from django.db import OperationalError, connection, connections
from django.db.backends.postgresql.base import DatabaseWrapper
from django.test import Client

from leaderboard.site.celery import app
from leaderboard.site.database_down import is_database_down
from tests.silent import refusing_port


@pytest.fixture
def lost(monkeypatch):
    """What Django raises where nothing listens, raised by the status page and its API in the middle of their work."""
    with refusing_port() as port:
        place = {**connections.settings["default"], "HOST": "127.0.0.1", "PORT": str(port)}
        with pytest.raises(OperationalError) as caught:
            DatabaseWrapper(place, "lost").ensure_connection()

    def fails():
        raise caught.value

    monkeypatch.setattr("leaderboard.monitoring.views.checked_status", fails)
    monkeypatch.setattr("leaderboard.monitoring.api.checked_status", fails)
    return caught.value


@pytest.mark.django_db
def test_people_and_programs_learn_that_it_is_the_database_and_when_to_come_again(lost):
    client = Client(raise_request_exception=False)
    page, answer = client.get("/status/"), client.get("/api/v1/status/")
    assert (page.status_code, page.headers["Retry-After"]) == (503, "15")
    assert "The site&#x27;s database does not answer" in page.content.decode()
    assert (answer.status_code, answer.json()["code"], answer.headers["Retry-After"]) == (503, "database_down", "15")


@pytest.mark.django_db
def test_errors_of_statements_are_defects_and_no_outage(lost):
    assert is_database_down(lost)
    assert is_database_down(psycopg.errors.AdminShutdown())
    for error in (psycopg.errors.QueryCanceled(), psycopg.errors.DeadlockDetected(), psycopg.errors.UndefinedTable()):
        assert not is_database_down(error)


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
