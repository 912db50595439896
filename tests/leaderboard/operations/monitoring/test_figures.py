"""Figures of tasks, backups, volumes, the pool of connections and messages that wait."""

import os
import shutil
import time
from collections import namedtuple
from datetime import timedelta

import psycopg_pool
import pytest
from celery import signals
from django.conf import settings
from django.utils import timezone
from django.utils.module_loading import import_string
from prometheus_client import generate_latest

from leaderboard.messages.models import OutboxMessage
from leaderboard.operations.backups import services
from leaderboard.operations.monitoring import facts
from leaderboard.operations.monitoring.figures import broker_figures, moment_figures, outbox_figures, space_figures
from leaderboard.operations.monitoring.requests import REGISTRY, PoolWatch
from leaderboard.platform.celery import app
from leaderboard.queue.tasks import reconcile_evaluation, sweep
from tests.redis_server import redis_server

pytestmark = pytest.mark.django_db

SCHEDULE = settings.CELERY_BEAT_SCHEDULE
SWEEP = SCHEDULE["sweep"]["task"]


@pytest.fixture(autouse=True)
def _nothing_noted(monkeypatch):
    monkeypatch.setattr(facts, "_noted", {})


def figures() -> dict[tuple[str, str], float]:
    return {(s.name, s.labels.get("task", "")): s.value for family in moment_figures() for s in family.samples}


def test_a_periodic_task_that_ends_well_is_noted_and_no_other():
    assert [import_string(entry["task"]).name for entry in SCHEDULE.values()] == [
        one["task"] for one in SCHEDULE.values()
    ]
    never = figures()
    assert never["planarena_backup_last_success_timestamp_seconds", ""] == 0
    assert not [name for name, _ in never if name == "planarena_task_last_success_timestamp_seconds"]
    assert {task for name, task in never if name == "planarena_task_interval_seconds"} == set(SCHEDULE)
    assert never["planarena_task_interval_seconds", "sweep"] == 15
    before = time.time()
    signals.task_success.send(sender=sweep, result=None)
    signals.task_success.send(sender=reconcile_evaluation, result=None)
    times = {
        task: at for (name, task), at in figures().items() if name == "planarena_task_last_success_timestamp_seconds"
    }
    assert list(times) == ["sweep"]
    assert before - 60 < times["sweep"] < time.time() + 60


def test_a_process_notes_a_task_at_most_every_few_seconds(django_assert_num_queries):
    now = [100.0]
    with django_assert_num_queries(1):
        facts.note_task(SWEEP, clock=lambda: now[0])
        facts.note_task(SWEEP, clock=lambda: now[0])
    now[0] += 5
    with django_assert_num_queries(1):
        facts.note_task(SWEEP, clock=lambda: now[0])


def test_a_whole_backup_is_noted(tmp_path):
    before = time.time()
    services.backed_up.call(tmp_path)
    services.backed_up.call(tmp_path)
    assert before - 60 < figures()["planarena_backup_last_success_timestamp_seconds", ""] < time.time() + 60


Usage = namedtuple("Usage", "total used free")


def test_volumes_are_those_of_the_folders_even_before_a_folder_is_made(settings, monkeypatch, tmp_path):
    settings.STORE_DIR = tmp_path / "not" / "yet"
    asked = []
    monkeypatch.setattr(shutil, "disk_usage", lambda path: asked.append(path) or Usage(1000, 900, 60))
    found = {(s.name, s.labels["volume"]): s.value for family in space_figures() for s in family.samples}
    assert found["planarena_volume_free_bytes", "store"] == 60
    assert found["planarena_volume_size_bytes", "store"] == 1000
    assert {volume for _, volume in found} == {"data", "store", "uploads"}
    assert tmp_path in asked


@pytest.fixture
def shown():
    def value(name: str, **labels) -> float:
        return REGISTRY.get_sample_value(f"planarena_database_{name}", labels) or 0.0

    return value


def test_the_pool_tells_what_is_used_and_who_waits(shown):
    watch, timeouts, waited = PoolWatch(), shown("timeouts_total"), shown("wait_seconds_total")
    watch.note({"pool_size": 6, "pool_available": 2, "pool_max": 10, "requests_waiting": 3, "requests_wait_ms": 500})
    assert (shown("connections", state="used"), shown("connections", state="idle")) == (4, 2)
    assert (shown("connections_max"), shown("waiting")) == (10, 3)
    assert shown("wait_seconds_total") == waited + 0.5
    watch.note({"pool_size": 1, "pool_max": 10, "requests_wait_ms": 750, "requests_errors": 2})
    assert (shown("connections", state="used"), shown("connections", state="idle"), shown("waiting")) == (1, 0, 0)
    assert (shown("timeouts_total"), shown("wait_seconds_total")) == (timeouts + 2, waited + 0.75)
    # Opened again: it counts from 0, and these counters do not fall.
    watch.note({"pool_size": 1, "pool_max": 10, "requests_errors": 1})
    assert shown("timeouts_total") == timeouts + 2
    assert b"planarena_database_waiting 0.0" in generate_latest(REGISTRY)


def test_the_statistics_of_the_pool_have_these_names():
    with psycopg_pool.ConnectionPool("host=127.0.0.1 port=1", min_size=1, max_size=7) as pool:
        with pytest.raises(psycopg_pool.PoolTimeout):
            pool.getconn(timeout=0.05)
        stats = pool.get_stats()
    assert {"pool_size", "pool_available", "pool_max", "requests_waiting", "requests_wait_ms"} <= set(stats)
    assert stats["requests_errors"] == 1


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
            past.setattr("leaderboard.platform.celery.time.time", lambda now=time.time: now() - 300)
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
