"""A2A agents as planners: both versions of the protocol, every state of a task, and agents that misbehave."""

import json
from contextlib import contextmanager
from dataclasses import replace

import pytest

from evaluator.core.planner import PlannerError
from evaluator.core.plans.model import plan_to_json
from evaluator.core.records import Reason
from evaluator.core.suites.registry import suite_of
from evaluator.core.turns import first_turn
from evaluator.network.secret_header import SecretHeader
from evaluator.planners.a2a import A2APlanner
from evaluator.planners.endpoint import EndpointSettings
from tests.evaluator.planners.test_endpoint import REQUEST
from tests.fakes.chat_services import JsonHandler, Server
from tests.fakes.serving import in_a_thread

PLAN = {"steps": [], "answers": []}
OLD, NEW = "0.3.0", "1.0"
VERSIONS = pytest.mark.parametrize("version", [OLD, NEW])


class Seen(list):
    """The calls of an agent, with headers."""


def card_of(version, url):
    if version == OLD:
        return {"name": "a", "url": url, "preferredTransport": "JSONRPC", "protocolVersion": OLD}
    grpc = {"url": url, "protocolBinding": "GRPC", "protocolVersion": "1.0"}
    return {"name": "a", "supportedInterfaces": [grpc, {**grpc, "protocolBinding": "JSONRPC"}]}


@contextmanager
def agent(*results, version=NEW, card=None):
    """An agent that gives these results in turn, the last one for ever; an error is a mapping with `code`."""
    seen = Seen()

    class Handler(JsonHandler):
        def do_GET(self):
            seen.append((self.path, dict(self.headers), None))
            url = f"http://{self.headers['Host']}/rpc"
            self.send_value(200, card_of(version, url) if card is None else card)

        def do_POST(self):
            call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append((self.path, dict(self.headers), call))
            made = sum(each[2] is not None for each in seen)
            result = results[min(made, len(results)) - 1]
            if isinstance(result, list):
                return self.send_value(*result)
            kind = "error" if "code" in result else "result"
            return self.send_value(200, {"jsonrpc": "2.0", "id": call["id"], kind: result})

    with in_a_thread(Server(("127.0.0.1", 0), Handler)) as url:
        yield url, seen


def planner(url, *, timeout=5.0, allow_private=True, header=None, waits=None):
    settings = EndpointSettings(
        url=url, timeout_seconds=timeout, allow_private=allow_private, header=header, protocol="a2a"
    )
    return A2APlanner(settings, sleep=(waits if waits is not None else []).append)


def failure(url, **options):
    with pytest.raises(PlannerError) as caught:
        planner(url, **options).plan(REQUEST)
    return caught.value


def task(state, *parts, version=NEW, said=(), **fields):
    name = state if version == OLD else f"TASK_STATE_{state.upper().replace('-', '_')}"
    status = {"state": name, "message": {"parts": list(said)}} if said else {"state": name}
    found = {"id": "t1", "contextId": "c1", "status": status, **fields}
    if parts:
        found["artifacts"] = [{"artifactId": "a", "parts": list(parts)}]
    return {**found, "kind": "task"} if version == OLD else {"task": found}


@VERSIONS
def test_a_message_carries_the_request_and_a_finished_task_the_plan(version):
    plan = {"kind": "data", "data": {"plan": PLAN, "usage": {"prompt_tokens": 3, "completion_tokens": 2}}}
    with agent(task("completed", plan, version=version), version=version) as (url, seen):
        reply = planner(url).plan(REQUEST)
    assert (reply.plan, reply.call.prompt_tokens) == (PLAN, 3)
    (card, _, _), (path, headers, call) = seen
    assert (card, path) == ("/.well-known/agent-card.json", "/rpc")
    assert call["method"] == ("message/send" if version == OLD else "SendMessage")
    assert headers.get("A2A-Version") == (None if version == OLD else "1.0")
    message = call["params"]["message"]
    assert message["role"] == ("user" if version == OLD else "ROLE_USER")
    assert message["parts"][1]["data"] == REQUEST.model_dump(mode="json")
    assert REQUEST.task.request in message["parts"][0]["text"]


