"""Test calls of endpoints through the API, against real servers on this machine."""

import json

import pytest
from django.core.cache import cache

from evaluator.planners.endpoint import EndpointPlanner
from evaluator.planners.language_models.chat.trial_server import ServerSettings, serving
from evaluator.planners.trials import process as trial_process
from evaluator.planners.trials import trial
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation
from leaderboard.people.models import User
from leaderboard.planners.models import Planner
from leaderboard.platform.api.throttling import Throttle
from leaderboard.queue.models import Job
from tests.evaluator.planners.test_a2a import agent as a2a_agent
from tests.evaluator.planners.test_endpoint import endpoint
from tests.fakes.chat_services import serving as chat_service
from tests.leaderboard.factories import make_submission, make_suite, make_user
from tests.leaderboard.planners.servers import TOKEN, chatting, guarded
from tests.leaderboard.platform.api.helpers import client_of
from tests.leaderboard.queue.job_helpers import result_of

pytestmark = pytest.mark.django_db
CREDENTIAL = TOKEN.removeprefix("Bearer ")
IN_PROCESS = pytest.mark.usefixtures("no_process")


@pytest.fixture
def api(settings):
    settings.DEMO = True
    make_suite(slug="openagi")
    return client_of(make_user("ada"))


def test_what_was_sent_and_answered_in_another_process_is_shown_and_nothing_else_is_kept(api, monkeypatch):
    def never(*_, **__):
        raise AssertionError("read in the site's own process")

    monkeypatch.setattr(trial, "try_endpoint", never)
    monkeypatch.setattr(EndpointPlanner, "plan", never)
    with guarded() as asked:
        answer = api.post(
            "endpoint-tests/", {"endpoint_url": asked.url, "header_name": "Authorization", "header_value": TOKEN}
        )
        shown = result_of(api, answer)
    assert (shown["passed"], shown["status"], shown["problem"]) == (True, 200, "")
    assert shown["plan"]["steps"]
    assert shown["request"]["version"] == "planner/1"
    assert asked.headers == [TOKEN]
    assert CREDENTIAL not in str(shown)
    assert Job.objects.get().request == ""
    assert not Planner.objects.exists()
    assert not Evaluation.objects.exists()


@IN_PROCESS
def test_an_endpoint_that_repeats_the_secret_in_its_refusal_does_not_tell_it(api):
    with guarded() as asked:
        answer = api.post(
            "endpoint-tests/",
            {"endpoint_url": asked.url, "header_name": "Authorization", "header_value": TOKEN[:-1] + "x"},
        )
        shown = result_of(api, answer)
    assert (shown["passed"], shown["status"], shown["reason"]) == (False, 401, "refused_by_endpoint")
    assert shown["answer"] == '{"error": "not allowed with ***"}'


@IN_PROCESS
def test_the_kept_header_is_sent_to_its_own_address_and_to_no_other(api):
    with guarded() as asked, guarded() as elsewhere:
        make_submission(
            user=User.objects.get(), name="mine", kind="endpoint", bundled_name="", endpoint_url=asked.url,
            header_name="Authorization", header_value=TOKEN,
        )  # fmt: skip
        stranger = client_of(make_user("eve"))

        def passes(caller, url):
            return result_of(caller, caller.post("endpoint-tests/", {"endpoint_url": url, "name": "mine"}))["passed"]

        assert passes(api, asked.url)
        assert not passes(api, elsewhere.url)
        assert not passes(stranger, asked.url)
    assert asked.headers == [TOKEN, None]
    assert elsewhere.headers == [None]


CHAT = {"kind": "chat", "model_id": "m", "strategy": "openagi/zero-shot", "suite": "openagi"}
WRONG = [
    ({"endpoint_url": ""}, "endpoint_url"),
    ({"endpoint_url": "http://private.example.org/"}, "endpoint_url"),
    ({"timeout_seconds": 0}, "timeout_seconds"),
    ({"suite": "nothing"}, "suites"),
    ({"header_name": "Host", "header_value": TOKEN}, "header_name"),
    ({"header_name": "X-Key"}, "header_value"),
    ({**CHAT, "model_id": ""}, "model_id"),
    ({**CHAT, "strategy": "openagi/constrained"}, "strategy"),
    ({**CHAT, "strategy": "unknown"}, "strategy"),
    ({**CHAT, "suite": "turns"}, "suites"),
    ({**CHAT, "endpoint_url": "http://private.example.org/v1"}, "endpoint_url"),
    ({**CHAT, "endpoint_url": "https://example.org/v1?key=1"}, "endpoint_url"),
    ({**CHAT, "kind": "hub"}, "kind"),
]
"""What is entered, and the field that is wrong."""


def test_what_cannot_be_called_is_refused_beside_its_field(api, settings):
    settings.DEMO = False
    make_suite(slug="turns", runnable=4)
    Suite.objects.filter(slug="turns").update(panels=["transcript"])
    for change, field in WRONG:
        answer = api.post("endpoint-tests/", {"endpoint_url": "https://planner.example.org/", **change})
        assert (answer.status_code, field in answer.json()["errors"]) == (400, True), change


