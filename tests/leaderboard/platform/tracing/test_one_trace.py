"""An evaluation from its submission to its board: site, queue and worker send one trace to a real collector."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from celery.contrib.testing.worker import start_worker
from django.conf import settings as site_settings

from leaderboard.evaluations.models import Attempt, Evaluation
from leaderboard.platform import celery
from leaderboard.platform.http.one_hop import OneHop
from tests.fakes.collector import Collector, ReceivedSpan, collecting, tracing_to
from tests.leaderboard.factories import make_user
from tests.leaderboard.operations.monitoring.test_logs import wait_until
from tests.leaderboard.planning import REAL, make_toolmini
from tests.leaderboard.platform.api.helpers import client_of
from tests.leaderboard.serving import server
from tests.processes import ROOT

pytestmark = [pytest.mark.full, pytest.mark.django_db(transaction=True)]
STRANGERS = f"00-{'5' * 32}-{'6' * 16}-01"
KEY = "key-of-the-collector"
HEADERS = {"OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer%20{KEY}"}


def site():
    """The site's handler with the middlewares of this moment: that of the application was loaded without traces."""
    return OneHop(threads=8, name="requests")


def work(url: str, *, collector: Collector, folder) -> str:
    """A real worker's whole life, and what it logged."""
    variables = {"PLANARENA_WORKER_TOKEN": site_settings.WORKER_TOKEN, "PLANARENA_DATA": str(folder), **HEADERS}
    variables |= {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "PLANARENA_ALIVE_FILE": str(folder / "alive")}
    environment = {**os.environ, **variables}
    command = [sys.executable, "-m", "gpu_jobs", "worker", "--url", url, "--name", "w1", "--idle-seconds", "0"]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert KEY not in done.stderr
    assert (folder / "alive").exists()
    return done.stderr


@pytest.fixture
def collected(settings, own_store, broker, tmp_path) -> Iterator[Collector]:
    """Everything that came of one evaluation of a bundled planner, submitted by somebody who sends a `traceparent`."""
    settings.EVALUATOR, settings.PLANNING_TASKS_PER_SHARD = REAL, 100
    broker("memory://traces/")
    ada, suite = make_user("ada-lovelace"), make_toolmini()
    body = {"planner": {"name": "gold", "kind": "bundled", "bundled_name": "gold"}, "suites": [suite.slug]}
    with collecting() as collector:
        with tracing_to(collector.url, **HEADERS), start_worker(celery.app, perform_ping_check=False, pool="solo"):
            answer = client_of(ada).post("submissions/", body, headers={"traceparent": STRANGERS})
            assert answer.status_code == 201, answer.content
            wait_until(lambda: Evaluation.objects.get().state == "launching")
            with server(site()) as url:
                (tmp_path / "worker.log").write_text(work(url, collector=collector, folder=tmp_path))
            wait_until(lambda: Evaluation.objects.get().state == "completed")
        yield collector


def above(span: ReceivedSpan, spans: list[ReceivedSpan]) -> list[str]:
    """The names of the spans that it is part of, from itself on."""
    by_id = {one.id: one for one in spans}
    names = [span.name]
    while span.parent:
        span = by_id[span.parent]
        names.append(span.name)
    return names


def test_one_evaluation_is_one_trace_of_all_processes_without_secrets(collected: Collector, tmp_path):
    submitted = collected.one("POST api:submissions")
    trace = [span for span in collected.spans if span.trace == submitted.trace]
    assert submitted.parent == ""
    assert submitted.trace != "5" * 32, "a stranger chose it"
    roots = [span.name for span in trace if not span.parent]
    assert roots == ["POST api:submissions"]
    evaluation, attempts = Evaluation.objects.get(), [str(key) for key in Attempt.objects.values_list("pk", flat=True)]

    tree = {tuple(above(span, trace)) for span in trace}
    lease = ("lease", "POST api:submissions")
    assert {
        ("reconcile_evaluation", "POST api:submissions"),
        ("launch worker", "reconcile_evaluation", "POST api:submissions"),
        lease,
        ("attempt", *lease),
        ("prepare", "attempt", *lease),
        ("plan", "attempt", *lease),
        ("upload", "attempt", *lease),
        ("finish", "attempt", *lease),
        ("POST api:finish", "finish", "attempt", *lease),
        ("reconcile_evaluation", "POST api:finish", "finish", "attempt", *lease),
        ("publish", "reconcile_evaluation", "POST api:finish", "finish", "attempt", *lease),
    } <= tree
    ids = {"planarena.evaluation": str(evaluation.pk), "planarena.worker": "w1"}
    for attempt in (one for one in trace if one.name in {"attempt", "lease"}):
        assert ids.items() <= attempt.attributes.items()
        assert attempt.attributes["planarena.attempt"] in attempts
    assert {span.service for span in trace} >= {"planarena-worker"}
    assert len(submitted.attributes["planarena.request"]) == 16
    assert {one["authorization"] for one in collected.headers} == {f"Bearer {KEY}"}
    assert f" trace={submitted.trace}]" in (tmp_path / "worker.log").read_text()
    check_secrets(collected)


def check_secrets(collected: Collector) -> None:
    """Nothing is in it that is secret or that somebody else has written."""
    everything = b"".join(collected.raw)
    secrets = [KEY, site_settings.WORKER_TOKEN, site_settings.SECRET_KEY, "SELECT", "ada-lovelace", "gold", "Bearer"]
    assert [text for text in secrets if text.encode() in everything] == []
    names = {name for span in collected.spans for name in span.attributes}
    assert names <= {
        "planarena.request", "planarena.evaluation", "planarena.attempt", "planarena.worker", "planarena.task",
        "planarena.suite", "planarena.tasks", "planarena.records", "http.request.method", "http.route",
        "http.response.status_code", "error.type",
    }  # fmt: skip
