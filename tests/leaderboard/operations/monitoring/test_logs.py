"""Lines that the site and its queue log: which request, evaluation and task they are of."""

import json
import logging
import os
import subprocess
import sys
import time
import uuid

import pytest
from celery.contrib.testing.worker import start_worker
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import ResolverMatch, reverse

from gpu_jobs.logs.lines import named
from leaderboard.operations.monitoring.logs import HEADER, RepeatedFailures, formatter, name_requests
from leaderboard.platform import celery
from leaderboard.queue.tasks import replace_worker
from leaderboard.queue.workers.authentication import HoldsAttempt
from tests.leaderboard.factories import make_evaluation, make_lease

EVALUATION = "00000000-0000-4000-8000-000000000001"


def line(message: str = "something", form: str = "lines") -> str:
    return formatter(form).format(logging.LogRecord("site", logging.INFO, "", 1, message, (), None))


def wait_until(holds, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)


def answered(**headers: str) -> tuple[str, HttpResponse]:
    lines = []

    def view(request):
        request.resolver_match = ResolverMatch(view, (), {"evaluation_id": uuid.UUID(EVALUATION)})
        lines.append(line())
        return HttpResponse("answer")

    response = name_requests(view)(RequestFactory().get("/", headers=headers))
    return lines[0], response


def test_each_request_has_an_id_in_its_lines_and_in_its_answer():
    (first, response), (second, other) = answered(), answered()
    assert first.endswith(f"something [request={response.headers[HEADER]} evaluation={EVALUATION}]")
    assert second.endswith(f"something [request={other.headers[HEADER]} evaluation={EVALUATION}]")
    assert response.headers[HEADER] != other.headers[HEADER]
    assert line().endswith("something")


def test_only_a_trusted_proxy_may_give_the_id_and_only_a_plain_one(settings):
    plain = "abcdef-0123456789"
    odd = ("short", "with spaces and ] in it", "x" * 65)
    for trusted, sent, kept in ((True, plain, True), (False, plain, False), *((True, text, False) for text in odd)):
        settings.TRUST_PROXY = trusted
        text, response = answered(**{HEADER: sent})
        assert (response.headers[HEADER] == sent, sent in text) == (kept, kept)


@pytest.mark.django_db
def test_a_worker_s_call_is_logged_with_its_evaluation_attempt_and_worker(monkeypatch):
    lines = []
    monkeypatch.setattr(HoldsAttempt, "has_permission", noting(HoldsAttempt.has_permission, lines))
    lease = make_lease(make_evaluation(state="launching"))
    headers = {"Authorization": f"Bearer {lease.token}"}
    address = reverse("api:heartbeat", args=[lease.attempt.pk])
    answer = Client().post(address, {"phase": "planning"}, "application/json", headers=headers)
    assert answer.status_code == 204
    (found,) = lines
    assert f"[request={answer.headers[HEADER]} worker={lease.attempt.worker} attempt={lease.attempt.pk}]" in found


def noting(function, lines):
    def then_log(*args):
        found = function(*args)
        lines.append(line())
        return found

    return then_log


def test_secrets_of_the_settings_are_not_logged(settings):
    assert settings.WORKER_TOKEN not in line(f"with {settings.WORKER_TOKEN}")
    assert settings.SECRET_KEY not in line(f"with {settings.SECRET_KEY}", form="json")


@pytest.mark.django_db(transaction=True)
def test_a_task_is_logged_with_what_it_is_about_and_the_request_that_sent_it(broker, monkeypatch):
    broker("memory://logs/")
    found = []
    monkeypatch.setattr(replace_worker, "run", lambda worker, evaluation_id: found.append(line()))
    with start_worker(celery.app, perform_ping_check=False, pool="solo"):
        with named(request="r1"):
            replace_worker.apply_async(args=("w1", EVALUATION))
        replace_worker.apply_async(args=("w1", EVALUATION))
        wait_until(lambda: len(found) == 2)
    assert [text.partition("something ")[2] for text in found] == [
        f"[task=replace_worker request=r1 evaluation={EVALUATION} worker=w1]",
        f"[task=replace_worker evaluation={EVALUATION} worker=w1]",
    ]


@pytest.mark.full
def test_one_variable_makes_json_of_everything_uvicorn_s_lines_too():
    program = """
import logging.config
from tests import settings
logging.config.dictConfig({"version": 1, "disable_existing_loggers": False,
    "handlers": {"own": {"class": "logging.StreamHandler"}}, "loggers": {"uvicorn": {"handlers": ["own"]}}})
import os; os.environ["PLANARENA_LOG_FORMAT"] = "json"
import importlib, leaderboard.platform.settings.django as d
importlib.reload(d)
import django; from django.conf import settings as s
s.configure(**{name: getattr(settings, name) for name in dir(settings) if name.isupper()} | {"LOGGING": d.LOGGING})
django.setup()
logging.getLogger("uvicorn.error").warning("from %s", "uvicorn")
logging.getLogger("leaderboard").info("from the site")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env=dict(os.environ), capture_output=True, text=True, check=True
    )
    found = [json.loads(text) for text in done.stderr.splitlines()]
    assert [(one["logger"], one["event"]) for one in found] == [
        ("uvicorn.error", "from uvicorn"), ("leaderboard", "from the site"),
    ]  # fmt: skip


def failure(row: int, error: type[Exception] = ValueError) -> logging.LogRecord:
    try:
        raise error(f"row {row}")
    except error:
        return logging.LogRecord("queue", logging.ERROR, "", 1, "row %s failed", (row,), sys.exc_info())


def test_a_failure_of_a_task_is_logged_once_per_cause_and_later_with_its_number():
    now = [0.0]
    repeated = RepeatedFailures(clock=lambda: now[0])
    with named(task="sweep"):
        assert [repeated.filter(failure(row)) for row in range(100)] == [True] + [False] * 99
        assert repeated.filter(failure(0, KeyError)), "another cause"
        now[0] = 601.0
        later = failure(100)
        assert repeated.filter(later)
        assert later.getMessage() == "row 100 failed (99 more like this since it was last logged)"
    with named(task="dispatch"):
        assert repeated.filter(failure(1)), "another task"
    with named(request="0123456789"):
        assert all(repeated.filter(failure(row)) for row in range(2)), "each request has its own"
    plain = logging.LogRecord("queue", logging.WARNING, "", 1, "late", (), None)
    with named(task="sweep"):
        assert all(repeated.filter(plain) for _ in range(2)), "only tracebacks are many lines"