@IN_PROCESS
class TestChatEndpoints:
    @pytest.mark.parametrize(
        ("answer", "verdict"),
        [("Text to Image Generation", "reference"), ("[]", "empty"), ("I cannot help with that.", "unreadable")],
    )
    def test_the_strategy_asks_it_and_its_plan_is_judged(self, api, answer, verdict):
        with serving(ServerSettings(latency_seconds=0.0, answer=answer)) as url:
            shown = result_of(api, api.post("endpoint-tests/", {**CHAT, "endpoint_url": url}))
        assert (shown["verdict"], shown["passed"], shown["status"]) == (verdict, verdict == "reference", 200)
        assert (shown["example"] is not None) == (verdict == "empty")
        assert not Planner.objects.exists()

    def test_each_call_is_shown_as_it_was_sent_and_answered_without_the_secret(self, api):
        fenced = "Here it is:\n```json\nText to Image Generation\n```"
        with chatting(answer=fenced) as chat:
            entered = {**CHAT, "endpoint_url": chat.url, "header_name": "Authorization"}
            shown = result_of(api, api.post("endpoint-tests/", {**entered, "header_value": TOKEN}))
            refused = result_of(api, api.post("endpoint-tests/", {**entered, "header_value": TOKEN[:-1] + "x"}))
        [exchange] = shown["exchanges"]
        assert json.loads(exchange["sent"]) == chat.requests[0]
        assert json.loads(exchange["answer"])["choices"][0]["message"]["content"] == fenced
        assert exchange["answer_bytes"] == len(exchange["answer"].encode())
        assert shown["answer"] == fenced
        [failed] = refused["exchanges"]
        assert (failed["status"], refused["status"]) == (401, 401)
        assert failed["answer"] == '{"error": "not allowed with ***"}'
        assert CREDENTIAL not in str([shown, refused])

    def test_parameters_that_the_model_refuses_are_said(self, api):
        with chat_service("reasoning-chat", lambda _: "Text to Image Generation") as service:
            shown = result_of(api, api.post("endpoint-tests/", {**CHAT, "endpoint_url": service.url}))
        assert shown["passed"], shown
        assert "max_tokens was sent as max_completion_tokens." in shown["adapted"]
        assert "temperature was left out: the service refuses it." in shown["adapted"]
        assert [exchange["status"] for exchange in shown["exchanges"]][:2] == [400, 400]

    @pytest.mark.parametrize(("service", "api_name"), [("responses", "auto"), ("messages", "messages")])
    def test_it_is_called_through_the_api_that_is_declared(self, api, service, api_name):
        with chat_service(service, lambda _: "Text to Image Generation") as running:
            how = {"api": api_name, "reasoning_effort": "low" if service == "responses" else "", "answer_tokens": 4096}
            shown = result_of(api, api.post("endpoint-tests/", {**CHAT, **how, "endpoint_url": running.url}))
        assert shown["passed"], shown
        sent = json.loads(shown["exchanges"][-1]["sent"])
        assert sent.get("max_output_tokens", sent.get("max_tokens")) == 4096

    def test_what_was_sent_is_shown_without_an_answer_too(self, api):
        shown = result_of(api, api.post("endpoint-tests/", {**CHAT, "endpoint_url": "http://127.0.0.1:1/v1"}))
        [exchange] = shown["exchanges"]
        assert json.loads(exchange["sent"])["model"] == "m"
        assert (exchange["status"], exchange["answer"], shown["status"]) == (None, "", None)

    def test_it_shares_the_rate_limit_of_endpoints(self, api, monkeypatch):
        monkeypatch.setattr(Throttle, "THROTTLE_RATES", {**Throttle.THROTTLE_RATES, "endpoint-tests": "2/min"})
        cache.clear()
        bodies = [{"endpoint_url": "http://127.0.0.1:1/"}, {**CHAT, "endpoint_url": "http://127.0.0.1:1/v1"}]
        found = [api.post("endpoint-tests/", body).status_code for body in [*bodies, bodies[1]]]
        cache.clear()
        assert found == [202, 202, 429]


@IN_PROCESS
@pytest.mark.parametrize(
    ("kind", "reason"), [({}, "address_refused"), (CHAT, "refused_by_endpoint")], ids=["endpoint", "chat"]
)
def test_a_name_that_resolves_to_this_machine_is_not_called_outside_the_demo(api, settings, kind, reason):
    # The fake refuses no loopback address when it is entered; the client that calls does.
    settings.DEMO = False
    with endpoint((200, b"{}")) as (url, seen):
        shown = result_of(api, api.post("endpoint-tests/", {**kind, "endpoint_url": url}))
    assert seen == []
    assert shown["reason"] == reason


@pytest.mark.full
def test_an_answer_that_makes_the_process_grow_costs_that_process_and_is_said(api, monkeypatch):
    """A mebibyte of empty lists, each of which takes 56 bytes in memory, several times over."""
    monkeypatch.setattr(trial_process, "MEMORY_BYTES", 90 * 1024**2)
    with endpoint((200, b'{"plan": [' + b"[]," * 340_000 + b"[]]}")) as (url, seen):
        shown = result_of(api, api.post("endpoint-tests/", {"endpoint_url": url}))
    assert len(seen) == 1
    assert (shown["passed"], shown["reason"]) == (False, "invalid_response")
    assert shown["problem"] == (
        "The test was stopped: reading the endpoint's answer took too much memory: more than 90 MiB."
    )
    assert shown["request"]["version"] == "planner/1"


@IN_PROCESS
def test_an_a2a_agent_is_tested_with_a_message(api):
    answer = {"message": {"role": "ROLE_AGENT", "parts": [{"data": {"plan": "Image Denoising"}}]}}
    with a2a_agent(answer) as (url, seen):
        shown = result_of(api, api.post("endpoint-tests/", {"kind": "a2a", "endpoint_url": url}))
    assert shown["request"]["version"] == "planner/1"
    assert [step["tool"] for step in shown["plan"]["steps"]] == ["Image Denoising"]
    assert [path for path, _, _ in seen] == ["/.well-known/agent-card.json", "/rpc"]
