"""What the messages of the worker's protocol take, and what they show."""

import pytest
from pydantic import SecretStr, ValidationError

from gpu_jobs.contract import (
    FailRequest,
    FinishRequest,
    LeaseRequest,
    LogLine,
    LogLines,
    SecretHeader,
    Seed,
    Session,
)

TOKEN = "t" * 43


def test_secrets_are_readable_in_what_is_sent_and_in_no_repr():
    header = SecretHeader(name="X-Key", value=SecretStr("the-value"))
    seed = Seed(season="1", seed=SecretStr("the-seed"))
    for message, secret in [(header, "the-value"), (seed, "the-seed")]:
        assert secret in message.model_dump_json()
        assert secret not in repr(message) + str(message.model_dump())
        assert type(message).model_validate_json(message.model_dump_json()) == message


def test_credentials_are_in_no_repr():
    assert TOKEN not in repr(LeaseRequest(worker="w", token=TOKEN)) + repr(Session(token=TOKEN, expires_in=1))


@pytest.mark.parametrize("name", ["", "   ", "a\x00b", "x" * 121])
def test_a_worker_has_a_name_that_can_be_kept(name):
    with pytest.raises(ValidationError, match="worker"):
        LeaseRequest(worker=name, token=TOKEN)


def test_giving_up_needs_a_reason_in_words():
    with pytest.raises(ValidationError, match="reason"):
        FailRequest(reason="  ")


def test_a_malformed_log_is_left_out_of_the_end_of_an_attempt():
    line = {"at": 1.0, "level": "INFO", "text": "x"}
    kept = FinishRequest.model_validate({"results": [], "log": {"first": 3, "lines": [line]}})
    assert kept.log == LogLines(first=3, lines=(LogLine(**line),))
    for log in (None, "x", {"first": 3}, {"first": 3, "lines": [{**line, "at": -1}]}):
        assert FinishRequest.model_validate({"results": [], "log": log}).log.lines == ()


def test_what_follows_lines_begins_behind_them():
    lines = tuple(LogLine(at=1, level="INFO", text=text) for text in "abc")
    assert LogLines(first=4, lines=lines).after() == LogLines(first=7, lines=())
