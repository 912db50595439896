"""What probes ask of the web process, and what everybody learns of a database that does not answer."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import psycopg
import pytest
from celery import signals
from celery.fixups.django import DjangoWorkerFixup
from django.db import OperationalError, connection, connections
from django.db.backends.postgresql.base import DatabaseWrapper
from django.test import Client

from leaderboard.platform import healthcheck, probes
from leaderboard.platform.bounded_check import BoundedCheck
from leaderboard.platform.celery import app
from leaderboard.platform.database import is_database_down
from leaderboard.wiring import asgi
from tests.fakes.serving import in_a_thread
from tests.leaderboard.serving import server
from tests.silent import AWAY, refusing_port


@contextmanager
def database_away(monkeypatch, how):
    """The site's database, for probes and requests, in a place where none is."""
    probes.forget_probes()
    with AWAY[how]() as port, monkeypatch.context() as patched:
        place = {"HOST": "127.0.0.1", "PORT": str(port)}
        patched.setitem(connections.settings, "default", {**connections.settings["default"], **place})
        yield
    probes.forget_probes()


@pytest.fixture
def site():
    """A client of the site as it is served."""
    with server() as url, httpx.Client(base_url=url, trust_env=False, timeout=30) as client:
        yield client


@pytest.mark.django_db(transaction=True)
def test_a_process_lives_while_all_its_threads_are_busy_and_without_a_name(site, settings):
    go_on = threading.Event()
    busy = [asgi._site._threads.submit(go_on.wait, 30) for _ in range(settings.REQUESTS_AT_ONCE)]
    try:
        answer = site.get("/health/live", headers={"Host": "10.0.0.7"})
        assert (answer.status_code, answer.text) == (200, "alive\n")
        assert answer.headers["Cache-Control"] == "no-store"
        assert site.head("/health/live").content == b""
        # Why they are busy can be read meanwhile.
        settings.METRICS_TOKEN = "the-token-of-these-tests"
        for path in ("/status/", "/api/v1/status/", "/metrics"):
            headers = {"Authorization": f"Bearer {settings.METRICS_TOKEN}"} if path == "/metrics" else {}
            assert site.get(path, headers=headers).status_code == 200
    finally:
        go_on.set()
    assert all(one.result() for one in busy)


@pytest.mark.django_db
@pytest.mark.parametrize("how", AWAY)
def test_a_database_that_is_away_costs_one_thread_and_no_liveness(site, monkeypatch, how):
    with database_away(monkeypatch, how), ThreadPoolExecutor(20) as callers:
        asked = [callers.submit(site.get, "/health/ready?disks=0") for _ in range(20)]
        assert site.get("/health/live").text == "alive\n"
        answers = [one.result() for one in asked]
        assert {answer.status_code for answer in answers} == {503}
        assert all(answer.text.startswith("no database: ") for answer in answers)
        assert len([one for one in threading.enumerate() if one.name == "database-probe"]) <= 1
        assert Client().get("/health/ready").status_code == 503
    assert site.get("/health/ready").text == "ready\n"


@pytest.mark.django_db
def test_a_server_that_is_replaced_is_found_again(site):
    assert site.get("/health/ready").status_code == 200
    with connections["default"].cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND datname = current_database()"
        )
    site.get("/health/ready")
    assert site.get("/health/ready").text == "ready\n"


def test_a_check_that_hangs_is_asked_once_and_nobody_waits_for_it_twice():
    answer, began = threading.Event(), []

    def hangs():
        began.append(1)
        answer.wait(30)
        return "an answer"

    check = BoundedCheck(hangs, name="hangs", deadline=0.05, late="late", keep=lambda: 0)
    assert [check.result() for _ in range(5)] == ["late"] * 5
    assert len(began) == 1
    future = check._future
    answer.set()
    assert future is not None
    assert future.result(timeout=30) == "an answer"
    slow = BoundedCheck(lambda: "an answer", name="answers", deadline=30, late="late", keep=lambda: 0)
    assert slow.result() == "an answer"


def test_the_images_healthcheck_asks_whether_the_process_lives(monkeypatch):
    asked, statuses = [], iter([200, 503])

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(next(statuses))
            self.end_headers()

        def log_message(self, *arguments):
            pass

    listening = HTTPServer(("127.0.0.1", 0), Handler)
    monkeypatch.setenv("PORT", str(listening.server_port))
    with in_a_thread(listening):
        codes = [healthcheck.main() for _ in range(2)]
    assert ([*codes, healthcheck.main()], asked) == ([0, 1, 1], ["/health/live"] * 2)


def test_the_chart_s_test_asks_another_process_for_several_paths():
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append((self.path, self.headers["X-Forwarded-Proto"]))
            self.send_response(404 if self.path == "/away" else 200)
            self.end_headers()

        def log_message(self, *arguments):
            pass

    with in_a_thread(HTTPServer(("127.0.0.1", 0), Handler)) as url:
        assert healthcheck.main([f"--url={url}", "--path=/", "--path=/away"]) == 1
        assert healthcheck.main([f"--url={url}", "--path=/"]) == 0
    assert asked == [("/", "https"), ("/away", "https"), ("/", "https")]


@pytest.fixture
def lost(monkeypatch):
    """What Django raises where nothing listens, raised by the status page and its API in the middle of their work."""
    with refusing_port() as port:
        place = {**connections.settings["default"], "HOST": "127.0.0.1", "PORT": str(port)}
        with pytest.raises(OperationalError) as caught:
            DatabaseWrapper(place, "lost").ensure_connection()

    def fails():
        raise caught.value

    monkeypatch.setattr("leaderboard.operations.web.monitoring.views.checked_status", fails)
    monkeypatch.setattr("leaderboard.operations.web.monitoring.api.checked_status", fails)
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


@pytest.mark.django_db
def test_a_process_that_the_database_has_answered_once_stays_ready_without_it(site, monkeypatch):
    with database_away(monkeypatch, "refusing"):
        assert site.get("/health/ready?once").status_code == 503
    assert site.get("/health/ready?once").status_code == 200
    with AWAY["refusing"]() as port, monkeypatch.context() as patched:
        place = {"HOST": "127.0.0.1", "PORT": str(port)}
        patched.setitem(connections.settings, "default", {**connections.settings["default"], **place})
        probes.DATABASE.forget()
        probes._database.close()
        assert site.get("/health/ready").status_code == 503
        assert site.get("/health/ready?once").status_code == 200
        assert Client().get("/health/ready?once").status_code == 200


def test_what_a_check_found_last_is_known_without_asking():
    answer = threading.Event()

    def hangs():
        answer.wait(30)
        return "an answer"

    check = BoundedCheck(hangs, name="hangs", deadline=0.05, late="late", keep=lambda: 0)
    assert check.last() is None
    assert check.result() == "late"
    assert check.last() == "late"
    answer.set()
    assert check._future is not None
    check._future.result(timeout=30)
    assert check.last() == "an answer"
