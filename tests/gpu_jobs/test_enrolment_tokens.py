"""Enrolment tokens that come from a file, as a worker of a pool gets them."""

import logging
import os
from pathlib import Path

import pytest

from gpu_jobs.__main__ import parser
from gpu_jobs.client import ApiClient, EnrolmentExpiredError, RefusedError
from gpu_jobs.contract import LeaseRequest
from gpu_jobs.enrolment_tokens import RENEWED_WITHIN_SECONDS, TokenFile
from gpu_jobs.worker_secrets import harmless
from tests.fakes.api import LEASE, FakeApi
from tests.gpu_jobs.test_worker import Clock

REQUEST = LeaseRequest(worker="w", token="0" * 43)


class Site(FakeApi):
    """Opens sessions with the tokens that it knows."""

    def __init__(self, *known: str, code: str = "enrolment_refused") -> None:
        super().__init__(LEASE)
        self.known = known
        self.enrolment_code = code
        self.tried: list[str] = []

    def _open_session(self, request):
        token = request.headers["Authorization"].removeprefix("Bearer ")
        self.tried.append(token)
        self.enrolments.add(token)
        self.enrolment_refused = "" if token in self.known else self.enrolment_code
        return super()._open_session(request)


def client_of(site, path, clock) -> ApiClient:
    tokens = TokenFile(path, sleep=clock.wait, clock=clock)
    return ApiClient(url="http://site", token=tokens, transport=site.transport, sleep=clock.wait, clock=clock)


def written_after(clock: Clock, seconds: float, path, text: str) -> None:
    """Have the file written when so much time has passed."""
    wait = clock.wait

    def waited(pause: float) -> None:
        wait(pause)
        if clock() >= seconds:
            path.write_text(text)

    clock.wait = waited


def test_a_worker_waits_for_its_token_without_end(tmp_path, caplog):
    clock, site, path = Clock(), Site("paw_one"), tmp_path / "token"
    path.write_text(" \n")
    written_after(clock, 3600, path, "paw_one\n")
    with caplog.at_level(logging.WARNING):
        assert client_of(site, path, clock).lease(REQUEST).lease is not None
    assert site.tried == ["paw_one"]
    assert 55 <= sum("waiting for an enrolment token in" in record.message for record in caplog.records) <= 61


def test_each_session_is_opened_with_the_token_that_the_file_holds_then(tmp_path):
    clock, site, path = Clock(), Site("paw_one", "paw_two"), tmp_path / "token"
    path.write_text("paw_one")
    client = client_of(site, path, clock)
    client.lease(REQUEST)
    assert client.secrets()[1:] == ["paw_one"]
    path.write_text("paw_two")
    client.lease(REQUEST)
    clock.wait(3500)
    client.lease(REQUEST)
    assert site.tried == ["paw_one", "paw_two"]
    assert client.secrets()[1:] == ["paw_two"]


@pytest.mark.parametrize("code", ["enrolment_refused", "enrolment_expired"])
def test_a_refused_token_is_replaced_once_the_file_is_renewed(tmp_path, code):
    clock, site, path = Clock(), Site("paw_two", code=code), tmp_path / "token"
    path.write_text("paw_one")
    # A volume may show an empty file while it is renewed.
    written_after(clock, 50, path, "")
    written_after(clock, 100, path, "paw_two")
    assert client_of(site, path, clock).lease(REQUEST).lease is not None
    assert site.tried == ["paw_one", "paw_two"]


@pytest.mark.parametrize(
    ("code", "error"), [("enrolment_refused", RefusedError), ("enrolment_expired", EnrolmentExpiredError)]
)
def test_a_token_that_stays_refused_ends_the_worker(tmp_path, code, error):
    clock, site, path = Clock(), Site(code=code), tmp_path / "token"
    path.write_text("paw_one")
    with pytest.raises(error):
        client_of(site, path, clock).lease(REQUEST)
    assert clock() == pytest.approx(RENEWED_WITHIN_SECONDS, abs=5)
    assert site.tried == ["paw_one"]


def test_the_program_is_told_of_the_file_by_option_or_variable_and_keeps_the_variable(monkeypatch):
    monkeypatch.setenv("PLANARENA_WORKER_TOKEN_FILE", "/run/token")
    assert parser().parse_args(["worker"]).token_file == Path("/run/token")
    assert harmless(os.environ)["PLANARENA_WORKER_TOKEN_FILE"] == "/run/token"
    monkeypatch.delenv("PLANARENA_WORKER_TOKEN_FILE")
    assert parser().parse_args(["worker", "--token-file", "/other"]).token_file == Path("/other")
