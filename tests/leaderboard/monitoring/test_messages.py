"""Figures of messages that wait."""

import os
import time
from datetime import timedelta

import pytest
from django.utils import timezone

from leaderboard.monitoring.messages import broker_figures, outbox_figures
from leaderboard.notifications.models import OutboxMessage
from leaderboard.site.celery import app
from tests.redis_server import redis_server


def samples(figures) -> dict[tuple[str, ...], float]:
    return {(s.name.removeprefix("planarena_"), *s.labels.values()): s.value for f in figures for s in f.samples}


def send(count: int) -> None:
    with app.connection_for_write() as connection:
        for _ in range(count):
            app.send_task("leaderboard.queue.tasks.sweep", connection=connection)


@pytest.mark.django_db
def test_the_outbox_tells_how_many_wait_and_for_how_long():
    now = timezone.now()
    ago = [timedelta(seconds=seconds) for seconds in (0, 100, 400)]
    OutboxMessage.objects.create(kind="mail", payload={}, created=now - ago[2], available_at=now - ago[1])
    OutboxMessage.objects.create(kind="mail", payload={}, created=now - ago[1], available_at=now + ago[1])
    OutboxMessage.objects.create(kind="webhook", payload={}, created=now - ago[2], sent_at=now)
    OutboxMessage.objects.create(kind="webhook", payload={}, created=now, available_at=now + timedelta(hours=1))
    OutboxMessage.objects.create(kind="webhook", payload={}, created=now - ago[2], given_up_at=now)
    found = samples(outbox_figures())
    assert (found["outbox_messages", "mail"], found["outbox_messages", "webhook"]) == (2, 1)
    assert 400 <= found["outbox_oldest_seconds", "mail"] < 460
    assert 100 <= found["outbox_late_seconds", "mail"] < 160
    assert found["outbox_oldest_seconds", "webhook"] < 60
    assert found["outbox_late_seconds", "webhook"] == 0, "it waits for its next try"


def test_a_broker_of_files_knows_when_its_messages_came(file_broker):
    assert samples(broker_figures()) == {("broker_up",): 1, ("broker_messages",): 0, ("broker_oldest_seconds",): 0}
    send(3)
    first = min(file_broker.glob("*.celery.msg"))
    os.utime(first, (time.time() - 300,) * 2)
    found = samples(broker_figures())
    assert found["broker_messages",] == 3
    assert 300 <= found["broker_oldest_seconds",] < 360


def test_redis_tells_by_the_time_that_messages_carry(broker, monkeypatch):
    with redis_server() as url:
        broker(f"{url}/0")
        assert samples(broker_figures()) == {("broker_up",): 1, ("broker_messages",): 0, ("broker_oldest_seconds",): 0}
        with monkeypatch.context() as past:
            past.setattr("leaderboard.site.celery.time.time", lambda now=time.time: now() - 300)
            send(1)
        send(1)
        found = samples(broker_figures())
        assert found["broker_messages",] == 2
        assert 300 <= found["broker_oldest_seconds",] < 360


def test_a_broker_says_what_it_can_tell_and_one_that_is_away_nothing(broker):
    broker("redis://127.0.0.1:9/0")
    assert samples(broker_figures()) == {("broker_up",): 0}
    broker("memory://figures/")
    app.control.purge()
    send(2)
    assert samples(broker_figures()) == {("broker_up",): 1, ("broker_messages",): 2}
    app.control.purge()
