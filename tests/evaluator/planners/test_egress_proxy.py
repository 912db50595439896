"""With an egress proxy every call to other people's servers goes through it, and none past it."""

import asyncio
import json
import socket
import time

import httpx
import pytest

from evaluator.core.language_model import Failure, FailureKind
from evaluator.core.planner import PlannerError
from evaluator.core.records import Reason
from evaluator.network import name_resolution, ssrf_guard
from evaluator.network.downloads import download
from evaluator.network.egress_policy import EgressPolicyError, egress_policy, parse_own_models, parse_ports, parse_proxy
from evaluator.network.guarded_connections import EgressRefusedError
from evaluator.network.name_resolution import NameResolver
from evaluator.network.ssrf_guard import check_url
from evaluator.planners.endpoint import EndpointPlanner, EndpointSettings
from evaluator.planners.language_models.chat.model import ChatModel, ChatSettings
from evaluator.planners.language_models.fetching import fetch_model
from evaluator.sandbox.admission.hub_lookup import look_up
from evaluator.scoring.metrics.judge import EndpointJudge, JudgeError, JudgeSettings
from gpu_jobs.client import ApiClient
from tests.evaluator.execution.experts.hub_server import serving
from tests.evaluator.planners.test_endpoint import GOOD, REQUEST
from tests.fakes.checkpoints import tiny_files
from tests.fakes.connect_proxy import connect_proxy, connections_seen
from tests.fakes.hostile_server import answers, hostile_server
from tests.fakes.strategies import generate

COMMIT = "c" * 40
PUBLIC = "http://93.184.215.14"
CHAT = {"choices": [{"message": {"content": "a plan"}, "finish_reason": "stop"}]}
PATIENCE = 10.0


def server(answer):
    """A server that answers every request with this JSON."""
    return hostile_server(answers(body=answer if isinstance(answer, bytes) else json.dumps(answer).encode()))


@pytest.fixture
def through(monkeypatch):
    """Set the operator's proxy."""
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    return lambda proxy: monkeypatch.setenv("PLANARENA_EGRESS_PROXY", getattr(proxy, "url", proxy))


def endpoint(url, *, seconds=PATIENCE, tries=1):
    settings = EndpointSettings(url=f"{url}/plan", timeout_seconds=seconds, allow_private=False, tries=tries)
    return EndpointPlanner(settings)


def chat(url, *, seconds=PATIENCE):
    settings = ChatSettings(url=f"{url}/v1", model="m-1", allow_private=False, tries=1, try_seconds=seconds)
    (result,) = ChatModel(settings, key=lambda: None).answer([generate("a noisy image")])
    return result


