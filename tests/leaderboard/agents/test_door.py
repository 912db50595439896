"""Who may call `/mcp/`, how, and what everybody else is told."""

import httpx
import pytest

from leaderboard.accounts.services import create_token
from leaderboard.evaluations.models import Evaluation
from leaderboard.site.api.throttling import Throttle
from tests.leaderboard.agents.acting import entered
from tests.leaderboard.factories import make_user
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
def url():
    with server() as address:
        yield address


def token_of(user, *scopes):
    return create_token(user=user, scopes=scopes or ["submit"]).token


def test_the_tools_of_the_one_evaluation_are_listed(turns, url):
    user = make_user()
    entered("toy-turns", user=user)
    listed = post(url, token=token_of(user)).json()["result"]["tools"]
    assert [tool["name"] for tool in listed] == ["next_task", "submit_answer", "progress", "Add", "Repeat", "Broken"]
    assert listed[3]["inputSchema"]["required"] == ["one", "other"]


def test_credentials_come_before_anything_else(turns, url):
    user = make_user()
    evaluation = entered("toy-turns", user=user)
    anonymous = post(url)
    assert problem(anonymous) == (401, "not_authenticated")
    assert anonymous.headers["www-authenticate"] == "Bearer"
    assert problem(post(url, token="pa_" + "x" * 40)) == (401, "not_authenticated")
    assert problem(post(url, token=token_of(user, "read"))) == (403, "scope_missing")
    assert problem(post(url, token=token_of(make_user()))) == (404, "not_found")
    query = f"?evaluation={evaluation.pk}"
    assert problem(post(url, token=token_of(make_user()), query=query)) == (404, "not_found")
    assert post(url, token=token_of(user), query=query).status_code == 200
    assert problem(post(url, token=token_of(user), query="?evaluation=mine")) == (404, "not_found")


def test_pages_of_other_sites_may_not_call(turns, url):
    user = make_user()
    entered("toy-turns", user=user)
    for origin in ("https://evil.example", "null", "http://127.0.0.1.evil.example"):
        assert problem(post(url, token=token_of(user), Origin=origin)) == (403, "wrong_origin"), origin
    assert post(url, token=token_of(user), Origin=url).status_code == 200


def test_a_rebound_host_name_is_refused(turns, url, settings):
    settings.ALLOWED_HOSTS = ["arena.example"]
    assert problem(post(url, token=token_of(make_user()))) == (400, "wrong_host")


def test_only_post_and_only_bounded_bodies(turns, url):
    user = make_user()
    entered("toy-turns", user=user)
    for method in ("GET", "DELETE", "PUT"):
        assert problem(post(url, token=token_of(user), method=method)) == (405, "method_not_allowed")
    large = {**PING, "params": {"x": "y" * 2_000_000}}
    assert problem(post(url, token=token_of(user), body=large)) == (413, "too_large")
    assert problem(post(url, body={**PING, "params": {"x": "y" * 100_000}})) == (401, "not_authenticated")


def test_a_body_without_a_length_is_bounded_too(turns, url):
    user = make_user()
    entered("toy-turns", user=user)
    headers = {"Authorization": f"Bearer {token_of(user)}", "Accept": ACCEPT, "Content-Type": "application/json"}

    def chunks(count):
        yield b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"x": "'
        for _ in range(count // 65536 + 1):
            yield b"y" * 65536
        yield b'"}}'

    for size in (1024 * 1024 + 1, 3_000_000):
        answer = httpx.post(f"{url}/mcp/", content=chunks(size), headers=headers, timeout=30)
        assert problem(answer) == (413, "too_large"), size
    assert httpx.post(f"{url}/mcp/", content=chunks(1), headers=headers, timeout=30).status_code == 200


def test_calls_are_counted(turns, url, monkeypatch):
    user = make_user()
    entered("toy-turns", user=user)
    monkeypatch.setitem(Throttle.THROTTLE_RATES, "agents", "2/min")
    token = token_of(user)
    answers = [post(url, token=token) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert problem(answers[2]) == (429, "throttled")
    assert int(answers[2].headers["retry-after"]) > 0


def test_of_several_evaluations_one_must_be_named(turns, url):
    user = make_user()
    first, second = entered("toy-turns", user=user), entered("toy-turns", user=user)
    refused = post(url, token=token_of(user))
    assert problem(refused) == (409, "several_evaluations")
    assert {str(first.pk), str(second.pk)} <= set(refused.json()["detail"].replace("(", " ").split())
    assert post(url, token=token_of(user), query=f"?evaluation={second.pk}").status_code == 200


def test_what_is_no_message_of_the_protocol_gets_an_error(turns, url):
    user = make_user()
    entered("toy-turns", user=user)
    for body in ({}, [], "text", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 5}}):
        answer = post(url, token=token_of(user), body=body)
        assert answer.status_code < 500, body
        assert "error" in answer.json(), body


def test_an_evaluation_that_has_ended_says_so(turns, url):
    user = make_user()
    evaluation = entered("toy-turns", user=user)
    Evaluation.objects.filter(pk=evaluation.pk).update(state="cancelled", reason="cancelled_by_owner")
    body = {**PING, "method": "tools/call", "params": {"name": "next_task", "arguments": {}}}
    text = post(url, token=token_of(user), body=body).json()["result"]["content"][0]["text"]
    assert text == "All tasks are done: the evaluation is cancelled. There is nothing left to do."
