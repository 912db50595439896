"""What other people's servers get to know of traces: nothing."""

import json

import pytest

from evaluator.planners import EndpointPlanner, EndpointSettings
from evaluator.planners.language_models.chat.model import ChatModel, ChatSettings
from gpu_jobs.tracing import spans
from tests.evaluator.planners.test_endpoint import GOOD, REQUEST
from tests.fakes.collector import collecting, tracing_to
from tests.fakes.hostile_server import answers, hostile_server
from tests.fakes.strategies import generate

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
