"""When tasks and backups were last done."""

import time

import pytest
from celery import signals
from django.conf import settings
from django.utils.module_loading import import_string

from leaderboard.backups import services
from leaderboard.monitoring import moments
from leaderboard.queue.tasks import reconcile_evaluation, sweep

pytestmark = pytest.mark.django_db
SCHEDULE = settings.CELERY_BEAT_SCHEDULE
SWEEP = SCHEDULE["sweep"]["task"]


@pytest.fixture(autouse=True)
def _nothing_noted(monkeypatch):
    monkeypatch.setattr(moments, "_noted", {})


def figures() -> dict[tuple[str, str], float]:
    return {(s.name, s.labels.get("task", "")): s.value for family in moments.moment_figures() for s in family.samples}


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
        moments.note_task(SWEEP, clock=lambda: now[0])
        moments.note_task(SWEEP, clock=lambda: now[0])
    now[0] += 5
    with django_assert_num_queries(1):
        moments.note_task(SWEEP, clock=lambda: now[0])


def test_a_whole_backup_is_noted(tmp_path):
    before = time.time()
    services.backed_up.call(tmp_path)
    services.backed_up.call(tmp_path)
    assert before - 60 < figures()["planarena_backup_last_success_timestamp_seconds", ""] < time.time() + 60
