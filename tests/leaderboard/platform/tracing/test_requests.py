"""Spans of requests: whose trace they are of, and what they say."""

import json
import logging
import subprocess
import sys
from collections.abc import Iterator

import pytest
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse

from gpu_jobs.tracing import spans
from leaderboard.operations.monitoring.logs import formatter, name_requests
from leaderboard.platform import celery
from leaderboard.platform.tracing.evaluations import keep_trace, lease_span, task_span
from leaderboard.platform.tracing.requests import trace_requests
from leaderboard.queue.tasks import stop_workers
from tests.fakes.collector import Collector, collecting, tracing_to
from tests.leaderboard.factories import make_evaluation, make_lease

STRANGERS = f"00-{'5' * 32}-{'6' * 16}-01"
TRACE, SPAN = "a" * 32, "b" * 16
OURS = f"00-{TRACE}-{SPAN}-01"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as found:
        yield found


def call(lease, name: str, body: object, *, token: str = "", **headers: str) -> HttpResponse:
    headers["Authorization"] = f"Bearer {token or lease.token}"
    address = reverse(f"api:{name}", args=[lease.attempt.pk])
    return Client().post(address, body, "application/json", headers=headers)


def kept(name: str, of) -> None:
    """What somebody does in a trace of ours leads to it."""
    with spans.span(name, parent=OURS):
        keep_trace(of)


def test_a_request_begins_a_trace_whatever_it_was_sent_with_and_lines_of_its_log_name_it(collector):
    lines: list[dict[str, str]] = []

    def view(request):
        record = logging.LogRecord("site", logging.INFO, "", 1, "something", (), None)
        lines.append(json.loads(formatter("json").format(record)))
        return HttpResponse(spans.traceparent())

    with tracing_to(collector.url):
        request = RequestFactory().get("/", headers={"traceparent": STRANGERS})
        answer = name_requests(trace_requests(view))(request)
    (span,) = collector.spans
    assert (span.parent, span.links) == ("", ())
    assert answer.content.decode().split("-")[1] == lines[0]["trace"] == span.trace != "5" * 32


@pytest.mark.django_db
def test_it_says_the_route_and_not_the_path_and_fails_with_the_server_and_probes_have_none(collector):
    with tracing_to(collector.url):
        for path in ("/health/live", "/metrics", "/static/app.css"):
            Client().get(path)
        Client().get("/accounts/password/reset/key/1-secret-key/?token=secret-query")
        assert trace_requests(lambda _: HttpResponse(status=503))(RequestFactory().get("/x")).status_code == 503
    reset, failed = collector.spans
    assert reset.name == "GET account_reset_password_from_key"
    assert reset.attributes["http.request.method"] == "GET"
    assert "key" in reset.attributes["http.route"]
    assert not reset.failed
    assert failed.failed
    assert failed.attributes["error.type"] == "503"
    assert b"secret" not in b"".join(collector.raw)


@pytest.mark.django_db
def test_an_attempt_s_calls_stay_in_the_trace_of_its_lease_and_those_of_others_have_no_span(collector):
    for sent, parent in (
        ({"traceparent": f"00-{TRACE}-{'c' * 16}-00"}, "c" * 16),
        ({"traceparent": STRANGERS}, None),
        ({"traceparent": f"00-{TRACE}-nonsense"}, None),
        ({}, None),
    ):
        collector.spans.clear()
        lease = make_lease(make_evaluation(state="launching"))
        with tracing_to(collector.url):
            kept("lease", lease.attempt.pk)
            assert call(lease, "fail", {"reason": "x"}, token="guessed", **sent).status_code == 403
            assert call(lease, "heartbeat", {"phase": "planning"}, **sent).status_code == 204
            assert call(lease, "fail", {"reason": "x"}, **sent).status_code == 204
        assert [span.name for span in collector.spans] == ["lease", "POST api:fail"], "and heartbeats have none"
        span = collector.one("POST api:fail")
        assert (span.trace, span.parent) == (TRACE, parent or collector.one("lease").id)
        assert span.attributes["planarena.worker"] == lease.attempt.worker
        assert span.attributes["planarena.attempt"] == str(lease.attempt.pk)


@pytest.mark.django_db
def test_an_attempt_of_an_evaluation_without_a_trace_begins_one(collector):
    lease = make_lease(make_evaluation(state="launching"))
    for _ in range(2):
        with tracing_to(collector.url), lease_span(lease.attempt, evaluation=lease.evaluation.pk, started=1):
            pass
    first, second = collector.named("lease")
    assert (first.parent, second.parent, second.trace) == ("", first.id, first.trace)


@pytest.mark.django_db
def test_a_task_joins_its_evaluation_and_is_linked_to_another_sender(collector):
    evaluation = make_evaluation()
    ids = {"task": "t", "evaluation": str(evaluation.pk)}
    with tracing_to(collector.url):
        kept("submit", evaluation.pk)
        for name, sent_by in {"swept": STRANGERS, "sent": f"00-{TRACE}-{'c' * 16}-01", "lost": ""}.items():
            with task_span(name=name, sent_by=sent_by, ids=ids):
                pass
        with task_span(name="periodic", sent_by="", ids={"task": "t"}):
            pass
    swept, sent, lost, periodic = (collector.one(name) for name in ("swept", "sent", "lost", "periodic"))
    assert (swept.trace, swept.links) == (TRACE, ("5" * 32,))
    assert (sent.trace, sent.parent, sent.links) == (TRACE, "c" * 16, ())
    assert (lost.trace, lost.links) == (TRACE, ())
    assert periodic.parent == ""


@pytest.mark.django_db
def test_a_task_that_fails_marks_its_span(collector):
    with tracing_to(collector.url):
        for state in ("SUCCESS", "FAILURE"):
            celery._name_lines(task_id=state, task=stop_workers, args=[str(make_evaluation().pk)], kwargs={})
            celery._end_names(task_id=state, state=state)
        assert spans.current() is None
    assert [(span.name, span.failed) for span in collector.spans] == [("stop_workers", False), ("stop_workers", True)]


def test_without_traces_there_is_no_middleware():
    with pytest.raises(MiddlewareNotUsed):
        trace_requests(lambda _: HttpResponse())


@pytest.mark.full
def test_without_traces_neither_site_nor_queue_imports_anything_for_them():
    program = """
import os, sys
import tests.settings
os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
import django
django.setup()
from django.urls import get_resolver
get_resolver().url_patterns
from leaderboard.platform.celery import app
app.loader.import_default_modules()
print([name for name in sys.modules if name.startswith(("opentelemetry", "google.protobuf"))])"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
