"""The table of answers of servers, retries, and what clients say of an error."""

import json
import time
from email.utils import formatdate

import pytest

from evaluator.network.transient import (
    Backoff,
    ErrorKind,
    TransientError,
    asked_to_wait,
    error_in,
    is_html,
    is_transient,
    kind_of_error,
    retried,
    sentence_in,
    server_error,
    status_in,
)


def test_statuses_of_gateways_are_transient_and_answers_are_not():
    transient = {408, 409, 425, 429, *range(500, 512), *range(520, 531), 598, 599}
    assert {status for status in range(200, 500) if is_transient(status)} == {408, 409, 425, 429}
    assert all(map(is_transient, transient))
    assert not is_transient(409, conflicts_are_answers=True)


def test_retry_after_is_seconds_or_a_date(monkeypatch):
    now = 1_800_000_000.0
    monkeypatch.setattr(time, "time", lambda: now)
    assert asked_to_wait({"Retry-After": "3"}) == 3
    assert asked_to_wait({"Retry-After": " 0.5 "}) == 0.5
    assert asked_to_wait({"Retry-After": "-3"}) == 0
    by_date = {"Date": formatdate(now - 500, usegmt=True), "Retry-After": formatdate(now - 490, usegmt=True)}
    assert asked_to_wait(by_date) == 10
    assert asked_to_wait({"Retry-After": formatdate(now + 20, usegmt=True)}) == 20
    assert asked_to_wait({"Retry-After": formatdate(now - 20, usegmt=True)}) == 0
    for odd in ("soon", "nan", "inf", "1e999", "", "Thu, 99 Nov 2026 25:00:00 GMT"):
        assert asked_to_wait({"Retry-After": odd}) is None, odd
    assert asked_to_wait({}) is None


@pytest.mark.parametrize("body", [b"<!DOCTYPE html>", b"\xef\xbb\xbf  <html lang=en>", b"<HEAD>", b"<!-- wait -->"])
def test_pages_are_told_from_json_and_text(body):
    assert is_html(body)
    assert not is_html(b'{"plan": "<html>"}')
    assert not is_html(b"<Solution>")


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ({"error": {"message": "Provider returned error", "code": 502}}, "Provider returned error, 502"),
        ({"error": " slow \n down "}, "slow down"),
        ({"errors": [{"message": "a"}, {"message": "b"}]}, "a"),
        ({"object": "error", "message": "gone"}, "gone"),
        ({"type": "error", "message": "Overloaded"}, "Overloaded"),
        ({"error": {"detail": []}}, "an error without a message"),
        ({"error": None, "plan": "x"}, None),
        ({"plan": "x"}, None),
        (["error"], None),
    ],
)
def test_an_error_inside_json_is_recognised(value, error):
    assert error_in(value) == error


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (429, "", ErrorKind.TRANSIENT),
        (429, "Quota exceeded for requests per minute", ErrorKind.TRANSIENT),
        (429, '{"error": {"code": "insufficient_quota"}}', ErrorKind.OVER_QUOTA),
        (402, "", ErrorKind.OVER_QUOTA),
        (400, "Your credit balance is too low", ErrorKind.OVER_QUOTA),
        (503, "the content_filter is down", ErrorKind.TRANSIENT),
        (400, '{"error": {"code": "content_filter"}}', ErrorKind.FILTERED),
        (400, '{"error": {"innererror": {"code": "ResponsibleAIPolicyViolation"}}}', ErrorKind.FILTERED),
        (413, "", ErrorKind.TOO_LONG),
        (400, "This model's maximum context length is 4096 tokens", ErrorKind.TOO_LONG),
        (200, "upstream failed", ErrorKind.TRANSIENT),
        (400, "bad", ErrorKind.PERMANENT),
        (401, "", ErrorKind.PERMANENT),
        (404, "", ErrorKind.PERMANENT),
    ],
)
def test_errors_are_the_infrastructures_or_the_planners(status, body, kind):
    assert kind_of_error(status, body=body) is kind


def test_conflicts_are_answers_of_some_apis():
    assert kind_of_error(409) is ErrorKind.TRANSIENT
    assert kind_of_error(409, conflicts_are_answers=True) is ErrorKind.PERMANENT


