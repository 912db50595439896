"""The worker, against an API in memory and with fake experts."""

import os
import signal
import time
from uuid import uuid4

import httpx
import pytest

from gpu_jobs.attempt_secrets import HeldLease
from gpu_jobs.client import ApiClient
from gpu_jobs.contract.attempt import Phase
from gpu_jobs.delivery import Delivery
from gpu_jobs.exits import Exit
from gpu_jobs.worker import Terminated, Worker
from tests.fakes.api import LEASE, FakeApi
from tests.fakes.runner import FakeRunner


def make_worker(api: FakeApi, runner: FakeRunner, **changes) -> Worker:
    client = ApiClient(url="http://site", token="operator", transport=api.transport, sleep=lambda _: None)
    client._patience = changes.pop("patience", 300.0)
    return Worker(**{"client": client, "runner": runner, "name": "w", "idle_seconds": 0.0, **changes})


def test_a_lease_is_run_delivered_and_completed():
    api, runner = FakeApi(LEASE), FakeRunner()
    assert make_worker(api, runner).run() == 0
    assert list(api.results) == ["0", "1", "2"]
    assert len(api.objects) == 3
    assert api.ended == [("finish", {"provenance": {"fake": True}})]


def test_results_arrive_while_later_tasks_are_still_running():
    api = FakeApi({**LEASE, "tasks": ["0", "1", "2", "3"]})

    class Watching(FakeRunner):
        def _record(self, *, lease, task):
            for _ in range(1000 if task == "3" else 0):
                if api.results:
                    break
                time.sleep(0.01)
            assert task != "3" or api.results, "nothing arrived while a task was running"
            return super()._record(lease=lease, task=task)

    assert make_worker(api, Watching()).run() == 0
    assert [how for how, _ in api.ended] == ["finish"]


def test_many_artefacts_go_in_few_requests():
    api, runner = FakeApi(), FakeRunner()
    lease = HeldLease.model_validate({**LEASE, "tasks": [str(number) for number in range(250)]})
    client = ApiClient(url="http://site", token="operator", transport=api.transport)
    with Delivery(client=client, lease=lease, store=runner.store, every_seconds=600) as delivery:
        for record in runner.run(lease):
            delivery.add(record)
        delivery.finish()
    assert len(api.objects) == 250
    # Results go 25 at a time, and with each 25 their artefacts in one body.
    assert sum("objects" in call for call in api.calls) == 2 * 10


def test_an_artefact_too_large_for_a_bundle_goes_alone(monkeypatch):
    monkeypatch.setattr("gpu_jobs.bundles.MOST_BYTES", 50)
    api = FakeApi(LEASE)
    make_worker(api, FakeRunner()).run()
    assert len(api.objects) == 3
    assert "attempts/a1/objects/" not in api.calls


@pytest.mark.parametrize("failure", [500, 502, 503, 429, httpx.ConnectError, httpx.ReadTimeout])
def test_a_server_that_is_away_for_a_while_costs_nothing_but_time(failure):
    api = FakeApi(LEASE)
    api.failures.extend([failure] * 3)
    worker = make_worker(api, FakeRunner())
    assert worker.run() == 0
    api = FakeApi(LEASE, {**LEASE, "attempt": "a2"})
    assert make_worker(api, _failing_later(api, failure)).run() == 0
    assert list(api.results) == ["0", "1", "2"]
    assert [how for how, _ in api.ended] == ["finish", "finish"]


def _failing_later(api: FakeApi, failure) -> FakeRunner:
    class Runner(FakeRunner):
        def _record(self, *, lease, task):
            api.failures.extend([failure] * 2)
            return super()._record(lease=lease, task=task)

    return Runner()


