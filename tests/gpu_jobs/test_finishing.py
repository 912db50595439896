"""The call that ends a shard and leases the next one."""

import httpx
import pytest

from gpu_jobs import delivery
from gpu_jobs.client import ApiClient
from gpu_jobs.delivery import Known
from gpu_jobs.exits import Exit
from gpu_jobs.worker import Terminated, Worker
from tests.fakes.api import LEASE, FakeApi
from tests.fakes.runner import FakeRunner
from tests.gpu_jobs.test_worker import make_worker


def leases(count: int) -> list[dict]:
    return [{**LEASE, "attempt": f"a{number}"} for number in range(1, count + 1)]


def test_a_shard_whose_artefacts_the_site_has_takes_one_call():
    api = FakeApi(*leases(3))
    assert make_worker(api, FakeRunner()).run() == Exit.IDLE
    assert [call for call in api.calls if not call.endswith("heartbeat/")] == [
        "session/", "lease/", "attempts/a1/objects/missing/", "attempts/a1/objects/", "attempts/a1/finish/",
        "attempts/a2/finish/", "attempts/a3/finish/", "lease/",
    ]  # fmt: skip
    assert api.ended == [("finish", {"provenance": {"fake": True}})] * 3
    assert list(api.results) == ["0", "1", "2"]


def test_a_large_shard_sends_what_does_not_fit_before(caplog, monkeypatch):
    caplog.set_level("INFO")
    monkeypatch.setattr(delivery, "_RECORDS_PER_CALL", 10)
    tasks = [str(number) for number in range(300)]
    api = FakeApi({**leases(1)[0], "tasks": tasks})
    make_worker(api, FakeRunner()).run()
    assert list(api.results) == tasks
    assert sum("task" in line and "scored" in line for line in api.log.values()) == 300
    assert [how for how, _ in api.ended] == ["finish"]


@pytest.mark.parametrize("lost", range(1, 7))
def test_whichever_answers_are_lost_each_lease_is_run_once_and_nothing_is_left_behind(lost):
    api, runner = FakeApi(*leases(3)), FakeRunner()
    begun = []

    class Losing(FakeRunner):
        def run(self, lease):
            begun.append(lease.attempt)
            api.lost_answers = lost
            yield from super().run(lease)

    api.lost_answers = lost
    assert make_worker(api, Losing()).run() == Exit.IDLE
    assert begun == ["a1", "a2", "a3"]
    assert len(api.ended) == 3
    assert not api.leases
    assert runner.ran == []


def test_a_site_that_lost_its_artefacts_gets_them_again():
    api = FakeApi(*leases(2))

    class Emptied(FakeRunner):
        def run(self, lease):
            api.objects.clear()
            yield from super().run(lease)

    assert make_worker(api, Emptied()).run() == Exit.IDLE
    assert len(api.objects) == 3
    assert [how for how, _ in api.ended] == ["finish", "finish"]


def test_what_is_refused_together_is_sent_alone_before_the_attempt_is_given_back(caplog):
    caplog.set_level("INFO")
    api = FakeApi(*leases(1))
    worker = make_worker(api, FakeRunner())
    finish = api._finish

    def refuse_once(body, request):
        api._finish = finish
        return httpx.Response(409, json={"code": "incomplete", "detail": "one is missing"})

    api._finish = refuse_once
    worker.run()
    assert list(api.results) == ["0", "1", "2"]
    assert any("task 2: scored" in line for line in api.log.values())
    assert [(how, body["how"]) for how, body in api.ended] == [("fail", "failed")]


def test_being_told_to_stop_while_the_next_lease_is_asked_for_gives_it_back():
    api = FakeApi(*leases(2))
    worker = make_worker(api, FakeRunner())
    client = worker._client

    class Interrupted(ApiClient):
        def finish(self, **options):
            found = ApiClient.finish(self, **options)
            if options["request"].next is not None:
                # The signal comes when the answer is on its way.
                raise Terminated
            return found

    client.__class__ = Interrupted
    assert worker.run() == Exit.TERMINATED
    assert len(api.results) == 3
    assert [how for how, _ in api.ended] == ["finish", "fail"]
    assert api.ended[-1][1]["how"] == "released"
    assert not api.leases


def test_what_is_known_is_bounded_and_of_one_split():
    known = Known(most=3)
    known.add(split="public", digests=["a", "b", "c", "d"])
    assert known.unknown(split="public", digests=["a", "b", "c", "d"]) == ["a"]
    assert known.unknown(split="hidden", digests=["b"]) == ["b"]
    known.forget(split="public", digests=["b"])
    assert known.unknown(split="public", digests=["b", "c"]) == ["b"]


@pytest.mark.parametrize(("after", "is_idle"), [(1000.0, False), (0.0, True)])
def test_a_worker_without_work_for_a_minute_gives_back_what_others_may_wait_for(monkeypatch, after, *, is_idle):
    monkeypatch.setattr("gpu_jobs.worker._IDLE_AFTER_SECONDS", after)
    api, runner = FakeApi(LEASE), FakeRunner()
    client = ApiClient(url="http://site", token="operator", transport=api.transport, sleep=lambda _: None)
    Worker(client=client, runner=runner, name="w", idle_seconds=0.1, poll_seconds=0.02).run()
    assert (runner.idled > 0) is is_idle