@pytest.mark.parametrize(
    ("error", "status"),
    [({"code": 502}, 502), ({"code": "429"}, 429), ({"status": 503}, 503), ({"code": "rate_limit"}, None), ("x", None)],
)
def test_gateways_name_the_status_in_the_error(error, status):
    assert status_in({"error": error}) == status
    assert status_in([]) is None


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b'{"error": {"message": "Insufficient credits.", "code": 402}}', "Insufficient credits., 402"),
        (b'{"type": "about:blank", "title": "Gone", "detail": "The plan ended."}', "The plan ended"),
        (b'{"message": "no such model"}', "no such model"),
        (b'"unknown"', "unknown"),
        (b"wrong signature\nat line 3\n", "wrong signature"),
        (b"tab\tand \x1b[31mcolour", "tab and [31mcolour"),
        (b"<html>Bad gateway</html>", ""),
        (b'{"error": "cut o', ""),
        (b"\x00\x01", ""),
        (b"{}", ""),
        (b"[" * 100_000, ""),
        (b"", ""),
    ],
)
def test_the_words_of_a_server_are_one_line(body, sentence):
    assert sentence_in(body) == sentence


def test_words_are_bounded_after_secrets_are_removed():
    body = json.dumps({"detail": "x" * 195 + "hunter22" * 3}).encode()
    found = server_error(401, body=body, without=lambda text: text.replace("hunter22", "***"))
    assert str(found) == f"HTTP 401 (permanent): {'x' * 195}*****"
    assert found.in_short == "HTTP 401 (permanent)"


def test_a_page_of_a_gateway_is_transient_where_servers_answer_in_json():
    page = b"<!doctype html><title>Denied</title>"
    assert server_error(403, body=page).kind is ErrorKind.PERMANENT
    assert server_error(403, body=page, pages_are_transient=True).kind is ErrorKind.TRANSIENT
    assert server_error(302, body=page, pages_are_transient=True).kind is ErrorKind.PERMANENT
    assert str(server_error(409, conflicts_are_answers=True)) == "HTTP 409 (permanent)"
    assert str(server_error(402, body=b"Pay first.")) == "HTTP 402 (over quota): Pay first"


class Clock:
    """Time that passes while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


def failing(*, problems, result="done"):
    """Fails once with each of these errors, then gives a result."""
    left = list(problems)

    def call(number: int) -> str:
        if left:
            raise left.pop(0)
        return f"{result} in {number}"

    return call


def test_a_call_is_tried_again_after_growing_pauses_that_respect_retry_after():
    clock = Clock()
    problems = [TransientError("503"), TransientError("429", asked=7.0), TransientError("429", asked=900.0)]
    found = retried(
        failing(problems=problems), backoff=Backoff(longest=0.8, longest_asked=60.0), tries=4, sleep=clock.sleep
    )
    assert found == "done in 4"
    assert clock.pauses == [0.5, 7.0, 60.0]


def test_the_last_try_s_error_is_raised_when_tries_or_time_end():
    clock = Clock()
    endless = [TransientError(f"problem {at}") for at in range(1, 100)]
    with pytest.raises(TransientError, match="problem 3"):
        retried(failing(problems=endless), backoff=Backoff(longest=1.0), tries=3, sleep=clock.sleep)
    clock = Clock()
    with pytest.raises(TransientError, match="problem 4"):
        retried(failing(problems=endless), backoff=Backoff(longest=1.0), seconds=3.0, sleep=clock.sleep, clock=clock)
    assert clock.now <= 3.0
    with pytest.raises(ZeroDivisionError):
        retried(lambda _: 1 // 0, backoff=Backoff(longest=1.0), sleep=clock.sleep)


def test_an_error_that_renews_the_time_keeps_a_call_going():
    clock = Clock()
    full = [TransientError("disk full", renews=True) for _ in range(50)]
    found = retried(failing(problems=full), backoff=Backoff(longest=10.0), seconds=20.0, sleep=clock.sleep, clock=clock)
    assert found == "done in 51"
    assert clock.now > 400


def test_jitter_shortens_a_pause_by_at_most_a_half_and_never_what_was_asked_for():
    backoff = Backoff(first=1.0, longest=8.0, jitter=True)
    assert all(0.5 <= backoff.pause(1) <= 1.0 and 4.0 <= backoff.pause(9) <= 8.0 for _ in range(100))
    assert backoff.pause(1, asked=3.0) == 3.0
