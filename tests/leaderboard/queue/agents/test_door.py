"""Who may call `/mcp/`, how, and what everybody else is told."""

import httpx
import pytest

from leaderboard.evaluations.models import Evaluation
from leaderboard.people.services import create_token
from leaderboard.platform.api.throttling import Throttle
from tests.leaderboard.factories import make_user
from tests.leaderboard.queue.agents.acting import entered
from tests.leaderboard.serving import server

PING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPT = "application/json, text/event-stream"

pytestmark = pytest.mark.django_db(transaction=True)


def post(url, *, token="", query="", body=PING, method="POST", **headers):
    given = {"Authorization": f"Bearer {token}"} if token else {}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.request(
        method, f"{url}/mcp/{query}", json=body, headers={"Accept": ACCEPT, **given, **named}, timeout=30
    )


def problem(answer):
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, answer.json()["code"]


@pytest.fixture
def url(turns):
    with server() as address:
        yield address


def token_of(user, *scopes):
    return create_token(user=user, scopes=scopes or ["submit"]).token


@pytest.fixture
def user(url):
    return make_user()


@pytest.fixture
def evaluation(user):
    return entered("toy-turns", user=user)


@pytest.fixture
def token(user, evaluation):
    return token_of(user)


def test_the_tools_of_the_one_evaluation_are_listed(url, token):
    listed = post(url, token=token).json()["result"]["tools"]
    assert [tool["name"] for tool in listed] == ["next_task", "submit_answer", "progress", "Add", "Repeat", "Broken"]
    assert listed[3]["inputSchema"]["required"] == ["one", "other"]


def test_credentials_come_before_anything_else(url, user, evaluation, token):
    anonymous = post(url)
    assert problem(anonymous) == (401, "not_authenticated")
    assert anonymous.headers["www-authenticate"] == "Bearer"
    assert problem(post(url, token="pa_" + "x" * 40)) == (401, "not_authenticated")
    assert problem(post(url, token=token_of(user, "read"))) == (403, "scope_missing")
    assert problem(post(url, token=token_of(make_user()))) == (404, "not_found")
    query = f"?evaluation={evaluation.pk}"
    assert problem(post(url, token=token_of(make_user()), query=query)) == (404, "not_found")
    assert post(url, token=token, query=query).status_code == 200
    assert problem(post(url, token=token, query="?evaluation=mine")) == (404, "not_found")


def test_pages_of_other_sites_may_not_call(url, token):
    for origin in ("https://evil.example", "null", "http://127.0.0.1.evil.example"):
        assert problem(post(url, token=token, Origin=origin)) == (403, "wrong_origin"), origin
    assert post(url, token=token, Origin=url).status_code == 200


def test_a_rebound_host_name_is_refused(url, token, settings):
    settings.ALLOWED_HOSTS = ["arena.example"]
    assert problem(post(url, token=token)) == (400, "wrong_host")


def test_only_post_and_only_bounded_bodies_with_and_without_a_length(url, token):
    for method in ("GET", "DELETE", "PUT"):
        assert problem(post(url, token=token, method=method)) == (405, "method_not_allowed")
    large = {**PING, "params": {"x": "y" * 2_000_000}}
    assert problem(post(url, token=token, body=large)) == (413, "too_large")
    assert problem(post(url, body={**PING, "params": {"x": "y" * 100_000}})) == (401, "not_authenticated")
    headers = {"Authorization": f"Bearer {token}", "Accept": ACCEPT, "Content-Type": "application/json"}

    def chunks(count):
        yield b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"x": "'
        for _ in range(count // 65536 + 1):
            yield b"y" * 65536
        yield b'"}}'

    for size in (1024 * 1024 + 1, 3_000_000):
        answer = httpx.post(f"{url}/mcp/", content=chunks(size), headers=headers, timeout=30)
        assert problem(answer) == (413, "too_large"), size
    assert httpx.post(f"{url}/mcp/", content=chunks(1), headers=headers, timeout=30).status_code == 200


def test_calls_are_counted(url, token, monkeypatch):
    monkeypatch.setitem(Throttle.THROTTLE_RATES, "agents", "2/min")
    answers = [post(url, token=token) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert problem(answers[2]) == (429, "throttled")
    assert int(answers[2].headers["retry-after"]) > 0


def test_of_several_evaluations_one_must_be_named(url, user, evaluation, token):
    second = entered("toy-turns", user=user)
    refused = post(url, token=token)
    assert problem(refused) == (409, "several_evaluations")
    assert {str(evaluation.pk), str(second.pk)} <= set(refused.json()["detail"].replace("(", " ").split())
    assert post(url, token=token, query=f"?evaluation={second.pk}").status_code == 200


def test_what_is_no_message_of_the_protocol_gets_an_error(url, token):
    for body in ({}, [], "text", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 5}}):
        answer = post(url, token=token, body=body)
        assert answer.status_code < 500, body
        assert "error" in answer.json(), body


def test_an_evaluation_that_has_ended_says_so(url, token, evaluation):
    Evaluation.objects.filter(pk=evaluation.pk).update(state="cancelled", reason="cancelled_by_owner")
    body = {**PING, "method": "tools/call", "params": {"name": "next_task", "arguments": {}}}
    text = post(url, token=token, body=body).json()["result"]["content"][0]["text"]
    assert text == "All tasks are done: the evaluation is cancelled. There is nothing left to do."
