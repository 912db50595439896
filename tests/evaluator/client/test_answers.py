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
    with pytest.raises(UsageError, match="invalid characters") as caught:
        Client(url="https://site", token=token)
    assert "secret" not in str(caught.value)


def test_an_answer_of_another_shape_is_refused_with_where():
    for value in ({}, [], {"id": 3}, "text", None):
        with pytest.raises(RefusedError, match="PlanArena site"):
            client(saying(value)).evaluation("e")
    for value in ([], {"results": []}, {"results": 3, "next": None}, {"results": [3], "next": None}):
        with pytest.raises(RefusedError, match="PlanArena site"):
            client(saying(value)).suites()
    with pytest.raises(RefusedError):
        client(lambda request: httpx.Response(200, text="<html>")).evaluation("e")


def test_an_answer_that_cannot_be_decoded_is_no_traceback():
    def garbled(request):
        return httpx.Response(200, headers={"Content-Encoding": "gzip"}, content=json.dumps({}).encode())

    with pytest.raises(UnreachableError):
        client(garbled).evaluation("e")


IDS = [
    {"id": "aaaa1111-0000-4000-8000-000000000000", "submission": "bbbb1111-0000-4000-8000-000000000000"},
    {"id": "cccc1111-0000-4000-8000-000000000000", "submission": "bbbb1111-0000-4000-8000-000000000000"},
    {"id": "bbbb2222-0000-4000-8000-000000000000", "submission": "dddd1111-0000-4000-8000-000000000000"},
]


def test_a_beginning_of_several_ids_is_refused_and_one_of_a_submission_with_several_evaluations_is_not():
    asked = []

    def answer(request):
        asked.append(request.url)
        if request.url.path.endswith("/evaluations/"):
            digits = request.url.params["id"].replace("-", "")
            rows = [row for row in IDS if any(text.replace("-", "").startswith(digits) for text in row.values())]
            return httpx.Response(200, json={"results": rows, "next": None})
        return httpx.Response(404, json={"detail": "no"})

    with pytest.raises(UsageError, match="2 ids begin with 'bbbb', such as bbbb1111-"):
        client(answer).find("bbbb")
    for beginning in ("BBBB1111-0", "bbbb11110000"):
        with pytest.raises(RefusedError, match="'bbbb1111-0000-4000-8000-000000000000'"):
            client(answer).find(beginning)
    assert asked[-2].path == "/api/v1/submissions/bbbb1111-0000-4000-8000-000000000000/"


@pytest.mark.parametrize("whole", ["abc", "../suites", "aaaa1111-0000-4000-8000-000000000000", "not-hex"])
def test_only_the_beginning_of_an_id_is_looked_up(whole):
    asked = []

    def answer(request):
        asked.append(request.url.path)
        return httpx.Response(404, json={"detail": "no"})

    with pytest.raises(RefusedError, match="neither"):
        client(answer).find(whole)
    assert "/api/v1/evaluations/" not in asked