class Clock:
    """Time that passes only by waiting."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds


class AwayUntil(FakeApi):
    """A server that is away until a moment."""

    def __init__(self, *leases, clock: Clock, until: float) -> None:
        super().__init__(*leases)
        self._clock = clock
        self._until = until

    def _answer(self, request: httpx.Request) -> httpx.Response:
        if self._clock() < self._until:
            raise httpx.ConnectError("refused")
        return super()._answer(request)


@pytest.mark.parametrize(("away", "code"), [(0, Exit.IDLE), (75, Exit.IDLE), (270, Exit.IDLE), (400, Exit.UNREACHABLE)])
def test_a_server_that_is_away_for_minutes_is_waited_for(away, code):
    clock = Clock()
    api = AwayUntil(LEASE, clock=clock, until=away)
    client = ApiClient(url="http://site", token="operator", transport=api.transport, sleep=clock.wait, clock=clock)
    assert Worker(client=client, runner=FakeRunner(), name="w", idle_seconds=0.0).run() == code
    assert len(api.results) == (3 if code is Exit.IDLE else 0)
    assert away <= clock.now <= max(away + 15, 300) if code is Exit.IDLE else clock.now <= 300


class AwayBetween(AwayUntil):
    """A server that goes away for a while."""

    def __init__(self, *leases, clock: Clock, since: float, until: float) -> None:
        super().__init__(*leases, clock=clock, until=until)
        self._since = since

    def _answer(self, request: httpx.Request) -> httpx.Response:
        return super()._answer(request) if self._clock() >= self._since else FakeApi._answer(self, request)


@pytest.mark.parametrize(("idle_seconds", "code"), [(None, Exit.TERMINATED), (5000.0, Exit.UNREACHABLE)])
def test_a_worker_of_a_pool_that_the_site_knows_waits_for_it_however_long(idle_seconds, code):
    clock = Clock()
    api = AwayBetween(LEASE, clock=clock, since=10, until=4000)

    def wait(seconds: float) -> None:
        clock.wait(seconds)
        if clock.now > 4100:
            raise Terminated

    client = ApiClient(url="http://site", token="operator", transport=api.transport, sleep=wait, clock=clock)
    worker = Worker(client=client, runner=FakeRunner(), name="w", idle_seconds=idle_seconds, sleep=wait)
    calls = []
    assert worker.run(on_session=lambda: calls.append(clock.now)) == code
    assert (calls, len(api.results)) == ([0.0], 3)
    assert (clock.now > 4000) is (idle_seconds is None)


def idling_worker(api, *, turns, idle_seconds=None, then=lambda: None):
    """A worker for one evaluation, and the waits between its requests; after so many of them `then` is called."""
    waits = []

    def sleep(seconds):
        waits.append(seconds)
        assert len(waits) < 100, "it would wait for ever"
        if len(waits) == turns:
            then()

    worker = make_worker(api, FakeRunner(), evaluation=uuid4(), idle_seconds=idle_seconds, sleep=sleep)
    return worker, waits


def test_a_worker_of_one_evaluation_waits_while_others_hold_its_last_shards_and_takes_over_what_they_drop():
    api = FakeApi(LEASE)
    api.work_left = True

    def a_sibling_crashes():
        api.leases.append({**LEASE, "attempt": "a2"})
        api.work_left = False

    worker, waits = idling_worker(api, turns=50, then=a_sibling_crashes)
    assert worker.run() == Exit.IDLE
    assert len(waits) == 50
    assert [call for call in api.calls if call.endswith("finish/")] == [
        "attempts/a1/finish/", "attempts/a2/finish/"
    ]  # fmt: skip


@pytest.mark.parametrize("left", [True, None])
def test_a_worker_of_one_evaluation_that_gives_up_waiting_does_not_say_that_the_work_is_done(left):
    api = FakeApi()
    api.work_left = left
    worker, _ = idling_worker(api, turns=0, idle_seconds=0.0)
    assert worker.run() == Exit.WORK_LEFT


def test_a_wrong_token_ends_the_worker_with_its_own_exit_code():
    api = FakeApi()
    api.failures.append(403)
    assert make_worker(api, FakeRunner()).run() == Exit.TOKEN_REFUSED


def test_a_cancelled_evaluation_stops_the_work_and_the_worker_goes_on_with_the_next():
    api = FakeApi({**LEASE, "tasks": [str(number) for number in range(50)]})
    api.over = "cancelled"
    runner = FakeRunner(pace=0.05)
    assert make_worker(api, runner).run() == 0
    assert len(runner.ran) < 50
    assert api.results == {}


def test_a_worker_that_fits_nothing_ends_so_that_a_fresh_one_can_take_over():
    api = FakeApi(*[LEASE] * 5)
    assert make_worker(api, FakeRunner(profile_digest="other")).run() == Exit.DOES_NOT_FIT
    assert len(api.leases) == 2


def test_refusals_with_work_between_them_do_not_end_a_worker():
    other = {**LEASE, "profile_digest": "other"}
    api = FakeApi(other, other, LEASE, other, other)
    assert make_worker(api, FakeRunner(profile_digest=LEASE["profile_digest"])).run() == 0


def test_an_error_gives_the_tasks_back_after_what_was_done_has_arrived():
    api = FakeApi(LEASE, {**LEASE, "tasks": ["0"]})
    make_worker(api, FakeRunner(fails_at="2")).run()
    assert api.ended[0] == ("fail", {"how": "failed", "reason": "RuntimeError: the expert fell over"})
    assert set(api.results) == {"0", "1"}
    # The worker lived on and did the next lease.
    assert api.ended[1][0] == "finish"


def test_a_panic_of_native_code_costs_its_lease_and_not_the_worker():
    """PyO3's PanicException derives from BaseException, as this one does."""

    class PanicException(BaseException):
        pass

    api = FakeApi(LEASE, {**LEASE, "tasks": ["0"]})
    assert make_worker(api, FakeRunner(fails_at="2", error=PanicException("index out of bounds"))).run() == Exit.IDLE
    assert api.ended[0] == ("fail", {"how": "failed", "reason": "PanicException: index out of bounds"})
    assert set(api.results) == {"0", "1"}
    assert api.ended[1][0] == "finish"


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_is_to_end_the_process_ends_it(error):
    with pytest.raises(error):
        make_worker(FakeApi(LEASE), FakeRunner(fails_at="2", error=error())).run()


