"""Answers that no PlanArena site gives, and tokens that no site gave."""

import json

import httpx
import pytest

from evaluator.client.api import Client
from evaluator.client.errors import RefusedError, UnreachableError, UsageError


def client(answer, *, token="t"):
    return Client(
        url="https://site", token=token, patience=0, transport=httpx.MockTransport(answer), sleep=lambda _: None
    )


def saying(value):
    return lambda request: httpx.Response(200, json=value)


@pytest.mark.parametrize("token", ["secret\n", "secret\r\nX: 1", "geheimß", "a\x00b"])
def test_a_token_that_no_header_may_hold_is_bad_usage_and_not_shown(token):
    with pytest.raises(UsageError, match="characters that no token has") as caught:
        Client(url="https://site", token=token)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("value", [{}, [], {"id": 3}, "text", None])
def test_an_answer_of_another_shape_is_refused_with_where(value):
    with pytest.raises(RefusedError, match="PlanArena site"):
        client(saying(value)).evaluation("e")


@pytest.mark.parametrize("value", [[], {"results": []}, {"results": 3, "next": None}, {"results": [3], "next": None}])
def test_a_list_of_another_shape_is_refused(value):
    with pytest.raises(RefusedError, match="PlanArena site"):
        client(saying(value)).suites()


def test_text_that_is_no_json_is_refused():
    with pytest.raises(RefusedError):
        client(lambda request: httpx.Response(200, text="<html>")).evaluation("e")


def test_an_answer_that_cannot_be_decoded_is_no_traceback():
    def garbled(request):
        return httpx.Response(200, headers={"Content-Encoding": "gzip"}, content=json.dumps({}).encode())

    with pytest.raises(UnreachableError):
        client(garbled).evaluation("e")