@pytest.mark.parametrize(
    ("parts", "plan"),
    [
        ([{"text": "Image Denoising"}], "Image Denoising"),
        ([{"text": json.dumps({"plan": PLAN})}], PLAN),
        ([{"data": PLAN}], PLAN),
        ([{"text": "Here it is."}, {"data": {"plan": PLAN}}], PLAN),
        ([{"data": {"usage": {"prompt_tokens": 3}}}, {"data": {"plan": PLAN}}], PLAN),
        ([{"data": {"reason": "It fits."}}, {"data": PLAN}], PLAN),
        ([{"data": {"confidence": 0.9}}, {"text": "Image Denoising"}], "Image Denoising"),
    ],
)
def test_a_plan_may_be_text_or_data_of_a_message(parts, plan):
    with agent({"message": {"role": "ROLE_AGENT", "parts": parts}}) as (url, _):
        assert planner(url).plan(REQUEST).plan == plan
    with agent({"kind": "message", "role": "agent", "parts": parts}, version=OLD) as (url, _):
        assert planner(url).plan(REQUEST).plan == plan


@VERSIONS
def test_a_task_that_works_is_asked_for_until_it_is_done(version):
    waits = []
    done = task("completed", {"text": "Image Denoising"}, version=version)
    later = done if version == OLD else done["task"]
    working = [task(state, version=version) for state in ("submitted", "working")]
    with agent(working[0], working[1], later, version=version) as (url, seen):
        assert planner(url, waits=waits).plan(REQUEST).plan == "Image Denoising"
    assert [call["method"] for _, _, call in seen[2:]] == ["tasks/get" if version == OLD else "GetTask"] * 2
    assert seen[2][2]["params"] == {"id": "t1"}
    assert len(waits) == 2


def test_a_task_that_is_gone_is_no_answer():
    unfinished = task("working", {"text": "Image Denoising"}, version=OLD)
    with agent(unfinished, {}, version=OLD) as (url, _):
        assert failure(url).reason is Reason.INVALID_RESPONSE


@pytest.mark.parametrize("where", ["task", "error"])
def test_no_half_of_a_secret_is_shown(where):
    header = SecretHeader(name="Authorization", value='Bearer abcd"efgh"ijkl')
    said = "x" * 285 + ' Bearer abcd"efgh"ijkl'
    answer = task("failed", said=[{"text": said}]) if where == "task" else {"code": -32600, "message": said}
    with agent(answer) as (url, _):
        assert "abcd" not in str(failure(url, header=header))


def test_a_first_card_lists_further_interfaces():
    further = [{"url": "/rpc", "transport": "JSONRPC"}]
    card = {"url": "/grpc", "preferredTransport": "GRPC", "protocolVersion": OLD, "additionalInterfaces": further}
    with agent(task("completed", {"text": "Image Denoising"}, version=OLD), card=card) as (url, _):
        assert planner(url).plan(REQUEST).plan == "Image Denoising"
    with agent(card={**card, "additionalInterfaces": "none"}) as (url, _):
        assert failure(url).reason is Reason.INVALID_RESPONSE


def test_a_task_that_never_ends_is_a_timeout():
    with agent(task("working")) as (url, _):
        assert failure(url, timeout=0.4).reason is Reason.PLANNER_TIMEOUT


@VERSIONS
@pytest.mark.parametrize(
    ("state", "reason", "words"),
    [
        ("failed", Reason.INVALID_RESPONSE, "failed: No idea"),
        ("canceled", Reason.INVALID_RESPONSE, "cancelled"),
        ("rejected", Reason.REFUSED_BY_ENDPOINT, "rejected"),
        ("input-required", Reason.INVALID_RESPONSE, "more input"),
        ("auth-required", Reason.REFUSED_BY_ENDPOINT, "authentication"),
        ("dreaming", Reason.INVALID_RESPONSE, "unknown state"),
    ],
)
def test_other_ends_are_faults_with_what_the_agent_said(version, state, reason, words):
    with agent(task(state, version=version, said=[{"text": "No idea"}]), version=version) as (url, _):
        error = failure(url)
    assert error.reason is reason
    assert words in str(error)


@pytest.mark.parametrize(
    ("error", "reason", "tries"),
    [
        ({"code": -32601, "message": "Method not found"}, Reason.REFUSED_BY_ENDPOINT, 1),
        ({"code": -32603, "message": "Internal error"}, Reason.ENDPOINT_UNAVAILABLE, 4),
    ],
)
def test_errors_of_the_protocol_are_the_agents_or_pass(error, reason, tries):
    with agent(error) as (url, seen):
        found = failure(url)
    assert (found.reason, found.call.tries) == (reason, tries)
    assert error["message"] in str(found)
    calls = [call["params"]["message"]["messageId"] for _, _, call in seen if call]
    assert len(calls) == tries
    assert len(set(calls)) == 1


