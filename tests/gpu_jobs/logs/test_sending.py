"""The log of an attempt, sent while it runs."""

import logging

import pytest

from gpu_jobs.client import ApiClient
from gpu_jobs.contract import LONGEST_LINE
from gpu_jobs.logs.sending import AttemptLog
from gpu_jobs.planners import HeldLease
from tests.fakes.api import LEASE, FakeApi
from tests.fakes.runner import FakeRunner
from tests.gpu_jobs.test_worker import Acting, make_worker

logger = logging.getLogger("somewhere.else")


@pytest.fixture(autouse=True)
def info(caplog):
    caplog.set_level(logging.INFO)


def client_of(api: FakeApi) -> ApiClient:
    return ApiClient(url="http://site", token="operator", transport=api.transport, sleep=lambda _: None)


def text_of(api: FakeApi) -> str:
    return "\n".join(api.log[number] for number in sorted(api.log))


def log_of(api: FakeApi, **changes) -> AttemptLog:
    return AttemptLog(client=client_of(api), lease=HeldLease.model_validate(LEASE), every_seconds=60, **changes)


def test_the_log_says_how_each_task_ended_and_arrives_before_the_attempt_ends():
    api = FakeApi(LEASE)
    make_worker(api, FakeRunner()).run()
    assert [f"task {number}: scored 0.0{number}00" in text_of(api) for number in range(3)] == [True] * 3
    assert "3 tasks of evaluation e1" in text_of(api)
    assert api.late_lines == []


def test_an_error_is_told_without_the_folders_of_the_worker_s_machine():
    api = FakeApi(LEASE)
    make_worker(api, FakeRunner(fails_at="1")).run()
    assert "RuntimeError: the expert fell over" in text_of(api)
    assert api.late_lines == []
    assert "Traceback" not in text_of(api)
    assert ".py" not in text_of(api)


@pytest.mark.parametrize("kind", [{"kind": "endpoint"}, {"kind": "chat", "model": "m", "strategy": "hugginggpt"}])
def test_no_token_no_secret_header_and_no_address_is_sent(kind):
    called = {"url": "https://planner.example.org/plan", "timeout_seconds": 3}
    api = FakeApi({**LEASE, "planner": {**kind, **called, "has_header": True}, "split": "hidden", "needs_seed": True})
    api.header, api.seed = {"name": "X-Own", "value": "value-of-the-header"}, "seed-of-the-season"

    def talk(lease, task):
        secrets = [lease.header.value, lease.hidden_seed]
        told = f"{lease.token} {lease.planner.url} {[one.get_secret_value() for one in secrets]} {api.session}"
        logger.warning("%s operator-token my-own-secret Authorization: x-y-z", told)

    make_worker(api, Acting(talk), secrets=["operator-token", "my-own-secret"]).run()
    said = text_of(api)
    assert "the endpoint" in said
    hidden = ("attempt-token", "operator-token", "my-own-secret", "x-y-z", "planner.example.org", "value-of-the-header",
              "seed-of-the-season", "session-1")  # fmt: skip
    assert [secret for secret in hidden if secret in said] == []


def test_lines_that_did_not_arrive_are_sent_again_under_the_same_numbers():
    api = FakeApi()
    api.log_failures.extend([503])
    with log_of(api) as log:
        logger.info("one")
        log._send(patience=0.0)
        assert api.log == {}
        logger.info("two\nthree")
        log._send(patience=0.0)
        log._send(patience=0.0)
    assert api.log == {0: "one", 1: "two", 2: "three"}


@pytest.mark.parametrize("status", [404, 409, 400])
def test_a_site_that_does_not_take_lines_is_not_asked_again(status):
    api = FakeApi()
    api.log_failures.extend([status])
    with log_of(api) as log:
        for text in ("one", "two"):
            logger.info(text)
            log._send(patience=0.0)
    assert api.log == {}


def test_far_too_many_lines_are_dropped_with_a_note_and_long_ones_cut():
    api = FakeApi()
    with log_of(api) as log:
        logger.info("x" * 5000)
        for number in range(2500):
            logger.info("line %d", number)
        log._send(patience=0.0)
        logger.info("the last")
        log._send(patience=0.0)
    lines = [api.log[number] for number in sorted(api.log)]
    assert len(lines[0]) == LONGEST_LINE
    assert lines[0].endswith("(cut)")
    assert lines[-2:] == ["(501 lines were dropped: the site could not be reached)", "the last"]


def test_what_cannot_be_kept_by_a_database_is_replaced():
    api = FakeApi()
    with log_of(api) as log:
        logger.info("a\x00b\ud800c")
        log._send(patience=0.0)
    assert text_of(api) == "a?b?c"
