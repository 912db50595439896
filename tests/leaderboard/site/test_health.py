"""What probes ask."""

import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import pytest
from django.db import DatabaseError, connection
from django.test import Client

from leaderboard.site import healthcheck
from leaderboard.site.health import ALIVE_FILE, alive_file
from leaderboard.wiring import asgi
from leaderboard.wiring.urls import urlpatterns
from tests.leaderboard.serving import server


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
    from leaderboard.site.celery import SignOfLife, app

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


@pytest.mark.parametrize(("status", "code"), [(200, 0), (503, 1), (None, 1)])
def test_the_images_healthcheck_asks_by_a_name_of_the_site(status, code, monkeypatch):
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append((self.path, self.headers["Host"]))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *arguments):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    monkeypatch.setenv("PORT", str(server.server_port))
    monkeypatch.setenv("PLANARENA_ALLOWED_HOSTS", "arena.example, other.example")
    if status is None:
        server.server_close()
    else:
        threading.Thread(target=server.handle_request, daemon=True).start()
    assert healthcheck.main() == code
    assert asked == ([("/health/live", "arena.example")] if status else [])
    server.server_close()


def test_probes_are_answered_while_all_threads_of_the_site_are_busy(settings):
    settings.KEEP_PAGES_SECONDS = 0
    go_on = threading.Event()
    busy = [asgi._site._threads.submit(go_on.wait, 30) for _ in range(settings.REQUESTS_AT_ONCE)]
    try:
        with server() as url, httpx.Client(base_url=url, trust_env=False, timeout=20) as client:
            assert client.get("/health/live").text == "alive\n"
    finally:
        go_on.set()
    assert all(one.result() for one in busy)
