"""How a worker's client keeps a session: opened when needed, renewed in time, and what happens when it cannot be."""

import logging
from uuid import UUID

import pytest

from gpu_jobs.client import ApiClient, EnrolmentExpiredError
from gpu_jobs.contract import LeaseRequest
from gpu_jobs.exits import REFUSED, Exit
from gpu_jobs.planners import HeldLease
from gpu_jobs.worker import Terminated, Worker
from tests.fakes.api import LEASE, FakeApi
from tests.fakes.runner import FakeRunner
from tests.gpu_jobs.test_worker import Acting, Clock

ENDPOINT = {"kind": "endpoint", "url": "https://planner.example/", "timeout_seconds": 3, "has_header": True}
EVALUATION = UUID("5e8c0a52-1d3f-47e6-b6a4-2f9b7f3c9d21")
HEADER = {"name": "X-Key", "value": "value-of-the-header"}


def client_of(api: FakeApi, **options) -> ApiClient:
    given = {"url": "http://site", "token": "operator", "transport": api.transport, "sleep": lambda _: None}
    return ApiClient(**{**given, **options})


def request(number: int = 0) -> LeaseRequest:
    return LeaseRequest(worker="w", token=f"{number:043}")


def run(api: FakeApi, runner: FakeRunner | None = None, **options) -> int:
    return Worker(client=client_of(api), runner=runner or FakeRunner(), name="w", idle_seconds=0.0, **options).run()


def test_one_session_serves_many_leases_and_is_bound_to_what_the_worker_takes():
    api = FakeApi(LEASE, {**LEASE, "attempt": "a2"})
    client = client_of(api, suites=["openagi"], evaluation=EVALUATION, gpu_memory_bytes=2**35)
    assert [client.lease(request(number)).lease.attempt for number in range(2)] == ["a1", "a2"]
    assert api.session not in repr(client._session)
    assert api.opened == [{"suites": ["openagi"], "evaluation": str(EVALUATION), "gpu_memory_bytes": 2**35}]


def test_a_session_is_renewed_before_it_ends():
    clock, api = Clock(), FakeApi(LEASE, LEASE)
    client = client_of(api, clock=clock)
    client.lease(request(1))
    clock.wait(2800)
    client.lease(request(2))
    assert len(api.opened) == 1
    clock.wait(100)
    client.lease(request(3))
    assert len(api.opened) == 2


def test_a_session_that_ended_early_is_opened_again_and_the_lease_asked_for_once_more():
    api = FakeApi(LEASE)
    client = client_of(api)
    client.lease(request(1))
    api.session = "ended by the site"
    assert client.lease(request(2)).lease is None
    assert len(api.opened) == 2


def test_an_expired_enrolment_ends_the_worker_with_a_code_that_lets_another_start():
    api = FakeApi()
    api.enrolment_refused = "enrolment_expired"
    assert run(api) == Exit.ENROLMENT_EXPIRED
    assert Exit.ENROLMENT_EXPIRED not in REFUSED
    with pytest.raises(EnrolmentExpiredError):
        client_of(api).lease(request())


def test_an_enrolment_that_expires_while_a_lease_is_worked_on_costs_none_of_its_results():
    api = FakeApi(LEASE)

    def expire(lease, task):
        api.session, api.enrolment_refused = "ended by the site", "enrolment_expired"

    assert run(api, Acting(expire)) == Exit.ENROLMENT_EXPIRED
    assert sorted(api.results) == ["0", "1", "2"]
    assert [how for how, _ in api.ended] == ["finish"]


class TestSecretsOfAnAttempt:
    def test_they_are_fetched_by_its_calls_and_are_in_no_repr(self):
        api = FakeApi({**LEASE, "planner": ENDPOINT, "split": "hidden", "needs_seed": True})
        api.seed, api.header = "the-derived-seed", HEADER
        seen: list[HeldLease] = []
        assert run(api, Acting(lambda lease, task: seen.append(lease))) == 0
        assert seen[0].hidden_seed.get_secret_value() == "the-derived-seed"
        assert seen[0].header.value.get_secret_value() == "value-of-the-header"
        assert "the-derived-seed" not in repr(seen[0]) + seen[0].model_dump_json()
        assert "value-of-the-header" not in repr(seen[0]) + seen[0].model_dump_json()

    def test_a_lease_that_needs_none_asks_for_none(self):
        api = FakeApi(LEASE)
        run(api)
        assert not [call for call in api.calls if call.endswith(("seed/", "secret-header/"))]

    def test_a_site_that_refuses_them_gets_the_lease_back_and_the_worker_goes_on(self):
        refused = {**LEASE, "planner": ENDPOINT}
        api = FakeApi(refused, {**LEASE, "attempt": "a2"})
        assert run(api) == 0
        assert [how for how, _ in api.ended] == ["fail", "finish"]
        assert "refused the attempt's secrets" in api.ended[0][1]["reason"]

    @pytest.mark.parametrize("code", ["lost", "cancelled"])
    def test_an_attempt_that_is_over_by_then_is_left(self, code, caplog):
        caplog.set_level(logging.WARNING)
        api = FakeApi({**LEASE, "needs_seed": True})
        api.over = code
        assert run(api) == 0
        assert code in caplog.text

    def test_a_worker_that_is_told_to_stop_meanwhile_gives_the_lease_back(self, monkeypatch):
        api = FakeApi({**LEASE, "needs_seed": True})

        def stopped(self, lease):
            raise Terminated

        monkeypatch.setattr(ApiClient, "seed", stopped)
        assert run(api) == Exit.TERMINATED
        assert [(how, body["how"]) for how, body in api.ended] == [("fail", "released")]
