"""What probes ask."""

import os
import subprocess
import sys

import pytest
from django.db import DatabaseError, connection
from django.test import Client

from leaderboard.config.health import ALIVE_FILE, alive_file
from leaderboard.config.urls import urlpatterns


def test_the_process_is_alive_without_a_database():
    assert Client().get("/health/live").status_code == 200
    assert any(getattr(one, "name", "") == "ready" for one in urlpatterns)


@pytest.mark.django_db
def test_it_is_ready_while_the_database_answers(monkeypatch):
    assert Client().get("/health/ready").status_code == 200

    def away():
        raise DatabaseError("it is away")

    monkeypatch.setattr(connection, "cursor", away)
    assert Client().get("/health/ready").status_code == 503


def test_the_sign_of_life_is_a_file(tmp_path, monkeypatch):
    monkeypatch.delenv(ALIVE_FILE, raising=False)
    alive_file()()
    monkeypatch.setenv(ALIVE_FILE, str(tmp_path / "alive"))
    alive_file()()
    assert (tmp_path / "alive").exists()


def test_the_celery_worker_gives_it(monkeypatch, tmp_path):
    from leaderboard.config.celery import SignOfLife, app

    assert SignOfLife in app.steps["worker"]
    monkeypatch.setenv(ALIVE_FILE, str(tmp_path / "alive"))

    class Worker:
        class timer:
            @staticmethod
            def call_repeatedly(seconds, call):
                call()

    SignOfLife(Worker()).start(Worker())
    assert (tmp_path / "alive").exists()


def test_nobody_loads_the_kubernetes_client_who_does_not_use_it():
    code = "import gpu_jobs.launchers, gpu_jobs.__main__, sys; raise SystemExit('kubernetes' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env=os.environ, check=False).returncode == 0