CALLS = {
    "endpoint": (lambda: endpoint(PUBLIC).plan(REQUEST), GOOD, "93.184.215.14:80"),
    "chat": (lambda: chat(PUBLIC), CHAT, "93.184.215.14:80"),
    "download": (lambda: download(url="http://files.example/a", most_bytes=100), {}, "files.example:80"),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_call_goes_through_the_proxy_and_by_no_other_way(call, through):
    ask, answer, target = CALLS[call]
    with server(answer) as upstream, connect_proxy(upstream.url) as proxy:
        through(proxy)
        with connections_seen() as seen:
            assert not isinstance(ask(), Failure)
    assert proxy.asked == [f"CONNECT {target}"]
    assert set(seen) == {proxy.port}


def test_the_judge_s_server_is_asked_through_the_proxy_under_its_name(through):
    with server({}) as upstream, connect_proxy(upstream.url) as proxy:
        through(proxy)
        judge = EndpointJudge(JudgeSettings(url="http://judge.example/v1", model="m-1"), sleep=lambda _: None)
        with connections_seen() as seen, pytest.raises(JudgeError):
            judge.vote(messages=[], number=0)
    assert set(proxy.asked) == {"CONNECT judge.example:80"}
    assert set(seen) == {proxy.port}


@pytest.fixture
def hub(tmp_path):
    folder = tmp_path / "own" / "planner"
    folder.mkdir(parents=True)
    for name, data in tiny_files().items():
        (folder / name).write_bytes(data)
    with serving(tmp_path, commits={"own/planner": COMMIT}) as address:
        yield address


def test_a_model_is_looked_up_and_fetched_through_the_proxy(hub, through, tmp_path):
    with connect_proxy(hub) as proxy:
        through(proxy)
        with connections_seen() as seen:
            result = look_up(model_id="own/planner", revision="main", hub="http://hub.example")
            fetched = fetch_model(
                repo="own/planner", revision="main", cache=tmp_path / "cache", endpoint="http://hub.example"
            )
    assert (result.commit, fetched.commit) == (COMMIT, COMMIT)
    assert (fetched.folder / "model.safetensors").is_file()
    assert proxy.asked[0] == "CONNECT hub.example:80"
    assert set(seen) == {proxy.port}


def test_a_mirror_that_no_proxy_names_is_reached_directly(hub, through, monkeypatch, tmp_path):
    with connect_proxy() as proxy:
        through(proxy)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        look_up(model_id="own/planner", revision="main", hub=hub)
        fetch_model(repo="own/planner", revision="main", cache=tmp_path / "cache", endpoint=hub)
    assert proxy.asked == []


def test_a_worker_s_calls_of_its_own_site_do_not_go_through_the_proxy(through):
    with server({}) as site, connect_proxy() as proxy:
        through(proxy)
        api = ApiClient(url=site.url, token="t", patience_seconds=0)
        assert api._client.get("anything").status_code == 200
    assert proxy.asked == []


def test_planners_are_called_through_the_proxy_even_if_unresolvable_or_excepted(through, monkeypatch):
    with server(GOOD) as upstream, connect_proxy(upstream.url) as proxy:
        through(proxy)
        endpoint("http://planner.invalid").plan(REQUEST)
        monkeypatch.setenv("NO_PROXY", "*")
        endpoint(PUBLIC).plan(REQUEST)
    assert proxy.asked == ["CONNECT planner.invalid:80", "CONNECT 93.184.215.14:80"]


def test_the_proxy_is_asked_for_the_address_that_was_checked(through, monkeypatch):
    names = NameResolver(look_up=lambda host, port: ["8.8.8.8"] if host == "name.example" else [host])
    monkeypatch.setattr(name_resolution, "NAMES", names)
    with server(GOOD) as upstream, connect_proxy(upstream.url) as proxy:
        through(proxy)
        endpoint("http://name.example").plan(REQUEST)
    assert proxy.asked == ["CONNECT 8.8.8.8:80"]
    assert "Host: 8.8.8.8:80" in proxy.heads[0]


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://127.0.0.1", "private"),
        ("http://[::ffff:0:10.0.0.1]", "reserved"),
        ("http://93.184.215.14:25", "Port 25 may not be called; this site calls ports 80, 443, 1024-65535 only."),
    ],
)
def test_what_may_not_be_called_is_refused_before_the_proxy_is_asked(url, says, through):
    with connect_proxy() as proxy:
        through(proxy)
        with pytest.raises(PlannerError) as caught:
            endpoint(url).plan(REQUEST)
        assert says in str(caught.value)
        result = chat(url)
    assert isinstance(result, Failure)
    assert says in result.message
    assert proxy.asked == []


def test_the_proxy_gets_name_and_password_and_nobody_reads_them(through):
    def refuse(client):
        client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")

    with connect_proxy(answer=refuse) as proxy:
        through(f"http://arena:s3cret@127.0.0.1:{proxy.port}")
        with pytest.raises(PlannerError) as caught:
            endpoint(PUBLIC).plan(REQUEST)
    assert "Proxy-Authorization: Basic YXJlbmE6czNjcmV0" in proxy.heads[0]
    assert "s3cret" not in repr(egress_policy())
    assert "opened no tunnel to 93.184.215.14:80: it answered 407" in str(caught.value)
    assert "s3cret" not in str(caught.value)


def drip(client):
    while True:
        client.sendall(b"H")
        time.sleep(0.05)


