"""A secret header: what may be one, and that it is in nothing that others read."""

import base64
import json
import traceback

import pytest

from evaluator.core.planner import PlannerError
from evaluator.network.secret_header import SecretHeader, problem_of_name, problem_of_value
from evaluator.planners.endpoint import EndpointPlanner, EndpointSettings
from tests.evaluator.planners.test_endpoint import REQUEST, endpoint

TOKEN = 'tok"en/1234567890'
HEADER = SecretHeader("X-Api-Key", TOKEN)


BAD_NAMES = [
    "", "Host", "content-length", "Transfer-Encoding", "CONNECTION", "Keep-Alive", "TE", "Upgrade", "Content-Type",
    "Proxy-Authorization", "a b", "a:b", "a\r\nb", "naïve", "x" * 101,
]  # fmt: skip


def test_names_that_would_break_http_are_refused():
    assert [name for name in BAD_NAMES if not problem_of_name(name)] == []
    assert [name for name in ("Authorization", "X-Api-Key", "api_key", "x" * 100) if problem_of_name(name)] == []


def test_values_that_no_header_holds_are_refused_without_being_repeated():
    for value in ("short", "x" * 4097, "12345678\r\nHost: a", "1234567\t8", "schlüssel-1", " 12345678"):
        problem = problem_of_value(value)
        assert problem
        assert value not in problem


def test_the_value_is_in_no_repr():
    settings = EndpointSettings(url="http://127.0.0.1/", header=HEADER)
    assert TOKEN not in repr(settings)
    assert "X-Api-Key" in repr(settings)


def test_what_follows_a_scheme_and_the_password_of_basic_are_secrets_too():
    basic = "Basic " + base64.b64encode(b"ada:correct-horse").decode()
    for value, secret in (("Bearer abcdefgh-123", "abcdefgh-123"), ("Token abc-12345", "abc-12345"),
                          (basic, "correct-horse")):  # fmt: skip
        assert SecretHeader("Authorization", value).taken_out_of(f"echo: {secret}") == "echo: ***"


def plan(url: str, **options):
    planner = EndpointPlanner(
        EndpointSettings(url=url, timeout_seconds=5, allow_private=True, header=HEADER, tries=1), **options
    )
    try:
        return planner.plan(REQUEST)
    finally:
        planner.close()


def echo(status: int, make):
    """Answers what it was sent."""
    return lambda handler: (status, make(handler.headers["X-Api-Key"]).encode())


def test_the_header_is_sent_and_taken_out_of_a_plan_that_repeats_it():
    seen = []
    body = echo(200, lambda value: json.dumps({"plan": {"steps": [{"id": value}], value: 1}, "alternatives": [value]}))
    with endpoint(body) as (url, _):
        reply = plan(url, watch=lambda status, body: seen.append((status, body.decode())))
    assert reply.plan == {"steps": [{"id": "***"}], "***": 1}
    assert reply.alternatives == ("***",)
    assert seen[0][0] == 200


@pytest.mark.parametrize("status", [200, 401, 404])
def test_an_error_that_repeats_the_header_does_not_tell_it(status: int):
    # Behind much else, so that the secret lies where what is kept of the answer is cut.
    body = echo(status, lambda value: "x" * 1990 + value)
    with endpoint(body) as (url, _), pytest.raises(PlannerError) as fault:
        plan(url)
    told = f"{fault.value} {fault.value.received} {''.join(traceback.format_exception(fault.value))}"
    assert TOKEN not in told
    assert TOKEN[:8] not in told


def test_a_redirect_is_not_followed_so_that_the_header_goes_nowhere_else():
    with endpoint((200, b"{}")) as (elsewhere, received):
        with endpoint((302, b"", {"Location": elsewhere})) as (url, _), pytest.raises(PlannerError, match="redirect"):
            plan(url)
        assert received == []
