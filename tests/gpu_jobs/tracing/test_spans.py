"""Spans of a process: what they say, what they cost where nobody collects them, and where they go."""

import json
import os
import subprocess
import sys

import pytest

from evaluator.planners.endpoint import EndpointPlanner, EndpointSettings
from evaluator.planners.language_models.chat.model import ChatModel, ChatSettings
from gpu_jobs.tracing import options, spans
from leaderboard.platform.secret_keys import known_secrets
from tests.evaluator.planners.test_endpoint import GOOD, REQUEST
from tests.fakes.collector import collecting, tracing_to
from tests.fakes.hostile_server import answers, hostile_server
from tests.fakes.strategies import generate
from tests.processes import free_port

STRANGERS = f"00-{'5' * 32}-{'6' * 16}-01"


def test_spans_are_nested_and_named():
    with collecting() as collector:
        with tracing_to(collector.url), spans.span("outer", attributes={"tasks": 3, "http.route": "/x"}):
            outer = spans.traceparent()
            with spans.span("inner", kind="server"):
                assert spans.same_trace(outer, spans.traceparent())
                assert spans.traceparent() != outer
            assert spans.traceparent() == outer
        found = collector.one("outer")
    assert collector.one("inner").parent == found.id
    assert outer == f"00-{found.trace}-{found.id}-01"
    assert found.attributes == {"planarena.tasks": 3, "http.route": "/x"}
    assert found.service == "planarena-site"


def test_an_error_marks_its_span_and_its_message_stays_here():
    with collecting() as collector:
        with tracing_to(collector.url), pytest.raises(ValueError, match="planner"), spans.span("work"):
            raise ValueError("with the secret of a planner")
        assert collector.one("work").failed
        assert collector.one("work").attributes == {"error.type": "ValueError"}
        assert b"secret of a planner" not in b"".join(collector.raw)


@pytest.mark.parametrize("parent", ["", "nonsense", f"00-{'0' * 32}-{'6' * 16}-01", "00-12-34-01"])
def test_without_a_parent_a_trace_begins(parent):
    with collecting() as collector:
        with tracing_to(collector.url), spans.span("around"), spans.span("work", parent=parent):
            pass
        assert collector.one("work").parent == ""
        assert collector.one("work").trace != collector.one("around").trace


def test_what_is_not_sampled_is_said_on_and_exported_nowhere():
    with collecting() as collector:
        with tracing_to(collector.url, OTEL_TRACES_SAMPLER="parentbased_traceidratio", OTEL_TRACES_SAMPLER_ARG="0"):
            with spans.span("work"):
                assert spans.traceparent().endswith("-00")
                assert (spans.exemplar(), spans.ids_for_logs()) == (None, {})
                with spans.span("part"):
                    assert spans.traceparent().endswith("-00")
            with spans.span("of somebody who records", parent=STRANGERS):
                assert spans.exemplar() is not None
        assert [span.name for span in collector.spans] == ["of somebody who records"]


@pytest.mark.full
def test_nobody_at_the_address_costs_bounded_memory_and_one_line():
    program = """
import logging, time
from gpu_jobs.tracing import exporting
from gpu_jobs.tracing.spans import span
said = []
handler = logging.Handler()
handler.emit = lambda record: said.append(record.getMessage())
logging.getLogger().addHandler(handler)
for _ in range(6000):
    with span("work"): pass
(processor,) = exporting._kept.provider._active_span_processor._span_processors
assert len(processor._batch_processor._queue) <= 2048
while not said:
    time.sleep(0.05)
logging.getLogger("opentelemetry").error("lost again")
print(said)"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, options.VARIABLE: f"http://127.0.0.1:{free_port()}", "OTEL_BSP_SCHEDULE_DELAY": "50"},
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stdout.startswith("['spans are lost: "), done.stderr
    assert done.stdout.count("spans are lost") == 1


@pytest.mark.full
def test_without_the_variable_nothing_is_imported_or_recorded():
    program = """
import sys
import gpu_jobs.__main__
from gpu_jobs.tracing import options, spans
from leaderboard.platform.secret_keys import known_secrets
with spans.span("work", attributes={"tasks": 1}):
    assert spans.traceparent() == "" and spans.exemplar() is None
spans.flush()
print([name for name in sys.modules if name.startswith(("opentelemetry", "google.protobuf"))])"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_keys_for_the_collector_are_secrets(monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20a-key,x-tenant=b-key")
    assert options.header_secrets() == ["a-key", "b-key"]
    assert set(options.header_secrets()) <= set(known_secrets())


SAID = json.dumps({"choices": [{"message": {"role": "assistant", "content": "a plan"}}]}).encode()


def ask_endpoint(url: str) -> None:
    EndpointPlanner(EndpointSettings(url=f"{url}/plan", timeout_seconds=10, allow_private=True)).plan(REQUEST)


def ask_chat(url: str) -> None:
    settings = ChatSettings(url=f"{url}/v1", model="m-1", allow_private=True, tries=1, try_seconds=10)
    ChatModel(settings, key=lambda: None).answer([generate("a noisy image")])


@pytest.mark.parametrize(("ask", "body"), [(ask_endpoint, GOOD), (ask_chat, SAID)])
def test_planners_behind_http_get_no_header_of_a_trace(ask, body):
    with collecting() as collector, hostile_server(answers(body=body)) as server:
        with tracing_to(collector.url), spans.span("attempt"):
            ask(server.url)
            ids = spans.traceparent().split("-")[1:3]
        (request,) = server.requests
        assert collector.named("attempt")
    assert b"POST" in request
    for word in ("traceparent", "tracestate", "baggage", *ids):
        assert word.encode() not in request.lower()