PROXY_FAULTS = {
    "refuses": lambda client: client.sendall(b"HTTP/1.1 403 Forbidden\r\n\r\n"),
    "hangs up": lambda client: None,
    "speaks no HTTP": lambda client: client.sendall(b"SSH-2.0-OpenSSH\r\n\r\n"),
    "speaks first": lambda client: client.sendall(b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n{}"),
    "never ends its headers": drip,
    "says nothing": lambda client: client.recv(1),
}


@pytest.mark.parametrize("does", PROXY_FAULTS)
def test_what_the_proxy_does_is_not_the_planner_s_fault(does, through):
    with connect_proxy(answer=PROXY_FAULTS[does]) as proxy:
        through(proxy)
        with pytest.raises(PlannerError) as caught:
            endpoint(PUBLIC, seconds=0.3).plan(REQUEST)
        result = chat(PUBLIC, seconds=0.3)
    assert caught.value.reason is Reason.ENDPOINT_UNAVAILABLE
    assert "proxy" in str(caught.value)
    assert isinstance(result, Failure)
    assert result.kind is FailureKind.UNAVAILABLE


def test_without_its_proxy_nothing_is_called(through):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    through(f"http://127.0.0.1:{port}")
    with connections_seen() as seen, pytest.raises(PlannerError, match="the egress proxy cannot be reached"):
        endpoint(PUBLIC).plan(REQUEST)
    assert set(seen) == {port}


def test_an_address_at_another_service_s_port_is_refused():
    with ssrf_guard.egress_client(allow_private=False, timeout=httpx.Timeout(1.0)) as client:
        for port in (1, 21, 22, 25, 53, 79, 81, 110, 389, 442, 444, 445, 993, 1023):
            says = rf"Port {port} may not be called; this site calls ports 80, 443, 1024-65535 only\."
            with pytest.raises(EgressRefusedError, match=says):
                check_url(url=f"https://8.8.8.8:{port}/", allow_private=False)
            with pytest.raises(EgressRefusedError, match=says):
                check_url(url=f"https://does-not-exist.invalid:{port}/", allow_private=False)
            with pytest.raises(EgressRefusedError, match=says):
                client.post(f"http://8.8.8.8:{port}/")
    assert "Port 25 may not be called" in chat("http://8.8.8.8:25").message


def test_the_operator_may_change_the_allowed_ports(monkeypatch):
    for address in ("http://8.8.8.8", "https://8.8.8.8/plan", "http://8.8.8.8:1024", "http://8.8.8.8:65535"):
        check_url(url=address, allow_private=False)
    monkeypatch.setenv("PLANARENA_EGRESS_PORTS", "443, 8000-8999,79")
    for port in (79, 8999):
        check_url(url=f"http://8.8.8.8:{port}/", allow_private=False)
    with pytest.raises(EgressRefusedError, match="Port 80 may not be called; this site calls ports 443, 8000-8999, 79"):
        check_url(url="http://8.8.8.8/", allow_private=False)


@pytest.mark.parametrize("text", ["", "a", "0", "1-", "-1", "70000", "90-80", "1-2-3", "80 443", "80,", "٨٠"])
def test_ports_that_are_none_are_an_error(text):
    with pytest.raises(EgressPolicyError, match="PLANARENA_EGRESS_PORTS"):
        parse_ports(text)


@pytest.mark.parametrize(
    "text",
    ["proxy:3128", "https://proxy:3128", "socks5://proxy:1080", "http://proxy", "http://:3128", "http://proxy:x",
     "http://proxy:3128/path", "http://proxy:3128?a=s3cret", "http://u:s3cret@proxy", "http://[::1"],
)  # fmt: skip
def test_a_proxy_that_cannot_be_used_is_an_error_without_its_password(text):
    with pytest.raises(EgressPolicyError, match="PLANARENA_EGRESS_PROXY must be http://HOST:PORT") as caught:
        parse_proxy(text)
    assert "s3cret" not in str(caught.value)


def test_the_operator_s_own_models_are_called_directly_and_nothing_else_at_their_address(monkeypatch, through):
    with server({"ok": True}) as upstream, connect_proxy() as proxy:
        port = httpx.URL(upstream.url).port
        through(proxy)
        base = f"http://127.0.0.1:{port}/v1"
        with pytest.raises(EgressRefusedError, match="private"):
            check_url(url=base, allow_private=False)
        monkeypatch.setenv("PLANARENA_OWN_MODELS", f"https://llm.example/v1, {base}/")
        check_url(url=base, allow_private=False)
        check_url(url=f"{base}/chat/completions", allow_private=False)
        for other in ("/v1x", "/metrics", "/", "/v1/../metrics"):
            with pytest.raises(EgressRefusedError, match="private"):
                check_url(url=f"http://127.0.0.1:{port}{other}", allow_private=False)
        with ssrf_guard.egress_client(allow_private=False, timeout=httpx.Timeout(5)) as client:
            assert client.post(f"{base}/chat/completions").status_code == 200
            with pytest.raises(EgressRefusedError, match="private"):
                client.post(f"http://127.0.0.1:{port + 1}/v1")
    assert proxy.asked == []


def test_asynchronous_clients_call_the_operator_s_own_models_directly_too(monkeypatch, through):
    async def post(url: str) -> int:
        timeout = httpx.Timeout(5)
        async with ssrf_guard.async_egress_client(allow_private=False, timeout=timeout, connections=1) as client:
            return (await client.post(url)).status_code

    with server({"ok": True}) as upstream, connect_proxy() as proxy:
        through(proxy)
        monkeypatch.setenv("PLANARENA_OWN_MODELS", upstream.url)
        assert asyncio.run(post(upstream.url)) == 200
    assert proxy.asked == []


@pytest.mark.parametrize(
    "text", ["llm:8000/v1", "ftp://llm/v1", "http://", "http://u:s@llm/v1", "http://llm/v1?a=b", "http://llm:x/v1",
             "http://llm/a/../v1"],
)  # fmt: skip
def test_an_address_of_an_own_model_that_cannot_be_used_is_an_error(text):
    with pytest.raises(EgressPolicyError, match="PLANARENA_OWN_MODELS: "):
        parse_own_models(text)