@pytest.mark.parametrize(
    ("card", "words"),
    [
        ([1], "no JSON object"),
        ({}, "no interface"),
        ({"url": 7}, "no interface"),
        ({"supportedInterfaces": [{"url": "/", "protocolBinding": "GRPC", "protocolVersion": "1.0"}]}, "no interface"),
        ({"supportedInterfaces": [{"url": "/", "protocolBinding": "JSONRPC", "protocolVersion": "9"}]}, "no interface"),
        ({"supportedInterfaces": {"url": "/"}}, "no interface"),
    ],
)
def test_a_card_without_a_known_interface_is_a_fault(card, words):
    with agent({}, card=card) as (url, _):
        error = failure(url)
    assert error.reason is Reason.INVALID_RESPONSE
    assert words in str(error)


@pytest.mark.parametrize("address", ["http://10.0.0.1/rpc", "file:///etc/passwd", "http://[::1", "http://127.0.0.1:x/"])
def test_a_card_leads_to_public_addresses_only(address):
    card = {"url": address, "protocolVersion": OLD}
    with agent({}, card=card) as (url, seen):
        settings = EndpointSettings(url=url, timeout_seconds=5.0, allow_private=True, protocol="a2a")
        client = A2APlanner(settings, sleep=[].append)
        client._settings = replace(settings, allow_private=False)
        with pytest.raises(PlannerError) as caught:
            client.plan(REQUEST)
    assert caught.value.reason in {Reason.ADDRESS_REFUSED, Reason.INVALID_RESPONSE}
    assert len(seen) == 1


def test_an_agent_on_a_private_address_is_not_called():
    with agent({}) as (url, seen):
        assert failure(url, allow_private=False).reason is Reason.ADDRESS_REFUSED
    assert not seen


def test_a_secret_header_goes_to_the_host_of_the_card_only_and_is_taken_out_of_answers():
    header = SecretHeader(name="X-Api-Key", value="a-secret-of-the-owner")
    with agent({"message": {"parts": [{"text": "Image a-secret-of-the-owner"}]}}) as (url, seen):
        reply = planner(url, header=header).plan(REQUEST)
    assert all(headers["X-Api-Key"] == header.value for _, headers, _ in seen)
    assert header.value not in str(reply.plan)
    with agent({}, card={"url": "http://127.0.0.1:1/rpc", "protocolVersion": OLD}) as (url, seen):
        assert failure(url, header=header).reason is Reason.INVALID_RESPONSE
    assert len(seen) == 1


@pytest.mark.parametrize(
    "result",
    [
        {"message": {"parts": []}},
        {"message": {"parts": [{"file": {"uri": "http://a/"}}, 7, {"text": 7}]}},
        {"task": {"status": {"state": "TASK_STATE_WORKING"}}},
        [200, {"jsonrpc": "2.0", "id": 1}],
        [200, {"jsonrpc": "2.0", "id": 1, "result": "x"}],
        [200, "no object"],
        [200, json.loads("[" * 900 + "]" * 900)],
    ],
)
def test_answers_of_another_form_are_faults(result):
    with agent(result) as (url, _):
        assert failure(url).reason is Reason.INVALID_RESPONSE


def test_an_answer_that_is_too_large_is_not_read():
    with agent({"message": {"parts": [{"text": "x" * 2_000_000}]}}) as (url, _):
        assert failure(url).reason is Reason.RESPONSE_TOO_LARGE


def test_a_turn_is_a_message_and_its_answer_a_turn():
    suite = suite_of("lumos-shop")
    request = first_turn(
        suite=suite, task=suite.tasks[0],
        context=suite.context(task=suite.tasks[0], offered=frozenset(suite.catalogue.tools)),
    )  # fmt: skip
    with agent({"message": {"parts": [{"data": {"answer": "yes"}}]}}) as (url, seen):
        assert planner(url).turn(request).response.answer == "yes"
    assert seen[1][2]["params"]["message"]["parts"][1]["data"]["key"] == request.key
    with agent({"message": {"parts": [{"text": "Finish."}]}}) as (url, _):
        assert planner(url).turn(request).response.text == "Finish."


def test_the_card_is_read_once_and_may_be_named_itself():
    gold = plan_to_json(suite_of("toolmini").tasks[0].gold)
    with agent({"message": {"parts": [{"data": {"plan": gold}}]}}) as (url, seen):
        client = planner(f"{url}/cards/mine.json")
        assert client.plan(REQUEST).plan == client.plan(REQUEST).plan == gold
    assert [path for path, _, call in seen if call is None] == ["/cards/mine.json"]