def test_a_record_leaves_the_worker_without_its_secrets():
    class Telling(FakeRunner):
        def _record(self, *, lease, task):
            record = super()._record(lease=lease, task=task)
            return record.model_copy(
                update={"request": "secret-of-the-operator", "reason_text": "secret-of-the-operator"}
            )

    api = FakeApi(LEASE)
    make_worker(api, Telling(), secrets=["secret-of-the-operator"]).run()
    assert len(api.results) == 3
    assert "secret-of-the-operator" not in str(api.results)


def test_being_told_to_stop_sends_what_is_done_and_gives_the_rest_back():
    api = FakeApi(LEASE)

    class Stopped(FakeRunner):
        def _record(self, *, lease, task):
            if task == "2":
                raise Terminated
            return super()._record(lease=lease, task=task)

    assert make_worker(api, Stopped()).run() == 143
    assert set(api.results) == {"0", "1"}
    assert [(how, body["how"]) for how, body in api.ended] == [("fail", "released")]


RARE_HEARTBEATS = {**LEASE, "heartbeat_seconds": 60}


@pytest.fixture
def own_signals():
    kept = {number: signal.getsignal(number) for number in (signal.SIGUSR1, signal.SIGUSR2)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


class AsksOnTheWay(FakeRunner):
    """The launcher asks while task 1 is run, which takes as long as it takes until something comes of it."""

    def __init__(self, api, *, over):
        super().__init__()
        self.api, self.over = api, over

    def heartbeats(self):
        return sum("heartbeat" in path for path in self.api.calls)

    def _record(self, *, lease, task):
        if task == "1":
            self.api.over = "cancelled" if self.over else ""
            asked = self.heartbeats()
            os.kill(os.getpid(), signal.SIGUSR1)
            until = time.monotonic() + 10
            while self.over or self.heartbeats() == asked:
                assert time.monotonic() < until, "nothing came of the signal"
                time.sleep(0.01)
        return super()._record(lease=lease, task=task)


def test_a_worker_whose_attempt_was_cancelled_stops_in_the_middle_of_a_task_when_it_is_asked(own_signals):
    api = FakeApi(RARE_HEARTBEATS)
    worker = make_worker(api, AsksOnTheWay(api, over=True))
    worker.look_on_signal()
    assert worker.run() == 143


def test_a_worker_that_has_moved_on_to_another_attempt_goes_on_when_it_is_asked(own_signals):
    api = FakeApi(RARE_HEARTBEATS)
    worker = make_worker(api, AsksOnTheWay(api, over=False))
    worker.look_on_signal()
    assert worker.run() == 0
    assert set(api.results) == {"0", "1", "2"}
    os.kill(os.getpid(), signal.SIGUSR1)  # without an attempt it changes nothing


class Hangs(FakeRunner):
    """The first attempt comes to a phase and hangs there until the site has ended it, and for `seconds` after that."""

    def __init__(self, api, *, phase, seconds):
        super().__init__()
        self.api, self.hangs_in, self.seconds = api, phase, seconds
        self.swallowed = 0

    def _record(self, *, lease, task):
        if lease.attempt == "a1":
            self.phase.enter(self.hangs_in)
            self.api.over = "failed"
            try:
                time.sleep(self.seconds)
            except Exception:
                self.swallowed += 1
            finally:
                self.api.over = ""
        return super()._record(lease=lease, task=task)


@pytest.mark.parametrize("phase", [Phase.FETCHING, Phase.LOADING, Phase.PLANNING])
def test_a_worker_leaves_a_planner_that_hangs_as_soon_as_the_site_has_ended_the_attempt(own_signals, phase):
    api = FakeApi(LEASE, {**LEASE, "attempt": "a2"})
    worker = make_worker(api, runner := Hangs(api, phase=phase, seconds=60))
    worker.look_on_signal()
    assert worker.run() == 0
    assert runner.swallowed == 0
    assert [how for how, _ in api.ended] == ["finish"], "the second attempt ran to its end"
    assert runner.ran == ["0", "0", "1", "2"]


def test_executing_plans_is_not_interrupted(own_signals):
    """Experts might be left half loaded; and it ends by itself."""
    api = FakeApi(LEASE, {**LEASE, "attempt": "a2"})
    worker = make_worker(api, runner := Hangs(api, phase=Phase.EXECUTING, seconds=0.5))
    worker.look_on_signal()
    assert worker.run() == 0
    assert runner.ran == ["0", "0", "1", "2"]


def test_refused_results_are_a_failure_of_the_attempt():
    api = FakeApi(LEASE)

    class Refusing(FakeRunner):
        def _record(self, *, lease, task):
            # Of each record, of each alone, and of the fault in its place.
            api.failures.extend([400] * 9)
            return super()._record(lease=lease, task=task)

    make_worker(api, Refusing()).run()
    assert api.results == {}
    assert all(how != "finish" for how, _ in api.ended)


@pytest.mark.parametrize("received", [{"steps": [{"weight": float("nan")}]}, "a half of a pair: \ud800"])
def test_a_record_that_cannot_be_sent_costs_its_own_task_only(received):
    api = FakeApi(LEASE)

    class Odd(FakeRunner):
        def _record(self, *, lease, task):
            record = super()._record(lease=lease, task=task)
            return record.model_copy(update={"plan_received": received}) if task == "1" else record

    assert make_worker(api, Odd()).run() == 0
    assert [how for how, _ in api.ended] == ["finish"]
    assert {task: record["outcome"] for task, record in api.results.items()} == {
        "0": "scored",
        "1": "infra_fault",
        "2": "scored",
    }
    odd = api.results["1"]
    assert (odd["reason"], odd["score"], odd["plan_received"], odd["samples"]) == ("internal_error", None, None, [])
    assert odd["reason_text"].endswith(".")


class Picky(FakeApi):
    """A site that refuses what comes with a task that was scored and is called `1`."""

    def _take_in(self, records):
        if any(record["task"] == "1" and record["outcome"] == "scored" for record in records):
            return httpx.Response(400, json={"code": "invalid", "detail": "task 1: it has 9 samples"})
        return super()._take_in(records)


def test_a_record_that_the_site_refuses_costs_its_own_task_only(caplog):
    caplog.set_level("INFO")
    api = Picky(LEASE)
    assert make_worker(api, FakeRunner()).run() == Exit.IDLE
    assert [how for how, _ in api.ended] == ["finish"]
    outcomes = {task: (record["outcome"], record["reason"]) for task, record in sorted(api.results.items())}
    assert outcomes == {"0": ("scored", None), "1": ("infra_fault", "internal_error"), "2": ("scored", None)}
    assert "it has 9 samples" in caplog.text
